// SPDX-License-Identifier: Apache-2.0
// `warploom describe NAME`: one thing of the library, every number with its source and how far to trust it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "bindings/cli/catalogue.hpp"
#include "bindings/cli/command.hpp"
#include "bindings/cli/kind_description.hpp"
#include "bindings/report/description.hpp"
#include "bindings/report/model_description.hpp"
#include "hw_models/kernels.hpp"
#include "sim/core/config_notes.hpp"
#include "sim/core/library.hpp"
#include "sim/core/text.hpp"
#include "workloads/device_lookup.hpp"
#include "workloads/models/hugging_face.hpp"

namespace warploom {

namespace {

struct DescribeArguments {
  std::string name;
  std::vector<std::string> overrides;
  bool as_json = false;
};

bool is_file(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(name, ignored);
}

// What the numbers of a device come to.
std::vector<DerivedValue> derived_of(const DeviceSpec& device) {
  std::vector<DerivedValue> values;
  for (const auto& [type, name] : data_type_names) {
    if (!device.has(type)) continue;
    values.push_back(
        {fmt::format("peak {}", name), to_string(device.peak(type)), "SMs x FLOP a clock x data-sheet clock, dense"});
  }
  values.push_back(
      {"peak vector", to_string(device.vector_peak_at(device.clock.max)), "SMs x lanes x 2 x highest clock"});
  values.push_back({"memory reached", to_string(device.reached_bandwidth()), "bandwidth x share reached"});
  values.push_back({"L2 bandwidth", to_string(device.l2_bandwidth_at(device.clock.max)), "at the highest clock"});
  if (device.has(DataType::bf16)) {
    values.push_back({"ridge bf16", fmt::format("{:.1f} FLOP/B", device.ridge(DataType::bf16)),
                      "where peak arithmetic and raw memory bandwidth meet"});
  }
  return values;
}

// Wherever it stands: a file of the user's own is a device if it says what one says.
bool is_device(const ConfigValue& config) {
  return config.is_map() && config.find("sm") && config.find("clock") && config.find("memory");
}

// The config.json that a name means: a file, a folder that has one, or a model of the library.
std::optional<std::string> model_path(const std::string& name, const Library& library) {
  std::error_code ignored;
  if (is_file(name)) return name.ends_with(".json") ? std::optional(name) : std::nullopt;
  if (std::filesystem::is_regular_file(std::filesystem::path(name) / "config.json", ignored)) return name;
  const auto found = library.find(name, ".json");
  const bool is_model = found.size() == 1 && library.find(name).empty();
  return is_model ? std::optional(found.front().path) : std::nullopt;
}

std::optional<Description> implementation(const std::string& name) {
  for (const KernelFamily* family : kernel_families()) {
    if (family->name() != name) continue;
    Description description{name, "kernel family: " + std::string(family->meaning()), {}, {}, {}, {}};
    for (const KernelParameter& parameter : family->parameters()) {
      const std::string usual = parameter.usual ? std::to_string(*parameter.usual) : "must be given";
      description.derived.push_back({std::string(parameter.name), usual, std::string(parameter.meaning)});
    }
    for (const KernelFlag& flag : family->flags()) {
      description.derived.push_back({std::string(flag.name), "flag", std::string(flag.meaning)});
    }
    return description;
  }
  for (const CatalogueKind& kind : catalogue_kinds()) {
    if (!is_implementation(kind.name)) continue;
    for (const CatalogueEntry& entry : catalogue(kind.name)) {
      if (entry.name == name) return Description{name, fmt::format("{}: {}", kind.name, entry.meaning), {}, {}, {}, {}};
    }
  }
  return std::nullopt;
}

Description description_of(const DescribeArguments& arguments) {
  const std::string& name = arguments.name;
  const DeviceLookup devices;
  const Library& library = devices.library();
  if (!is_file(name) && library.find(name).empty()) {
    if (const auto found = describe_topology(name, library)) return *found;
    if (const auto found = implementation(name)) return *found;
  }
  if (const auto model = model_path(name, library)) return describe_model(name, read_hugging_face(*model));
  std::string path = name;
  if (!is_file(name)) {
    const auto device = devices.canonical_name(name);
    if (device && library.find("devices/" + *device).size() == 1) path = "devices/" + *device;
  }
  Description description;
  description.name = path;
  const ConfigValue config = load_config(path, arguments.overrides, library);
  if (is_device(config)) description.derived = derived_of(load_device(path, arguments.overrides, library).spec);
  if (const auto named = config.find("name")) description.meaning = named->text();
  description.notes = value_notes(config);
  return description;
}

}  // namespace

void add_describe(CLI::App& root, Action& action) {
  CLI::App* command =
      add_command(root, "describe", "show one thing of the library: every number with its source and kind",
                  {"warploom describe h100_sxm", "warploom describe clusters/dgx_h100", "warploom describe gemm",
                   "warploom describe h100_sxm --set memory.bandwidth=\"4.8 TB/s\""});
  const auto arguments = std::make_shared<DescribeArguments>();
  command->add_option("NAME", arguments->name, "a device, cluster, model, kernel family, ... or a file")
      ->type_name(device_label);
  add_overrides(command, arguments->overrides, "memory.bandwidth=4TB/s");
  add_flag(command, "--json", arguments->as_json, "print one JSON object instead of text");
  command->callback([&action, arguments] {
    action = [arguments](Session& session) {
      if (arguments->name.empty()) {
        throw UserError("`warploom describe` needs a name", "such as `h100_sxm`; `warploom list` shows all");
      }
      const Description description = description_of(*arguments);
      session.console.print(arguments->as_json ? to_json(description) : to_text(description));
    };
  });
}

}  // namespace warploom
