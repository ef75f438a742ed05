// SPDX-License-Identifier: Apache-2.0
// Derived rates of a device, and the check that data-sheet peaks follow from its clocks, units and rates.
#include "hw_models/device.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "sim/core/text.hpp"

namespace warploom {

namespace {

constexpr double tolerance = 0.02;

std::optional<ConfigValue> find_path(const ConfigValue& at, std::string_view map, std::string_view key) {
  const auto inner = at.find(map);
  return inner && inner->is_map() ? inner->find(key) : std::nullopt;
}

// Whether `input` was written over the library entry that the check stands in. A check in the outermost file knows all
// that the file starts from; one further down knows only its own file.
bool is_overridden(const ConfigValue& input, const ConfigValue& check, const ConfigValue& device) {
  if (check.origin().is_command_line()) return false;
  if (input.origin().is_command_line()) return true;
  if (check.origin().file() == device.origin().file()) return false;
  return input.origin().file() != check.origin().file();
}

struct PeakCheck {
  std::string_view check_map;  // `check`
  std::string_view rate_map;   // `tensor`
  std::string type;
  FlopRate expected;
};

bool any_overridden(const PeakCheck& peak, const ConfigValue& check, const ConfigValue& device) {
  const bool is_vector = peak.type == "vector";
  const std::optional<ConfigValue> inputs[] = {
      find_path(device, "sm", "count"), find_path(device, "clock", is_vector ? "max" : "data_sheet"),
      is_vector ? find_path(device, "sm", "vector_lanes") : find_path(device, peak.rate_map, peak.type)};
  for (const auto& input : inputs) {
    if (input && is_overridden(*input, check, device)) return true;
  }
  return false;
}

void check_peak(const DeviceSpec& device, const PeakCheck& peak, const ConfigValue& at, Diagnostics& diagnostics) {
  const auto check = find_path(at, peak.check_map, peak.type);
  if (!check || any_overridden(peak, *check, at)) return;
  const bool is_vector = peak.type == "vector";
  const auto& rates = peak.rate_map == "tensor" ? device.tensor : device.sparse_tensor;
  const auto rate = rates.find(peak.type);
  if (!is_vector && rate == rates.end()) {
    diagnostics.error(check->origin(), check->path(),
                      fmt::format("`{}` has no rate for `{}`", peak.rate_map, peak.type),
                      fmt::format("add it to `{}`, or remove it here", peak.rate_map));
    return;
  }
  const double flops_per_cycle = is_vector ? 2 * device.sm.vector_lanes : rate->second;
  const Frequency clock = is_vector ? device.clock.max : device.clock.data_sheet;
  const FlopRate derived{device.sm.count * flops_per_cycle * clock.value()};
  if (std::abs(derived.value() - peak.expected.value()) <= tolerance * peak.expected.value()) return;
  diagnostics.error(check->origin(), check->path(),
                    fmt::format("{} SMs x {} FLOP a clock x {} = {}, not {}", device.sm.count, flops_per_cycle,
                                exact_string(clock), to_string(derived), to_string(peak.expected)),
                    "a data-sheet peak must follow from its parts within 2%; correct a part, or remove this check");
}

void check_types(const std::map<std::string, double>& rates, std::string_view key, const ConfigValue& at,
                 Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const auto& [type, text] : data_type_names) known.emplace_back(text);
  for (const auto& [type, rate] : rates) {
    if (find_data_type(type)) continue;
    const auto value = find_path(at, key, type);
    diagnostics.error(value ? value->origin() : at.origin(), at.path_of(key) + "." + type,
                      fmt::format("expected a data type, one of {}, got `{}`", join(known), type),
                      suggestion(type, known));
  }
}

}  // namespace

double DeviceSpec::tensor_flops_per_cycle(DataType type) const {
  const auto rate = tensor.find(std::string(warploom::name(type)));
  if (rate != tensor.end()) return rate->second;
  std::vector<std::string> types;
  for (const auto& [text, value] : tensor) types.push_back(text);
  throw UserError(fmt::format("{} has no tensor arithmetic in {}", name, warploom::name(type)),
                  "it has " + join(types));
}

