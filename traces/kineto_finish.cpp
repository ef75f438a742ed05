// SPDX-License-Identifier: Apache-2.0
// What of a Kineto trace can only be joined once all its events are there.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "traces/classify.hpp"
#include "traces/kineto_builder.hpp"
#include "traces/link.hpp"
#include "traces/reorder.hpp"

namespace warploom {

namespace {

// "7" before "20".
bool shorter_first(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

bool is_same(const DeviceOp& a, const DeviceOp& b) {
  return a.start == b.start && a.duration == b.duration && a.stream == b.stream && a.correlation == b.correlation &&
         a.name == b.name && a.graph_node == b.graph_node && a.kind == b.kind;
}

}  // namespace

void KinetoBuilder::finish() {
  note("unclosed_begin", "events whose end did not come were not kept", 0, static_cast<std::int64_t>(open_begins_));
  for (const auto& category : categories_) {
    if (!category.name.empty()) capture_.events_by_category[category.name] += category.count;
  }
  if (any_time_ && !is_fine_) capture_.resolution = 1000;
  groups_.finish();
  name_threads();
  join_operators();
  sort_lanes();
  drop_duplicates();
  join_flows();
  link_launches(capture_);
  take_collectives_of_operators(capture_);
}

void KinetoBuilder::name_threads() {
  for (const auto& [key, thread] : threads_) {
    if (const auto place = thread_names_.find(key); place != thread_names_.end()) {
      capture_.threads[thread].name = place->second;
    }
    const std::string process = key.substr(0, key.find('\0'));
    if (const auto place = process_names_.find(process); place != process_names_.end()) {
      capture_.facts.insert_or_assign(fmt::format("process {}", process), place->second);
    }
  }
}

// By external id, where the operator was open at the call; else `link_launches` joins by containment.
void KinetoBuilder::join_operators() {
  constexpr Nanoseconds slack = 2000;  // whole microseconds, both ends cut
  const KeyIndex places([&](auto emit) {
    for (std::uint32_t i = 0; i < capture_.host_ops.size(); ++i) {
      if (capture_.host_ops[i].external_id != 0) emit(capture_.host_ops[i].external_id, i);
    }
  });
  for (std::size_t i = 0; i < capture_.calls.size(); ++i) {
    const std::uint32_t place = places.find(call_operators_[i]);
    if (place == nothing) continue;
    auto& call = capture_.calls[i];
    const auto& op = capture_.host_ops[place];
    if (call.start >= op.start - slack && call.start <= op.end() + slack) call.host_op = place;
  }
  for (std::size_t i = 0; i < capture_.device_ops.size(); ++i) {
    const std::uint32_t place = places.find(device_operators_[i]);
    if (place == nothing) continue;
    auto& op = capture_.device_ops[i];
    if (op.start >= capture_.host_ops[place].start - slack) op.host_op = place;
  }
  call_operators_ = {};
  device_operators_ = {};
}

// Threads, streams and operations in an order of their own, so that the order of the file's events does not matter.
void KinetoBuilder::sort_lanes() {
  const auto new_thread = reorder(capture_.threads, [](const HostThread& a, const HostThread& b) {
    return std::tie(a.process, a.id, a.name) < std::tie(b.process, b.id, b.name);
  });
  for (auto& call : capture_.calls) follow(call.thread, new_thread);
  for (auto& op : capture_.host_ops) follow(op.thread, new_thread);
  for (auto& annotation : capture_.annotations) follow(annotation.thread, new_thread);
  for (auto& flow : flows_) {
    if (!flow.is_launch) follow(flow.lane, new_thread);
  }
  const auto new_stream = reorder(capture_.streams, [](const DeviceStream& a, const DeviceStream& b) {
    if (std::tie(a.device, a.context) != std::tie(b.device, b.context)) {
      return std::tie(a.device, a.context) < std::tie(b.device, b.context);
    }
    return shorter_first(a.name, b.name);
  });
  for (auto& op : capture_.device_ops) follow(op.stream, new_stream);
  for (auto& sync : capture_.syncs) {
    follow(sync.stream, new_stream);
    follow(sync.recorded_on, new_stream);
  }
  reorder(capture_.device_ops, [](const DeviceOp& a, const DeviceOp& b) {
    return std::tuple(a.start, -a.duration, a.stream, a.correlation, a.graph_node) <
           std::tuple(b.start, -b.duration, b.stream, b.correlation, b.graph_node);
  });
  const auto new_host_op = reorder(capture_.host_ops, [](const HostOp& a, const HostOp& b) {
    return std::tuple(a.thread, a.start, -a.duration, a.external_id) <
           std::tuple(b.thread, b.start, -b.duration, b.external_id);
  });
  reorder(capture_.calls, [](const HostCall& a, const HostCall& b) {
    return std::tuple(a.thread, a.start, -a.duration, a.correlation) <
           std::tuple(b.thread, b.start, -b.duration, b.correlation);
  });
  for (auto& op : capture_.device_ops) follow(op.host_op, new_host_op);
  for (auto& call : capture_.calls) follow(call.host_op, new_host_op);
}

void KinetoBuilder::drop_duplicates() {
  auto& ops = capture_.device_ops;
  const auto last = std::unique(ops.begin(), ops.end(), [](const DeviceOp& a, const DeviceOp& b) {
    return a.duration > 0 && a.correlation != 0 && is_same(a, b);
  });
  note("duplicate_event", "device operations told twice were kept once", 0, ops.end() - last);
  ops.erase(last, ops.end());
}

// Hand-offs between threads; and, where correlations are missing, launches by the flow from a call to an operation.
void KinetoBuilder::join_flows() {
  if (without_correlation_ > 0 && dropped_flows_) {
    note("unjoined_launch", "device operations or calls without a correlation came after many that had one", 0,
         without_correlation_);
  }
  if (without_correlation_ == 0) std::erase_if(flows_, [](const Flow& flow) { return flow.is_launch; });
  std::stable_sort(flows_.begin(), flows_.end(), [](const Flow& a, const Flow& b) {
    return std::tuple(a.is_launch, a.id, a.time, !a.is_start) < std::tuple(b.is_launch, b.id, b.time, !b.is_start);
  });
  std::unordered_map<Nanoseconds, std::uint32_t> call_at;
  std::unordered_map<Nanoseconds, std::uint32_t> op_at;
  if (without_correlation_ > 0) {
    for (std::uint32_t i = 0; i < capture_.calls.size(); ++i) call_at.try_emplace(capture_.calls[i].start, i);
    for (std::uint32_t i = 0; i < capture_.device_ops.size(); ++i) {
      if (capture_.device_ops[i].correlation == 0) op_at.try_emplace(capture_.device_ops[i].start, i);
    }
  }
  std::int64_t unmatched = 0;
  const Flow* open = nullptr;
  for (const Flow& flow : flows_) {
    const bool is_pair = open != nullptr && !flow.is_start && open->id == flow.id && open->is_launch == flow.is_launch;
    if (!is_pair) {
      if (!flow.is_launch && !flow.is_start) ++unmatched;
      if (open != nullptr && !open->is_launch) ++unmatched;
      open = flow.is_start ? &flow : nullptr;
      continue;
    }
    if (!flow.is_launch) {
      capture_.hand_offs.push_back({open->time, flow.time, open->lane, flow.lane});
    } else if (const auto op = op_at.find(flow.time); op != op_at.end()) {
      if (const auto call = call_at.find(open->time); call != call_at.end()) {
        capture_.device_ops[op->second].launch = call->second;
      }
    }
    open = nullptr;
  }
  if (open != nullptr && !open->is_launch) ++unmatched;
  note("unmatched_flow", "hand-offs between threads of which one end is missing were passed over", 0, unmatched);
  std::sort(capture_.hand_offs.begin(), capture_.hand_offs.end(), [](const HandOff& a, const HandOff& b) {
    return std::tuple(a.from, a.to, a.from_thread, a.to_thread) < std::tuple(b.from, b.to, b.from_thread, b.to_thread);
  });
  flows_ = {};
}

}  // namespace warploom
