// SPDX-License-Identifier: Apache-2.0
// `warploom calibrate`: fits constants to measured tables.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>

#include "bindings/cli/command.hpp"
#include "bindings/cli/measured_tables.hpp"
#include "bindings/cli/progress.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "sim/core/whole_file.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/calibration/calibration_text.hpp"
#include "workloads/calibration/parameters.hpp"
#include "workloads/calibration/write_back.hpp"
#include "workloads/validation/nccl_log.hpp"

namespace warploom {

namespace {

struct CalibrateArguments {
  std::vector<std::string> files;
  std::vector<std::string> excluded;
  std::string device;
  std::string out;
  std::string date;
  bool in_place = false;
  bool lists_constants = false;
  bool as_json = false;
  bool keeps_constants = false;
  bool quick = false;
  bool quiet = false;
};

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

// The one library file whose constants were fitted: what a file of one's own can start from.
std::string only_file(const Calibration& calibration) {
  std::vector<std::string> files;
  for (const FittedGroup& group : calibration.groups) {
    for (const std::string& file : group.files) {
      if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
    }
  }
  if (files.empty()) throw UserError("no constant that may be fitted decides these rows", "nothing was written");
  if (files.size() > 1) {
    throw UserError("`--out` takes the constants of one file, and these tables decide those of " + join(files),
                    "give tables of one device, or `--in-place`");
  }
  return files.front();
}

// `use:` as seen from the folder of the new file.
std::string base_for(const std::string& out, const std::string& device, const std::string& library_file) {
  if (device.empty()) return library_file;
  namespace fs = std::filesystem;
  const fs::path folder = fs::absolute(out).parent_path();
  const std::string relative = fs::absolute(device).lexically_normal().lexically_relative(folder).generic_string();
  return relative.starts_with("..") ? relative : "./" + relative;
}

void require_free(const CalibrateArguments& arguments) {
  std::error_code ignored;
  if (!arguments.device.empty() && std::filesystem::equivalent(arguments.out, arguments.device, ignored))
    throw UserError("`--out` is the file that `--device` starts from", "give it another name");
}

std::string residuals_path(const Library& library) {
  const auto found = library.find("calibration/residuals");
  if (!found.empty()) return found.front().path;
  const auto declared = library.find("calibration/constants");
  if (declared.empty()) throw UserError("the library has no `calibration/constants.yaml`");
  return (std::filesystem::path(declared.front().path).parent_path() / "residuals.yaml").string();
}

// It goes into comments of YAML files.
void require_date(const std::string& date) {
  std::tm time{};
  const char* end = strptime(date.c_str(), "%Y-%m-%d", &time);
  if (end == nullptr || *end != 0)
    throw UserError("`--date`: expected a date such as `2026-11-29`, got " + warploom::quoted(date));
}

std::string write_results(const CalibrateArguments& arguments, const Calibration& calibration,
                          ValidationContext& context) {
  const std::string date = arguments.date.empty() ? today() : arguments.date;
  require_date(date);
  if (!arguments.out.empty()) {
    const std::string file = only_file(calibration);
    write_whole_file(arguments.out,
                     override_text(calibration, base_for(arguments.out, arguments.device, file), file, date));
    return fmt::format("\nWritten to {}\n", arguments.out);
  }
  if (!arguments.in_place) return "\nNothing was written: `--in-place` or `--out FILE` does.\n";
  auto files = edited_files(calibration, date);
  files.emplace_back(residuals_path(context.library()),
                     residuals_text(calibration.bands, ErrorBands::load(context.library()).all(), date));
  write_whole_files(files);
  std::string text = "\nWritten:\n";
  for (const auto& [path, content] : files) text += fmt::format("  {}\n", path);
  return text;
}

void calibrate(const CalibrateArguments& arguments, Session& session) {
  if (arguments.lists_constants) {
    ValidationContext library;
    const auto constants = constants_in_library(library);
    return session.console.print(arguments.as_json ? to_json(constants) : to_text(constants));
  }
  if (arguments.as_json) throw UserError("`--json` goes with `--constants`");
  if (arguments.files.empty()) {
    throw UserError("`warploom calibrate` needs measured tables: CSV files or logs of nccl-tests",
                    "it knows these kinds by their columns: " + known_table_kinds());
  }
  if (arguments.in_place && !arguments.out.empty()) throw UserError("`--in-place` and `--out` exclude each other");
  require_free(arguments);
  ValidationContext context;
  if (!arguments.device.empty()) context.use_device_file(arguments.device);
  CalibrationOptions options;
  options.excluded = arguments.excluded;
  options.leaves_sets_out = !arguments.quick;
  options.keeps_constants = arguments.keeps_constants;
  std::optional<Progress> progress;
  progress.emplace(session.console, arguments.quiet ? ProgressMode::none : ProgressMode::automatic, "calibrating", "");
  options.progress = [&](const std::string& stage) { progress->say(stage); };
  Calibrator calibrator(context, options);
  for (const std::string& file : arguments.files) {
    const std::string path = table_path(file);
    refuse_overwriting(arguments.out, "--out", path);
    calibrator.add(open_measured_table(path));
  }
  const Calibration calibration = calibrator.run();
  progress.reset();
  const std::string written = write_results(arguments, calibration, context);
  if (!arguments.quiet) session.console.print(to_text(calibration) + written);
}

}  // namespace

void add_calibrate(CLI::App& root, Action& action) {
  CLI::App* command = add_command(root, "calibrate", "fit the constants of devices and libraries to measured tables",
                                  {"warploom calibrate gemm.csv attention.csv",
                                   "warploom calibrate my_gemm.csv --device my_device.yaml --out fitted.yaml",
                                   "warploom calibrate all_reduce.log all_gather.log --out my_nccl.yaml",
                                   "warploom calibrate gemm.csv --exclude b200_sxm --in-place"});
  const auto arguments = std::make_shared<CalibrateArguments>();
  command
      ->add_option(file_label, arguments->files,
                   "measured tables as CSV, known by their columns, or what nccl-tests printed")
      ->type_name(file_label);
  command->add_option("--device", arguments->device, "a device file of your own that the rows were measured on")
      ->type_name(file_label);
  command->add_option("--out", arguments->out, "write a file that starts from the original and overrides its constants")
      ->type_name(file_label);
  add_flag(command, "--in-place", arguments->in_place, "write the constants where they stand, and the errors");
  command
      ->add_option("--exclude", arguments->excluded,
                   "a set, device or table that no fit sees; it is scored; may be repeated")
      ->type_name("SET")
      ->allow_extra_args(false);
  add_flag(command, "--keep-constants", arguments->keeps_constants,
           "change no constant: only find the errors, in sample and with sets left out");
  add_flag(command, "--constants", arguments->lists_constants,
           "list the constants that may be fitted, and their users");
  add_flag(command, "--json", arguments->as_json, "list them as one JSON object");
  add_flag(command, "--quick", arguments->quick, "do not repeat the fits with each set left out");
  command->add_option("--date", arguments->date, "what to write as the date (today)")->type_name("DATE");
  add_flag(command, "--quiet", arguments->quiet, "print no text and no progress");
  command->callback(
      [&action, arguments] { action = [arguments](Session& session) { calibrate(*arguments, session); }; });
}

}  // namespace warploom
