// SPDX-License-Identifier: Apache-2.0
// The keys of validation's JSON, in the order in which they are read.
#include "bindings/report/validation_json.hpp"

#include <nlohmann/json.hpp>

namespace warploom {

namespace {

using Json = nlohmann::ordered_json;

Json number(std::optional<double> value) { return value ? Json(*value) : Json(); }

Json summary(const ErrorSummary& errors) {
  return {{"mape", number(errors.mape)},
          {"median_ape", number(errors.median_ape)},
          {"p90_ape", number(errors.p90_ape)},
          {"bias", number(errors.bias)},
          {"inside_band", number(errors.inside_band)}};
}

std::string_view kind_name(BaselineKind kind) {
  switch (kind) {
    case BaselineKind::roofline:
      return "roofline";
    case BaselineKind::latency_bandwidth:
      return "latency_bandwidth";
    case BaselineKind::constant_efficiency:
      return "constant_efficiency";
    case BaselineKind::unchanged:
      return "unchanged";
    case BaselineKind::peaks:
      return "peaks";
  }
  return "";
}

Json group_json(const RowGroup& group) {
  Json json = {{"device", group.device}, {"dtype", group.dtype}};
  for (const auto& [name, value] : group.keys) json[name] = value;
  if (!group.size_class.empty()) json["size_class"] = group.size_class;
  if (!group.set.empty()) json["set"] = group.set;
  json["rows"] = group.errors.rows;
  json.update(summary(group.errors));
  json["baseline_mape"] = number(group.baseline.mape);
  if (group.other) json["other"] = summary(*group.other);
  json["leave_one_set_out_mape"] = number(group.leave_one_set_out_mape);
  if (group.is_interval) {
    json["settings"] = "open";  // the error is the distance to the interval; the group is not part of `overall`
    json["interval_width"] = number(group.interval_width);
  }
  return json;
}

Json table_json(const TableValidation& table) {
  Json skipped = Json::array();
  for (const SkippedRow& row : table.skipped)
    skipped.push_back({{"row", row.number}, {"line", row.line}, {"reason", table.reasons[row.reason]}});
  Json groups = Json::array();
  for (const RowGroup& group : table.groups) groups.push_back(group_json(group));
  Json baseline = summary(table.baseline);
  baseline["kind"] = kind_name(table.baseline_kind);
  Json json = {{"file", table.file}, {"kind", table.kind}, {"model", table.model}};
  if (!table.anchor.empty()) json["anchor"] = table.anchor;
  if (table.other_overall) {
    json["other_model"] = table.other_model;  // `other` of every group is its errors on the same rows
    json["other_overall"] = summary(*table.other_overall);
  }
  json.update(Json{{"rows", table.rows},
                   {"predicted", table.predicted.size()},
                   {"skipped", std::move(skipped)},
                   {"overall", summary(table.overall)},
                   {"baseline", std::move(baseline)},
                   {"leave_one_set_out_mape", number(table.leave_one_set_out_mape)},
                   {"groups", std::move(groups)}});
  return json;
}

}  // namespace

std::string to_json(const std::vector<TableValidation>& tables, int indent) {
  Json list = Json::array();
  for (const TableValidation& table : tables) list.push_back(table_json(table));
  const Json json = {{"schema", validation_schema}, {"tables", std::move(list)}};
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace warploom
