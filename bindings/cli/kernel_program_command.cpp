// SPDX-License-Identifier: Apache-2.0
// `warploom kernel program FILE`: a program of instructions of one's own, played on one device.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "bindings/cli/detailed_arguments.hpp"
#include "bindings/cli/kernel_command.hpp"
#include "bindings/cli/progress.hpp"
#include "bindings/report/detailed_report.hpp"
#include "hw_models/programs/program_text.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/library.hpp"

namespace warploom {

namespace {

struct ProgramArguments {
  std::string file;
  std::string device;
  std::string launch = "graph";
  std::vector<std::string> overrides;
  bool as_json = false;
  DetailedArguments detailed;
};

// The file, or what the library has under that name: `pointer_chase` is configs/programs/pointer_chase.txt.
std::string program_path(const std::string& given) {
  if (given.find('/') != std::string::npos || std::filesystem::exists(given)) return given;
  const Library library = Library::from_environment();
  if (library.find("programs/" + given, ".txt").size() == 1) return library.path_of("programs/" + given, ".txt");
  return given;
}

void play(const ProgramArguments& arguments, Session& session) {
  if (arguments.file.empty()) {
    throw UserError("`warploom kernel program` needs a file of instructions",
                    "docs/programs.md has the format; `pointer_chase` is one of the library");
  }
  ProgramReport report;
  KernelPlan plan;
  plan.programs.push_back(load_program(program_path(arguments.file)));
  const FoundDevice device = kernel_device(arguments.device, arguments.overrides);
  require_instructions(plan.programs.front(), device.spec);
  report.device = device.name;
  report.ideals = arguments.detailed.ideals();
  report.spec = with_free(device.spec, report.ideals);
  DetailedOptions options;
  options.all_sms = arguments.detailed.sms == "all";
  options.draws = !arguments.detailed.timeline.empty();
  {
    Progress progress(session.console, ProgressMode::automatic, "playing");
    options.progress = [&progress](double share) {
      progress.say(fmt::format("{:.0f}% of the blocks", 100 * std::min(share, 1.0)));
    };
    const LaunchMode launch = arguments.launch == "graph" ? LaunchMode::graph : LaunchMode::stream;
    if (!report.ideals.empty()) report.real = play_plan(plan, device.spec, launch, {}).cost.duration;
    report.played = play_plan(plan, report.spec, launch, options);
  }
  if (options.draws) write_pictures(report.played.programs, arguments.detailed.timeline);
  session.console.print(arguments.as_json ? to_json(report) : to_text(report) + told_picture(arguments.detailed));
}

}  // namespace

void add_kernel_program(CLI::App& kernels, Action& action) {
  CLI::App* command =
      add_command(kernels, "program", "a program of your own: instructions in a file, for microbenchmarks",
                  {"warploom kernel program pointer_chase --device h100_sxm",
                   "warploom kernel program my_program.txt --device h100_sxm --json"});
  const auto arguments = std::make_shared<ProgramArguments>();
  set_optional(command
                   ->add_option(file_label, arguments->file,
                                "a text file of instructions (docs/programs.md), or a name of the library's")
                   ->type_name(file_label));
  command->add_option("--device", arguments->device, "a device of the library, one of its aliases, or a file")
      ->type_name(device_label);
  set_choices(
      command->add_option("--launch", arguments->launch, "what stands before the kernel (graph)")->type_name("HOW"),
      {"graph", "stream"});
  add_ideal(command, arguments->detailed.ideal);
  add_sms(command, arguments->detailed);
  add_timeline(command, arguments->detailed);
  add_overrides(command, arguments->overrides, "memory.bandwidth=4TB/s");
  add_flag(command, "--json", arguments->as_json, "print one JSON object instead of text");
  command->callback([&action, arguments] { action = [arguments](Session& session) { play(*arguments, session); }; });
}

}  // namespace warploom
