// SPDX-License-Identifier: Apache-2.0
// `warploom validate`: every prediction beside a measurement.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "bindings/cli/command.hpp"
#include "bindings/cli/detailed_arguments.hpp"
#include "bindings/cli/measured_tables.hpp"
#include "bindings/cli/progress.hpp"
#include "bindings/report/validation_json.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/whole_file.hpp"
#include "workloads/validation/nccl_log.hpp"
#include "workloads/validation/validation.hpp"

namespace warploom {

namespace {

struct ValidateArguments {
  std::vector<std::string> files;
  std::vector<std::string> where;
  std::vector<std::string> devices;
  std::string rows;
  std::vector<std::string> models;
  std::string anchor;
  bool no_cache = false;
  bool as_json = false;
  bool quiet = false;
};

// The detailed model stands beside the analytic one, which all records are of.
bool is_detailed(const ValidateArguments& arguments) {
  return std::ranges::any_of(arguments.models, [](const std::string& model) { return model != "analytic"; });
}

TableValidation validated(const std::string& path, bool is_detailed, ValidationContext& context,
                          const ValidationOptions& options) {
  if (!is_detailed) return validate_table(open_measured_table(path), context, options);
  context.set_model(KernelModel::detailed);
  TableValidation table = validate_table(open_measured_table(path), context, options);
  context.set_model(KernelModel::analytic);
  set_beside(table, validate_table(open_measured_table(path), context, options));
  return table;
}

void validate(const ValidateArguments& arguments, Session& session) {
  if (arguments.files.empty()) {
    throw UserError("`warploom validate` needs a table: a CSV file",
                    "it knows these kinds by their columns: " + known_table_kinds());
  }
  ValidationContext context;
  for (const std::string& path : arguments.devices) context.use_device_file(path);
  const bool in_detail = is_detailed(arguments);
  if (in_detail && !arguments.anchor.empty()) {
    throw UserError("`--anchored` and `--model detailed` exclude one another: replays anchor the analytic model",
                    "leave one of them out");
  }
  if (const char* folder = std::getenv("WARPLOOM_DATA")) context.set_data_folder(folder);
  const OpenCache cache(session.console, in_detail && !arguments.no_cache);
  context.set_cache(cache.get());
  ValidationOptions options;
  for (const std::string& text : arguments.where) options.where.push_back(RowFilter::parse(text));
  options.keeps_rows = !arguments.rows.empty();
  options.anchor = arguments.anchor;
  std::vector<TableValidation> tables;
  for (const std::string& file : arguments.files) {
    Progress progress(session.console, arguments.quiet ? ProgressMode::none : ProgressMode::automatic,
                      "validating " + file, "rows");
    options.progress = [&progress](std::int64_t rows) { progress(static_cast<std::size_t>(rows), 0); };
    const std::string path = table_path(file);
    refuse_overwriting(arguments.rows, "--rows", path);
    tables.push_back(validated(path, in_detail, context, options));
  }
  if (!arguments.rows.empty()) write_whole_file(arguments.rows, rows_as_csv(tables));
  if (arguments.as_json) return session.console.print(to_json(tables) + "\n");
  if (arguments.quiet) return;
  std::string text;
  for (const TableValidation& table : tables) text += (text.empty() ? "" : "\n") + to_text(table);
  if (!arguments.rows.empty()) text += fmt::format("\nEvery row stands in {}\n", arguments.rows);
  session.console.print(text);
}

}  // namespace

void add_validate(CLI::App& root, Action& action) {
  CLI::App* command =
      add_command(root, "validate", "predict every row of measured tables and show the errors",
                  {"warploom validate gemm.csv", "warploom validate gemm.csv --where device=h100_sxm --rows out.csv",
                   "warploom validate gemm.csv --model detailed", "warploom validate gemm.csv --anchored h100_sxm",
                   "warploom validate gemm.csv --json | jq '.tables[].overall'",
                   "warploom validate my_gemm.csv --device my_device.yaml"});
  const auto arguments = std::make_shared<ValidateArguments>();
  command
      ->add_option(file_label, arguments->files,
                   "measured tables as CSV, known by their columns; also looked for in the folder WARPLOOM_DATA")
      ->type_name(file_label);
  command
      ->add_option("--where", arguments->where,
                   "only rows with this value of a column or group key, such as device=h100_sxm; may be repeated")
      ->type_name(override_label)
      ->allow_extra_args(false);
  command
      ->add_option("--device", arguments->devices,
                   "a device file of your own instead of the library's of the same name; may be repeated")
      ->type_name(file_label)
      ->allow_extra_args(false);
  command
      ->add_option("--anchored", arguments->anchor,
                   "predict other devices from what this one measured of the same kernels, as a replay does")
      ->type_name("DEVICE");
  command->add_option("--rows", arguments->rows, "write every row with its prediction, or why there is none, as CSV")
      ->type_name(file_label);
  set_choices(command
                  ->add_option("--model", arguments->models,
                               "what times kernels (analytic); the detailed one stands beside the analytic one")
                  ->type_name("MODEL")
                  ->allow_extra_args(false),
              {"analytic", "detailed", "both"});
  add_no_cache(command, arguments->no_cache);
  add_flag(command, "--json", arguments->as_json, "print one JSON object instead of text");
  add_flag(command, "--quiet", arguments->quiet, "print no text and no progress");
  command->callback(
      [&action, arguments] { action = [arguments](Session& session) { validate(*arguments, session); }; });
}

}  // namespace warploom
