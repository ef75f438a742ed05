// SPDX-License-Identifier: Apache-2.0
// What of an Ascend profile can be said only when all of it is there: parts of communication, edges between streams,
// rows of kernels, the operators that called, groups.
#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "traces/ascend_capture.hpp"

namespace warploom::ascend {

namespace {

// A wait that took longer than this was waiting; its end follows the record's end by no more than `reaction`.
constexpr Nanoseconds waiting = 1'000;
constexpr Nanoseconds reaction = 5'000;
constexpr int looked_back = 64;  // records tried before a wait is left without one

struct Issued {  // a record, in the order in which the host issued them or in which the device ended them
  std::uint64_t key = 0;
  std::uint32_t op = 0;
};

}  // namespace

Capture Builder::finish() {
  mark_parts();
  place_communications();
  add_launches();
  match_events();
  match_details();
  match_host_ops();
  settle_groups();
  for (auto& [id, ends] : hand_offs_) {
    if (ends.from_thread == nothing || ends.to_thread == nothing || ends.from_thread == ends.to_thread) continue;
    capture_.hand_offs.push_back({ends.from, ends.to, ends.from_thread, ends.to_thread});
  }
  std::sort(capture_.hand_offs.begin(), capture_.hand_offs.end(), [](const HandOff& a, const HandOff& b) {
    return std::tuple(a.from, a.to, a.from_thread) < std::tuple(b.from, b.to, b.from_thread);
  });
  return std::move(capture_);
}

// Tasks that were launched by the call of a communication, on whatever stream, are its parts.
void Builder::mark_parts() {
  std::unordered_set<std::uint64_t> connections;
  for (const auto place : communications_) {
    if (const auto id = capture_.device_ops[place].correlation; id != 0) connections.insert(id);
  }
  is_part_.assign(capture_.device_ops.size(), false);
  for (std::size_t i = 0; i < capture_.device_ops.size(); ++i) {
    DeviceOp& op = capture_.device_ops[i];
    if (op.collective != nothing || !connections.contains(op.correlation)) continue;
    op.kind = DeviceOpKind::sync;
    is_part_[i] = true;
  }
}

// A communication stands on its group's stream, its parts on the hardware's: what comes before them there comes before
// it, what comes after them after it. The file says so by the connection that they share.
void Builder::place_communications() {
  std::vector<std::vector<std::uint32_t>> by_stream(capture_.streams.size());
  for (std::uint32_t i = 0; i < capture_.device_ops.size(); ++i) {
    if (capture_.device_ops[i].collective == nothing) by_stream[capture_.device_ops[i].stream].push_back(i);
  }
  std::unordered_map<std::uint64_t, std::uint32_t> of_connection;
  for (const auto place : communications_) of_connection.emplace(capture_.device_ops[place].correlation, place);
  of_connection.erase(0);
  const auto add_edge = [&](std::uint32_t from, std::uint32_t to) {
    capture_.device_edges.push_back({from, to, false});
  };
  for (auto& tasks : by_stream) {
    std::stable_sort(tasks.begin(), tasks.end(), [&](std::uint32_t a, std::uint32_t b) {
      return capture_.device_ops[a].start < capture_.device_ops[b].start;
    });
    std::uint32_t before = nothing;  // the last task of the stream that is no part
    std::uint32_t within = nothing;  // the communication whose parts were last seen
    for (const auto task : tasks) {
      if (!is_part_[task]) {
        if (within != nothing) add_edge(within, task);
        within = nothing;
        before = task;
        continue;
      }
      const auto place = of_connection.find(capture_.device_ops[task].correlation);
      if (place == of_connection.end() || place->second == within) continue;
      within = place->second;
      if (before != nothing) add_edge(before, within);
    }
  }
}

// No file names the event of a record or a wait. A wait that did wait ended just after its record did, elsewhere; one
// that did not follows the last record that the host issued before it. Both are inferred.
void Builder::match_events() {
  std::vector<Issued> ended;
  std::vector<Issued> issued;
  for (const auto place : records_) {
    const DeviceOp& op = capture_.device_ops[place];
    ended.push_back({static_cast<std::uint64_t>(op.end()) ^ (1ULL << 63U), place});  // signed order
    if (op.correlation != 0) issued.push_back({op.correlation, place});
  }
  const auto by_key = [](const Issued& a, const Issued& b) {
    return std::tuple(a.key, a.op) < std::tuple(b.key, b.op);
  };
  std::sort(ended.begin(), ended.end(), by_key);
  std::sort(issued.begin(), issued.end(), by_key);
  const auto last_before = [&](const std::vector<Issued>& from, std::uint64_t key, const DeviceOp& wait) {
    auto place =
        std::lower_bound(from.begin(), from.end(), key, [](const Issued& a, std::uint64_t b) { return a.key < b; });
    for (int tried = 0; place != from.begin() && tried < looked_back; ++tried) {
      const std::uint32_t candidate = std::prev(place)->op;
      const DeviceOp& record = capture_.device_ops[candidate];
      const bool is_before = wait.correlation == 0 || record.correlation < wait.correlation;
      if (record.stream != wait.stream && is_before && record.end() <= wait.end()) return candidate;
      --place;
    }
    return nothing;
  };
  for (const auto place : waits_) {
    const DeviceOp& wait = capture_.device_ops[place];
    std::uint32_t record = nothing;
    if (wait.duration > waiting) {
      record = last_before(ended, (static_cast<std::uint64_t>(wait.end()) ^ (1ULL << 63U)) + 1, wait);
      if (record != nothing && capture_.device_ops[record].end() < wait.end() - reaction) record = nothing;
    } else if (wait.correlation != 0) {
      record = last_before(issued, wait.correlation, wait);
    }
    if (record != nothing) capture_.device_edges.push_back({record, place, true});
  }
}

// A launch whose call is not in the file: the flow's start is a call without a duration.
void Builder::add_launches() {
  if (launches_.empty()) return;
  std::unordered_set<std::uint64_t> called;
  for (const auto& call : capture_.calls) called.insert(call.correlation);
  std::map<std::pair<std::uint32_t, Nanoseconds>, const Launch*> by_device;  // ordered: the result must not hang on ids
  for (const auto& [id, launch] : launches_) {
    if (launch.thread != nothing && launch.stream != nothing) by_device[{launch.stream, launch.to}] = &launch;
  }
  std::uint64_t next = 1ULL << 40U;  // beyond any connection, for operations that have none
  for (auto& op : capture_.device_ops) {
    if (op.correlation != 0 && called.contains(op.correlation)) continue;
    const auto place = by_device.find({op.stream, op.start});
    if (place == by_device.end()) continue;
    if (op.correlation == 0) op.correlation = next++;
    HostCall call;
    call.start = place->second->from;
    call.correlation = op.correlation;
    call.name = capture_.texts.add("HostToDevice");
    call.thread = place->second->thread;
    call.kind = op.kind == DeviceOpKind::copy ? CallKind::copy : CallKind::launch;
    if (op.kind == DeviceOpKind::sync) call.kind = CallKind::other;
    capture_.calls.push_back(call);
    called.insert(op.correlation);
  }
}

void Builder::match_details() {
  if (rows_.empty()) return;
  std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
    return std::tuple(a.start, a.name) < std::tuple(b.start, b.name);
  });
  std::int64_t unmatched = 0;
  std::vector<bool> is_used(rows_.size(), false);
  for (std::uint32_t i = 0; i < capture_.device_ops.size(); ++i) {
    const DeviceOp& op = capture_.device_ops[i];
    if (op.kind != DeviceOpKind::kernel && op.kind != DeviceOpKind::sync) continue;
    auto row = std::lower_bound(rows_.begin(), rows_.end(), std::tuple(op.start, op.name),
                                [](const Row& a, const auto& b) { return std::tuple(a.start, a.name) < b; });
    if (row == rows_.end() || row->start != op.start || row->name != op.name) continue;
    if (is_used[static_cast<std::size_t>(row - rows_.begin())]) continue;
    is_used[static_cast<std::size_t>(row - rows_.begin())] = true;
    row->detail.op = i;
    capture_.details.push_back(row->detail);
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) unmatched += is_used[i] ? 0 : 1;
  capture_.repairs.note("unmatched_kernel_row", "rows of kernels that no task of the device matches were left out",
                        "kernel_details", 0, unmatched);
}

