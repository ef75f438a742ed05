// SPDX-License-Identifier: Apache-2.0
// One block a group of constants that were fitted together.
#include "workloads/calibration/calibration_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/text.hpp"
#include "sim/play/text_table.hpp"

namespace warploom {

namespace {

std::string percent(double share) { return fmt::format("{:.2f}%", 100 * share); }

std::string shortened(const std::vector<std::string>& names) {
  constexpr std::size_t most = 4;
  std::vector<std::string> named(names.begin(),
                                 names.begin() + static_cast<std::ptrdiff_t>(std::min(most, names.size())));
  return join(named) + (names.size() > most ? fmt::format(" and {} more", names.size() - most) : "");
}

std::string block(const FittedGroup& group) {
  std::vector<std::string> names;
  for (const std::string& file : group.files) names.push_back(file.substr(file.find('/') + 1));
  std::string text = fmt::format("{}: {}, {} rows, MAPE {} before, {} after", group.kind, join(names), group.rows,
                                 percent(group.mape_before), percent(group.mape_after));
  if (group.leave_one_set_out_mape) {
    text += fmt::format(
        "; {} left out of the fit ({})", percent(*group.leave_one_set_out_mape),
        group.left_out.size() <= 4 ? join(group.left_out) : fmt::format("{} sets in turn", group.left_out.size()));
  }
  text += "\n\n";
  TextTable table({"constant", "before", "after", "physical range", "users", "written in"});
  table.align_left(4);
  table.align_left(5);
  for (const FittedConstant& constant : group.constants) {
    const std::string after = constant.changed() ? constant.after : constant.is_held ? "held" : "stays";
    table.add({constant.declared.path, constant.before, after + (constant.is_at_bound ? " (end)" : ""),
               constant_text(constant.declared.low, constant.declared) + " to " +
                   constant_text(constant.declared.high, constant.declared),
               shortened(constant.users), constant.written.to_string()});
  }
  text += table.to_string();
  if (std::ranges::any_of(group.constants, &FittedConstant::is_held))
    text += "held: a fit of all ran to the end of its physical range; the others were fitted without it\n";
  if (group.rows < static_cast<std::int64_t>(group.constants.size())) {
    text += fmt::format("warning: {} row{} for {} constants, which so few cannot decide; give more tables\n",
                        group.rows, group.rows == 1 ? "" : "s", group.constants.size());
  }
  return text;
}

}  // namespace

std::string to_text(const Calibration& calibration) {
  std::string text;
  std::size_t constants = 0;
  std::size_t counting = 0;
  std::size_t moved = 0;
  for (const FittedGroup& group : calibration.groups) {
    text += (text.empty() ? "" : "\n") + block(group);
    for (const FittedConstant& constant : group.constants) {
      ++constants;
      if (constant.counts()) ++counting;
      if (constant.changed()) ++moved;
    }
  }
  if (calibration.groups.empty()) {
    text = "No constant that may be fitted decides these rows (configs/calibration/constants.yaml declares them).\n";
  } else {
    text += fmt::format("\n{} constants fitted, {} of which moved; {} are used by two devices or sets at least\n",
                        constants, moved, counting);
  }
  for (const ExcludedScore& score : calibration.excluded)
    text += fmt::format("excluded {}: {} rows, MAPE {}\n", score.set, score.rows, percent(score.mape));
  if (calibration.skipped > 0)
    text += fmt::format("{} rows were skipped; `warploom validate` says why\n", calibration.skipped);
  return text;
}

std::string to_text(const std::vector<FittedConstant>& constants) {
  TextTable table({"kind", "constant", "value", "physical range", "users", "written in"});
  for (const std::size_t column : {1, 2, 3, 4, 5}) table.align_left(column);
  for (const FittedConstant& constant : constants) {
    table.add({constant.declared.kind, constant.declared.path, constant.after,
               constant_text(constant.declared.low, constant.declared) + " to " +
                   constant_text(constant.declared.high, constant.declared),
               shortened(constant.users), constant.written.to_string()});
  }
  return table.to_string();
}

std::string to_json(const std::vector<FittedConstant>& constants) {
  std::vector<std::string> lines;
  for (const FittedConstant& constant : constants) {
    std::vector<std::string> users;
    for (const std::string& user : constant.users) users.push_back(json_string(user));
    lines.push_back(fmt::format(
        "\n    {{\"kind\": {}, \"path\": {}, \"value\": {}, \"low\": {}, \"high\": {}, \"written_in\": {}, \"users\": "
        "[{}], \"counts\": {}}}",
        json_string(constant.declared.kind), json_string(constant.declared.path), json_string(constant.after),
        json_string(constant_text(constant.declared.low, constant.declared)),
        json_string(constant_text(constant.declared.high, constant.declared)),
        json_string(constant.written.to_string()), join(users), constant.counts()));
  }
  return "{\n  \"constants\": [" + join(lines, ",") + "\n  ]\n}\n";
}

}  // namespace warploom
