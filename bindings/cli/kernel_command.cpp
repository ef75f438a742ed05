// SPDX-License-Identifier: Apache-2.0
// `warploom kernel FAMILY`: one kernel alone on one device. Options come from what each family declares.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "bindings/cli/command.hpp"
#include "bindings/cli/detailed_arguments.hpp"
#include "bindings/cli/gemm_arguments.hpp"
#include "bindings/cli/kernel_command.hpp"
#include "bindings/cli/progress.hpp"
#include "bindings/report/kernel_report.hpp"
#include "hw_models/kernels.hpp"
#include "hw_models/precision.hpp"
#include "sim/core/text.hpp"
#include "workloads/device_lookup.hpp"
#include "workloads/kernel_prediction.hpp"
#include "workloads/validation/prediction_bands.hpp"

namespace warploom {

namespace {

struct KernelArguments {
  std::string device;
  std::string type = "bf16";
  std::string weight_type;
  std::string output_type;
  std::string launch = "graph";
  std::map<std::string, std::int64_t, std::less<>> sizes;
  std::map<std::string, bool> flags;
  std::vector<std::string> overrides;
  bool as_json = false;
  bool is_cold = false;
  bool explain = false;
  std::string model = "analytic";
  DetailedArguments detailed;
  GemmArguments gemm;
};

// Benchmarks repeat one kernel: what it reads may still be in the L2. That is what users compare with.
constexpr std::string_view warm_flag = "warm";

DataType type_of(const std::string& option, const std::string& text) {
  if (const auto type = find_data_type(text)) return *type;
  std::vector<std::string> known;
  for (const auto& [type, spelling] : data_type_names) known.emplace_back(spelling);
  throw UserError("`" + option + "`: expected one of " + join(known) + ", got " + warploom::quoted(text),
                  suggestion(text, known));
}

// `--dtype` takes a data type or a precision as serving engines call it (`fp8_block`, `w4a16_mxfp4`).
void set_types(const KernelFamily& family, const KernelArguments& arguments, Kernel& kernel) {
  const auto precision = find_precision(arguments.type);
  kernel.input = precision ? precision->activations : type_of("--dtype", arguments.type);
  kernel.weight = precision ? precision->weights : kernel.input;
  kernel.output = family.usual_output(kernel.input);
  if (!arguments.weight_type.empty()) kernel.weight = type_of("--weight-dtype", arguments.weight_type);
  if (!arguments.output_type.empty()) kernel.output = type_of("--output-dtype", arguments.output_type);
}

}  // namespace

FoundDevice kernel_device(const std::string& named, const std::vector<std::string>& overrides) {
  if (named.empty()) {
    throw UserError("`warploom kernel` needs a device: `--device DEVICE`",
                    "such as `--device h100_sxm`; `warploom list devices` shows all");
  }
  const DeviceLookup devices;
  const FoundDevice& found = devices.find(named);
  if (overrides.empty()) return found;
  const std::string name = found.name;
  const bool is_file = name == named && !devices.canonical_name(name);
  FoundDevice changed = load_device(is_file ? name : "devices/" + name, overrides, devices.library());
  changed.name = name + " with changes";
  return changed;
}

namespace {

std::vector<std::string> flags_of(const KernelFamily& family, const KernelArguments& arguments) {
  std::set<std::string> flags;
  for (const auto& [flag, is_set] : arguments.flags) {
    if (is_set) flags.insert(flag);
  }
  const bool has_warm = std::ranges::find(family.flags(), warm_flag, &KernelFlag::name) != family.flags().end();
  if (has_warm && !arguments.is_cold) flags.emplace(warm_flag);
  // A precision that is no data type (`fp8_block`) is a serving engine's: its products run on the engine's kernels.
  const auto precision = find_precision(arguments.type);
  if (family.name() == "gemm" && precision && !find_data_type(arguments.type)) {
    const ServingProduct how = serving_product(*precision);
    if (how.is_serving) flags.emplace("serving");
    if (how.has_split_accumulator) flags.emplace("split_accumulator");
  }
  return {flags.begin(), flags.end()};
}

// A device that has all experts of the layer, where nobody says how many it has.
std::map<std::string, std::int64_t, std::less<>> sizes_of(const KernelArguments& arguments) {
  auto sizes = arguments.sizes;
  const auto experts = sizes.find("experts");
  if (experts != sizes.end()) sizes.emplace("local_experts", experts->second);
  return sizes;
}

std::optional<PredictionBand> band_of(const KernelPrediction& prediction, const FoundDevice& device,
                                      const std::string& type) {
  // Records of a file of the user's own stand under its name.
  const std::string name = std::filesystem::path(device.name).filename().string();
  const auto band = kernel_band(prediction.kernel, band_device(name, device.spec), type, prediction.cost.duration,
                                ErrorBands::load_with_devices(Library::from_environment()));
  if (!band) return std::nullopt;
  // Nothing is faster than the roofline.
  const double low = std::max(1 / band->ratio_p90, 1 / prediction.times_roofline());
  return band_around(low, 1 / band->ratio_p10, description(*band));
}

KernelQuestion question_of(const KernelArguments& arguments) {
  KernelQuestion question;
  question.launch = arguments.launch == "graph" ? LaunchMode::graph : LaunchMode::stream;
  question.model = arguments.model == "detailed" ? KernelModel::detailed : KernelModel::analytic;
  question.ideals = arguments.detailed.ideals();
  question.detailed.all_sms = arguments.detailed.sms == "all";
  question.detailed.draws = !arguments.detailed.timeline.empty();
  if (question.model == KernelModel::analytic) arguments.detailed.require_detailed();
  return question;
}

KernelPrediction answer_of(const Kernel& kernel, const DeviceSpec& device, const KernelArguments& arguments,
                           const Session& session) {
  KernelQuestion question = question_of(arguments);
  const bool is_detailed = question.model == KernelModel::detailed;
  const OpenCache cache(session.console, is_detailed && !arguments.detailed.no_cache);
  question.cache = cache.get().get();
  Progress progress(session.console, ProgressMode::automatic, "playing");
  question.detailed.progress = [&progress](double share) {
    progress.say(fmt::format("{:.0f}% of the blocks", 100 * std::min(share, 1.0)));
  };
  return predict_kernel(kernel, device, question);
}

// Each by the model that answers; none is drawn, and nothing is free.
void time_candidates(KernelChoice& choice, const DeviceSpec& device, const KernelArguments& arguments,
                     const Session& session) {
  KernelQuestion question = question_of(arguments);
  const OpenCache cache(session.console, question.model == KernelModel::detailed && !arguments.detailed.no_cache);
  question.cache = cache.get().get();
  question.ideals.clear();
  question.detailed.draws = false;
  for (KernelCandidate& candidate : choice.candidates) {
    try {
      candidate.duration = predict_kernel(candidate.kernel, device, question).cost.duration;
    } catch (const UserError& error) {
      candidate.why += ": " + error.message();
    }
  }
}

void predict(const KernelFamily& family, const KernelArguments& arguments, Session& session) {
  Kernel kernel = kernel_from_names(family, sizes_of(arguments), flags_of(family, arguments));
  set_types(family, arguments, kernel);
  if (family.name() == "gemm") kernel = arguments.gemm.with_name(kernel);
  std::vector<std::string> overrides = arguments.gemm.overrides();
  overrides.insert(overrides.end(), arguments.overrides.begin(), arguments.overrides.end());
  const FoundDevice device = kernel_device(arguments.device, overrides);
  KernelReport report;
  report.device = device.name;
  report.power_limit = device.spec.power.limit;
  report.prediction = answer_of(kernel, device.spec, arguments, session);
  report.spec = with_free(device.spec, report.prediction.ideals);
  if (report.prediction.detailed) {
    const std::string& timeline = arguments.detailed.timeline;
    if (!timeline.empty()) write_pictures(report.prediction.detailed->programs, timeline);
  } else if (report.prediction.ideals.empty()) {
    report.band = band_of(report.prediction, device, arguments.type);
  }
  report.choice = family.choice(kernel, device.spec);
  if (!arguments.gemm.kernel_name.empty()) report.choice.why = "its kernel's name has it";
  report.explains = arguments.explain;
  if (arguments.explain) time_candidates(report.choice, device.spec, arguments, session);
  session.console.print(arguments.as_json ? to_json(report) : to_text(report) + told_picture(arguments.detailed));
}

// `-m` for `m`, `--kv-heads` for `kv_heads`.
std::string option_of(std::string_view parameter) {
  std::string name(parameter);
  std::replace(name.begin(), name.end(), '_', '-');
  return name.size() == 1 ? "-" + name : "--" + name;
}

std::string example_of(const KernelFamily& family) {
  std::string text = fmt::format("warploom kernel {} --device h100_sxm", family.name());
  for (const KernelParameter& parameter : family.parameters()) {
    if (!parameter.usual)
      text += fmt::format(" {} {}", option_of(parameter.name), std::max<std::int64_t>(parameter.least, 8));
  }
  return text;
}

void add_family(CLI::App& kernels, const KernelFamily& family, Action& action) {
  CLI::App* command = add_command(kernels, std::string(family.name()), std::string(family.meaning()),
                                  {example_of(family), example_of(family) + " --json"});
  const auto arguments = std::make_shared<KernelArguments>();
  command->add_option("--device", arguments->device, "a device of the library, one of its aliases, or a file")
      ->type_name(device_label);
  for (const KernelParameter& parameter : family.parameters()) {
    std::string meaning(parameter.meaning);
    if (parameter.usual) meaning += fmt::format(" ({})", *parameter.usual);
    const std::string option = option_of(parameter.name);
    add_integer(
        command, option,
        [arguments, option, least = parameter.least, name = std::string(parameter.name)](std::int64_t value) {
          if (value < least) {
            throw UserError(fmt::format("`{}`: expected at least {}, got {}", option, least, value));
          }
          arguments->sizes[name] = value;
        },
        meaning);
  }
  for (const KernelFlag& flag : family.flags()) {
    if (flag.name == warm_flag) {
      add_flag(command, "--cold", arguments->is_cold,
               "inputs come from memory and the board is warm, as in a step; without: one kernel repeated, as "
               "benchmarks do");
      continue;
    }
    add_flag(command, option_of(flag.name), arguments->flags[std::string(flag.name)], std::string(flag.meaning));
  }
  if (family.name() == "gemm") add_gemm_arguments(command, arguments->gemm);
  command->add_option("--dtype", arguments->type, "of the inputs (bf16)")->type_name("TYPE");
  command->add_option("--weight-dtype", arguments->weight_type, "of the second operand, if another")->type_name("TYPE");
  command->add_option("--output-dtype", arguments->output_type, "of the result, if another")->type_name("TYPE");
  set_choices(
      command->add_option("--launch", arguments->launch, "what stands before the kernel (graph)")->type_name("HOW"),
      {"graph", "stream"});
  add_overrides(command, arguments->overrides, "memory.bandwidth=4TB/s");
  set_choices(command->add_option("--model", arguments->model, "what times it (analytic)")->type_name("MODEL"),
              {"analytic", "detailed"});
  add_ideal(command, arguments->detailed.ideal);
  add_sms(command, arguments->detailed);
  add_timeline(command, arguments->detailed);
  add_no_cache(command, arguments->detailed.no_cache);
  add_flag(command, "--explain", arguments->explain,
           "list what the kernel library could have taken, with what its rule counts and what the model says, and why");
  add_flag(command, "--json", arguments->as_json, "print one JSON object instead of text");
  command->callback([&action, &family, arguments] {
    action = [&family, arguments](Session& session) { predict(family, *arguments, session); };
  });
}

}  // namespace

void add_kernel(CLI::App& root, Action& action) {
  CLI::App* command = add_command(
      root, "kernel", "predict one kernel alone on one device, and what bounds it",
      {"warploom kernel gemm --device h100_sxm --dtype bf16 -m 8192 -n 8192 -k 8192", "warploom kernel gemm --help"});
  command->require_subcommand(1);
  for (const KernelFamily* family : kernel_families()) add_family(*command, *family, action);
  add_kernel_program(*command, action);
}

}  // namespace warploom