double DeviceSpec::sparse_flops_per_cycle(DataType type) const {
  const auto rate = sparse_tensor.find(std::string(warploom::name(type)));
  if (rate != sparse_tensor.end()) return rate->second;
  if (sparse_tensor.empty()) {
    throw UserError(fmt::format("{} has no 2:4 structured sparsity", name),
                    "NVIDIA's Tensor Cores have it since Ampere; a device file says so with `sparse_tensor`");
  }
  std::vector<std::string> types;
  for (const auto& [text, value] : sparse_tensor) types.push_back(text);
  throw UserError(fmt::format("{} has no 2:4 structured sparsity in {}", name, warploom::name(type)),
                  "it has " + join(types));
}

FlopRate DeviceSpec::peak(DataType type) const { return peak_at(type, clock.data_sheet); }

FlopRate DeviceSpec::peak_at(DataType type, Frequency at) const {
  return FlopRate(sm.count * tensor_flops_per_cycle(type) * at.value());
}

FlopRate DeviceSpec::vector_peak_at(Frequency at) const {
  return FlopRate(sm.count * 2 * sm.vector_lanes * at.value());
}

Bandwidth DeviceSpec::l2_bandwidth_at(Frequency at) const {
  return Bandwidth(sm.count * l2.bytes_per_cycle_per_sm * at.value());
}

void DeviceSpec::check(const DeviceSpec& device, const ConfigValue& at, Diagnostics& diagnostics) {
  check_types(device.tensor, "tensor", at, diagnostics);
  check_types(device.sparse_tensor, "sparse_tensor", at, diagnostics);
  for (const auto& [type, rate] : device.data_sheet_peaks)
    check_peak(device, {"check", "tensor", type, rate}, at, diagnostics);
  for (const auto& [type, rate] : device.data_sheet_sparse_peaks) {
    check_peak(device, {"sparse_check", "sparse_tensor", type, rate}, at, diagnostics);
  }
  const auto report = [&](std::string_view map, std::string_view key, const std::string& message) {
    const auto value = find_path(at, map, key);
    diagnostics.error(value ? value->origin() : at.origin(), value ? value->path() : at.path(), message);
  };
  if (device.memory.usable > device.memory.capacity) {
    report("memory", "usable",
           fmt::format("{} usable, of {} in all", to_string(device.memory.usable), to_string(device.memory.capacity)));
  }
  // More memory that nothing may use is the commonest slip of a what-if.
  const auto capacity = find_path(at, "memory", "capacity");
  const auto usable = find_path(at, "memory", "usable");
  if (capacity && usable && capacity->origin().file() != usable->origin().file()) {
    diagnostics.warning(capacity->origin(), capacity->path(),
                        fmt::format("{} of memory, of which {} are usable as set elsewhere",
                                    to_string(device.memory.capacity), to_string(device.memory.usable)),
                        "set memory.usable, too");
  }
  if (device.clock.data_sheet > device.clock.max) {
    report("clock", "data_sheet",
           fmt::format("{} is more than the highest clock, {}", to_string(device.clock.data_sheet),
                       to_string(device.clock.max)));
  }
  if (device.clock.locked && *device.clock.locked > device.clock.max) {
    report("clock", "locked",
           fmt::format("{} is more than the highest clock, {}", to_string(*device.clock.locked),
                       to_string(device.clock.max)));
  }
  if (device.power.idle >= device.power.limit) {
    report("power", "idle",
           fmt::format("{} idle leaves nothing of a limit of {}", to_string(device.power.idle),
                       to_string(device.power.limit)));
  }
  const GemmSelectionTable& selection = device.architecture.gemm.selection;
  if (!selection.architecture.empty() && selection.architecture != device.architecture.name) {
    const auto gemm = find_path(at, "architecture", "gemm");
    const auto named = gemm ? find_path(*gemm, "selection", "architecture") : std::nullopt;
    diagnostics.error(named ? named->origin() : at.origin(), named ? named->path() : at.path(),
                      fmt::format("a table of what is taken on {}, and the device is of {}", selection.architecture,
                                  device.architecture.name),
                      "take a table of this architecture, or remove the key where its rows hold here, too");
  }
  if (device.architecture.gemm.tiles.empty()) report("architecture", "gemm", "expected at least one tile");
}

WARPLOOM_DEFINE_CONFIG(ArchitectureSpec);
WARPLOOM_DEFINE_CONFIG(DeviceSpec);

}  // namespace warploom
