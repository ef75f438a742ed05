// SPDX-License-Identifier: Apache-2.0
// Captures of one step on two kinds of hardware: the replay of the one for the other's device, beside what that took.
#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/device_lookup.hpp"
#include "workloads/validation/replay_row.hpp"
#include "workloads/validation/tables.hpp"
#include "workloads/validation/validation_context.hpp"

namespace warploom {

namespace {

ReplayMode mode_of(std::string_view text) {
  static constexpr std::pair<ReplayMode, std::string_view> modes[] = {
      {ReplayMode::unchanged, "unchanged"}, {ReplayMode::retimed, "retimed"}, {ReplayMode::by_class, "by_class"}};
  std::vector<std::string> names;
  for (const auto& [mode, name] : modes) {
    if (name == text) return mode;
    names.emplace_back(name);
  }
  throw UserError(fmt::format("`replay`: expected one of {}, got {}", join(names), warploom::quoted(text)));
}

class ReplayTable final : public TableKind {
 public:
  std::string_view name() const override { return "replay"; }
  std::string_view meaning() const override {
    return "captures of one step on two devices, each replayed for the other";
  }
  std::span<const std::string_view> columns() const override {
    static constexpr std::array<std::string_view, 5> names = {"step", "capture", "same_step", "device", "replay"};
    return names;
  }
  BaselineKind baseline() const override { return BaselineKind::unchanged; }
  int measurements() const override { return static_cast<int>(replay_part_names.size()); }

  Predicted predict(const CsvRow& row, ValidationContext& context) const override {
    return predict_one(row, 0, context);
  }

  Predicted predict_one(const CsvRow& row, int measurement, ValidationContext& context) const override {
    const auto part = static_cast<std::size_t>(measurement);
    const ReplayMode mode = mode_of(row.text("replay"));
    const std::string known = context.canonical_device(row.text("device"));
    const std::string device = known.empty() ? std::string(row.text("device")) : known;
    if (mode != ReplayMode::unchanged) context.device(device);  // throws where nobody described it
    const std::string path = context.data_path(row.text("capture"), row.origin().file());
    const CapturedRun& run = captured_run(path, context);
    const CapturedRun& other = captured_run(context.data_path(row.text("same_step"), row.origin().file()), context);
    const std::string found = device_of(other, context);
    if (found != device) {
      throw UserError(fmt::format("`device` says {}, and `same_step` was captured on {}", device,
                                  found.empty() ? "a device that the capture does not name" : warploom::quoted(found)));
    }
    const bool is_unchanged = mode == ReplayMode::unchanged;
    // Durations are kept: what they add up to is no prediction.
    if (is_unchanged && part > static_cast<std::size_t>(ReplayPart::busy)) {
      throw UserError("an unchanged replay keeps the durations of kernels: only span and busy time are compared");
    }
    const ReplayTimes was = captured_times(run);
    Predicted result;
    result.device = device;
    result.group = {{"replay", is_unchanged ? "unchanged" : "from " + device_of(run, context)},
                    {"part", std::string(replay_part_names[part])}};
    if (mode == ReplayMode::by_class) result.group.emplace_back("shapes", "without shapes");
    result.labels = {{"step", std::string(row.text("step"))}};
    result.measured_us = captured_times(other)[part];
    if (was[part] <= 0 || result.measured_us <= 0) {
      throw UserError(fmt::format("one of the captures has no {}", replay_part_names[part]));
    }
    result.predicted_us = replayed_times(path, mode, device, context)[part];
    const ReplayPart simple = is_unchanged ? ReplayPart::busy : static_cast<ReplayPart>(part);
    result.baseline.ideal_us = was[static_cast<std::size_t>(simple)];
    return result;
  }
};

}  // namespace

const TableKind& replay_table() {
  static const ReplayTable table;
  return table;
}

}  // namespace warploom