// Where the file says at which moment of a thread a device operation was called: the operator that then ran.
void Builder::match_host_ops() {
  if (called_from_.empty()) return;
  std::vector<std::uint32_t> order(capture_.host_ops.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto key = [&](std::uint32_t i) {
    const HostOp& op = capture_.host_ops[i];
    return std::tuple(op.thread, op.start, -op.duration);
  };
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return std::tuple(key(a), a) < std::tuple(key(b), b); });
  for (auto& op : capture_.device_ops) {
    if (op.host_op != nothing) continue;
    const auto from = called_from_.find(op.start);
    if (from == called_from_.end() || op.kind == DeviceOpKind::sync) continue;
    const auto [thread, at] = from->second;
    auto place =
        std::upper_bound(order.begin(), order.end(), std::tuple(thread, at), [&](const auto& b, std::uint32_t a) {
          return b < std::tuple(capture_.host_ops[a].thread, capture_.host_ops[a].start);
        });
    for (int tried = 0; place != order.begin() && tried < looked_back; ++tried) {
      const HostOp& candidate = capture_.host_ops[*--place];
      if (candidate.thread != thread) break;
      if (candidate.end() < at) continue;
      op.host_op = *place;
      break;
    }
  }
}

void Builder::settle_groups() {
  for (auto& record : capture_.collectives) {
    const auto transfer = transfers_.find(capture_.texts[record.name]);
    if (transfer == transfers_.end()) continue;
    record.transfer = transfer->second.transfer;
    if (record.group == nothing) continue;
    ProcessGroup& group = capture_.groups[record.group];
    if (group.description.empty()) group.description = transfer->second.group;
  }
  for (auto& group : capture_.groups) {
    auto members = members_.find(group.description);
    if (members == members_.end()) members = members_.find(group.name);
    if (members == members_.end()) continue;
    group.ranks = members->second;
    group.size = static_cast<std::int64_t>(group.ranks.size());
  }
}

}  // namespace warploom::ascend
