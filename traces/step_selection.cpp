// SPDX-License-Identifier: Apache-2.0
// Vectors filtered, the ids between them renumbered.
#include "traces/step_selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_set>
#include <utility>

#include "sim/core/errors.hpp"
#include "traces/intervals.hpp"
#include "traces/metrics.hpp"

namespace warploom {

namespace {

// Leaves the items that are wanted; says where each of the old ones is now, `nothing` for those that are gone.
template <class Item, class Wanted>
std::vector<std::uint32_t> filter(std::vector<Item>& items, Wanted wanted) {
  std::vector<std::uint32_t> place(items.size(), nothing);
  std::vector<Item> kept;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    if (!wanted(i)) continue;
    place[i] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(std::move(items[i]));
  }
  items = std::move(kept);
  return place;
}

std::uint32_t renumbered(const std::vector<std::uint32_t>& place, std::uint32_t id) {
  return id == nothing ? nothing : place[id];
}

Interval window_of(const Capture& capture, std::int64_t step) {
  const auto steps = captured_steps(capture);
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const auto& one) { return one.second == step; });
  if (found != steps.end()) return {found->first.start, found->first.start + found->first.duration};
  std::string numbers;
  for (const auto& [annotation, number] : steps) numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", number);
  throw UserError(fmt::format("{}: no step {} in it", capture.file, step),
                  numbers.empty() ? "it has no ProfilerStep annotations" : "its steps: " + numbers);
}

class StepOf {
 public:
  StepOf(Capture& capture, Interval window) : capture_(capture), window_(window) {}

  void keep() {
    const auto operations = operations_of_step();
    const auto op_place = filter(capture_.device_ops, [&](std::uint32_t i) { return operations[i]; });
    const auto call_place = filter(capture_.calls, [&](std::uint32_t i) { return is_within(capture_.calls[i].start); });
    const auto host_op_place =
        filter(capture_.host_ops, [&](std::uint32_t i) { return is_within(capture_.host_ops[i].start); });
    for (auto& op : capture_.device_ops) {
      op.launch = renumbered(call_place, op.launch);
      op.host_op = renumbered(host_op_place, op.host_op);
    }
    for (auto& call : capture_.calls) call.host_op = renumbered(host_op_place, call.host_op);
    keep_edges(op_place);
    keep_what_hosts_said();
  }

 private:
  bool is_within(Nanoseconds at) const { return window_.begin <= at && at < window_.end; }

  // What the step launched; of what nobody launched (graphs' kernels, launches before the capture) what began while
  // that ran.
  std::vector<bool> operations_of_step() const {
    const auto& ops = capture_.device_ops;
    std::vector<bool> kept(ops.size());
    Interval runs{std::numeric_limits<Nanoseconds>::max(), std::numeric_limits<Nanoseconds>::min()};
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].launch == nothing || !is_within(capture_.calls[ops[i].launch].start)) continue;
      kept[i] = true;
      runs = {std::min(runs.begin, ops[i].start), std::max(runs.end, ops[i].end())};
    }
    if (runs.begin > runs.end) runs = window_;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].launch == nothing) kept[i] = runs.begin <= ops[i].start && ops[i].start < runs.end;
    }
    return kept;
  }

  void keep_edges(const std::vector<std::uint32_t>& op_place) {
    std::erase_if(capture_.device_edges, [&](const DeviceEdge& edge) {
      return op_place[edge.from] == nothing || op_place[edge.to] == nothing;
    });
    for (auto& edge : capture_.device_edges) {
      edge.from = op_place[edge.from];
      edge.to = op_place[edge.to];
    }
    std::erase_if(capture_.details, [&](const DeviceOpDetail& detail) { return op_place[detail.op] == nothing; });
    for (auto& detail : capture_.details) detail.op = op_place[detail.op];
  }

  void keep_what_hosts_said() {
    std::unordered_set<std::uint64_t> made;
    for (const auto& call : capture_.calls) made.insert(call.correlation);
    std::erase_if(capture_.syncs, [&](const Sync& sync) { return !made.contains(sync.correlation); });
    std::erase_if(capture_.hand_offs,
                  [&](const HandOff& hand) { return !is_within(hand.from) || !is_within(hand.to); });
    std::erase_if(capture_.annotations, [&](const Annotation& range) {
      return range.start < window_.begin || range.start + range.duration > window_.end;
    });
    capture_.host_span.reset();
  }

  Capture& capture_;
  Interval window_;
};

}  // namespace

void keep_step(std::vector<Capture>& captures, std::int64_t step) {
  for (auto& capture : captures) StepOf(capture, window_of(capture, step)).keep();
}

}  // namespace warploom
