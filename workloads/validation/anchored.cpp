// SPDX-License-Identifier: Apache-2.0
// Pairs rows by their shapes.
#include "workloads/validation/anchored.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "hw_models/device.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/device_lookup.hpp"

namespace warploom {

namespace {

// What the anchor measured of a shape, over what is known of it there.
struct Anchors {
  std::vector<double> over_predicted;
  std::vector<double> over_ideal;
};

// The index of a reason, added where it is new.
std::size_t reason(TableValidation& table, std::string text) {
  const auto known = std::find(table.reasons.begin(), table.reasons.end(), text);
  if (known != table.reasons.end()) return static_cast<std::size_t>(known - table.reasons.begin());
  table.reasons.push_back(std::move(text));
  return table.reasons.size() - 1;
}

std::string kinds_that_pair() {
  std::vector<std::string> names;
  for (const TableKind* kind : table_kinds()) {
    if (!kind->shape_columns().empty()) names.emplace_back(kind->name());
  }
  return join(names);
}

}  // namespace

std::string shape_of(const CsvRow& row, const TableKind& kind) {
  std::string shape;
  for (const std::string_view column : kind.shape_columns()) {
    shape += row.optional_text(column).value_or("");
    shape += '\n';
  }
  return shape;
}

double ideal_us(const Predicted& predicted, ValidationContext& context) {
  if (predicted.baseline.ideal_us > 0) return predicted.baseline.ideal_us;
  constexpr double microseconds_a_second = 1e6;
  const DeviceSpec& device = context.device(predicted.device).spec;
  // "bf16 (fp8 keys)": products are of the first.
  const auto type = find_data_type(predicted.dtype.substr(0, predicted.dtype.find(' ')));
  const FlopRate rate = type && device.has(*type) ? device.peak(*type) : device.vector_peak_at(device.clock.data_sheet);
  const double seconds =
      std::max(predicted.baseline.flops / rate.value(), predicted.baseline.bytes / device.memory.bandwidth.value());
  return seconds * microseconds_a_second;
}

std::string anchor_device(const std::string& name, const TableKind& kind, ValidationContext& context) {
  if (kind.shape_columns().empty()) {
    throw UserError(fmt::format("`--anchored`: rows of a table of {} do not pair: nothing says which are one kernel on "
                                "several devices",
                                kind.name()),
                    "tables that do: " + kinds_that_pair());
  }
  const std::string canonical = context.canonical_device(name);
  if (canonical.empty()) {
    throw UserError(fmt::format("`--anchored`: no file describes the device {}", warploom::quoted(name)),
                    "`warploom list devices` shows the library");
  }
  return canonical;
}

void predict_from_anchor(TableValidation& table, const std::vector<PairingRow>& pairing, const std::string& anchor) {
  std::unordered_map<std::string, Anchors> anchors;
  for (std::size_t i = 0; i < pairing.size(); ++i) {
    if (pairing[i].device != anchor) continue;
    const ValidatedRow& row = table.predicted[i];
    Anchors& one = anchors[pairing[i].shape];
    one.over_predicted.push_back(row.measured_us / row.predicted_us);
    if (pairing[i].ideal_us > 0) one.over_ideal.push_back(row.measured_us / pairing[i].ideal_us);
  }
  if (anchors.empty()) {
    throw UserError(fmt::format("`--anchored {}`: no predicted row of {} was measured on it", anchor, table.file));
  }
  std::vector<ValidatedRow> kept;
  for (std::size_t i = 0; i < pairing.size(); ++i) {
    ValidatedRow row = table.predicted[i];
    const auto found = anchors.find(pairing[i].shape);
    const bool is_anchor = pairing[i].device == anchor;
    if (is_anchor || found == anchors.end() || found->second.over_ideal.empty() || pairing[i].ideal_us <= 0) {
      const std::string why = is_anchor ? fmt::format("measured on {}, the anchor", anchor)
                                        : fmt::format("{}, the anchor, has no row of its shape", anchor);
      table.skipped.push_back({row.number, row.line, reason(table, why)});
      continue;
    }
    row.predicted_us *= quantile(found->second.over_predicted, 0.5);
    row.baseline_us = pairing[i].ideal_us * quantile(found->second.over_ideal, 0.5);
    kept.push_back(row);
  }
  table.predicted = std::move(kept);
  std::stable_sort(table.skipped.begin(), table.skipped.end(),
                   [](const SkippedRow& a, const SkippedRow& b) { return a.number < b.number; });
  table.anchor = anchor;
  table.baseline_kind = BaselineKind::peaks;
  table.model = "anchored";
}

}  // namespace warploom
