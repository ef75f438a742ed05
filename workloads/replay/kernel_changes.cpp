// SPDX-License-Identifier: Apache-2.0
// Sums by name: texts of a capture first, which are numbers, then over captures.
#include "workloads/replay/kernel_changes.hpp"

#include <algorithm>
#include <unordered_map>

#include "traces/recorded_time.hpp"

namespace warploom {

namespace {

// Of communication, from the last arrival on.
Nanoseconds taken(const Timeline& timeline, RowId row) {
  return row == none ? 0 : nanoseconds(timeline.end[row] - timeline.begin[row]);
}

}  // namespace

std::vector<KernelChange> kernel_changes(const CapturedRun& run, const CapturedProgram& captured,
                                         const Timeline& timeline) {
  std::vector<KernelChange> changes;
  std::unordered_map<std::string_view, std::size_t> places;
  KernelChange added{"(added)"};
  for (std::size_t i = 0; i < run.captures.size(); ++i) {
    const auto& capture = run.captures[i];
    std::vector<std::size_t> place_of(capture.texts.size(), nothing);
    for (std::size_t k = 0; k < capture.device_ops.size(); ++k) {
      const auto& op = capture.device_ops[k];
      if (!is_work(op) || op.name == nothing) continue;
      std::size_t& place = place_of[op.name];
      if (place == nothing) {
        place = places.try_emplace(capture.texts[op.name], changes.size()).first->second;
        if (place == changes.size()) changes.push_back({std::string(capture.texts[op.name]), op.op_class});
      }
      auto& change = changes[place];
      ++change.count;
      const std::uint32_t matched = run.matching.of_op[i][k];
      change.measured += matched == nothing ? op.duration : run.matching.collectives[matched].transfer;
      change.predicted += taken(timeline, captured.row_of_op[i][k]);
    }
    for (const auto& [op, row] : captured.added_after[i]) {
      added.count += 1;
      added.predicted += taken(timeline, row);
    }
  }
  if (added.count > 0) changes.push_back(added);
  std::ranges::stable_sort(changes, std::greater{},
                           [](const KernelChange& one) { return std::max(one.measured, one.predicted); });
  return changes;
}

}  // namespace warploom
