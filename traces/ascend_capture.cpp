// SPDX-License-Identifier: Apache-2.0
// What the text and the database form of an Ascend profile add to one capture.
#include "traces/ascend_capture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom::ascend {

namespace {

constexpr Nanoseconds farthest = Nanoseconds{1} << 61;

std::uint64_t correlation_of(std::uint64_t connection) { return connection == no_connection ? 0 : connection; }

// Elements of this rank's own tensors, from what HCCL was called with: the smaller side of a gather or scatter.
void set_elements(CollectiveRecord& record, std::string_view name, std::int64_t count) {
  if (count < 0) return;
  const std::string lower = to_lower(name);
  const auto is = [&](std::string_view part) { return lower.find(part) != std::string::npos; };
  if (!is("reducescatter")) record.in_elements = count;
  if (!is("allgather") && !is("alltoall")) record.out_elements = count;
}

}  // namespace

DeviceOpKind kind_of_task(std::string_view task_type, std::string_view name) {
  constexpr std::array<std::string_view, 12> computing = {
      "AI_CORE", "AI_VECTOR_CORE", "MIX_AIC",      "MIX_AIV",      "AI_CPU",         "DSA_SQE",
      "AIV_SQE", "KERNEL_AICORE",  "KERNEL_AIVEC", "KERNEL_AICPU", "KERNEL_MIX_AIC", "KERNEL_MIX_AIV"};
  constexpr std::array<std::string_view, 3> copying = {"PCIE_DMA_SQE", "SDMA_SQE", "MEMCPY_ASYNC"};
  if (name.starts_with("EVENT_")) return DeviceOpKind::sync;
  if (std::find(computing.begin(), computing.end(), task_type) != computing.end()) return DeviceOpKind::kernel;
  if (std::find(copying.begin(), copying.end(), task_type) != copying.end()) {
    return name.starts_with("MEMSET") ? DeviceOpKind::fill : DeviceOpKind::copy;
  }
  return DeviceOpKind::sync;
}

CallKind kind_of_call(std::string_view name) {
  if (const auto at = name.find('@'); at != std::string_view::npos) {
    if (name.starts_with("Hccl@")) return CallKind::launch;
    name.remove_prefix(at + 1);
  }
  if (name == "launch" || name.starts_with("Launch")) return CallKind::launch;
  if (name == "aclrtLaunchKernel" || name == "KernelLaunch" || name.starts_with("hcom_")) return CallKind::launch;
  constexpr std::array<std::pair<std::string_view, CallKind>, 10> rules = {{
      {"aclrtMemcpy", CallKind::copy},
      {"aclrtMemset", CallKind::fill},
      {"aclrtRecordEvent", CallKind::event_record},
      {"aclrtStreamWaitEvent", CallKind::stream_wait},
      {"aclrtSynchronizeEvent", CallKind::event_sync},
      {"aclrtSynchronizeStream", CallKind::stream_sync},
      {"aclrtSynchronizeDevice", CallKind::device_sync},
      {"aclmdlRIExecute", CallKind::graph_launch},
      {"aclmdlExecute", CallKind::graph_launch},
      {"ModelExecute", CallKind::graph_launch},
  }};
  for (const auto& [start, kind] : rules) {
    if (name.starts_with(start)) return kind;
  }
  return CallKind::other;
}

Builder::Builder(const std::string& file, bool strict) {
  capture_.file = file;
  capture_.format = "ascend";
  capture_.repairs = Repairs(file, strict);
}

bool Builder::settle(Nanoseconds& start, Nanoseconds& duration, std::string_view where) {
  if (start > farthest || start < -farthest || duration > farthest || duration < -farthest) {
    capture_.repairs.note("row_without_times", "records whose time or duration is none were left out", where);
    return false;
  }
  if (duration < 0) {
    capture_.repairs.note("negative_duration", "durations below zero were set to zero", where, -duration);
    duration = 0;
  }
  return true;
}

std::uint32_t Builder::stream(std::string_view key) {
  if (const auto place = streams_.find(key); place != streams_.end()) return place->second;
  const auto index = static_cast<std::uint32_t>(capture_.streams.size());
  capture_.streams.push_back({0, 0, std::string(key)});
  streams_.emplace(key, index);
  return index;
}

void Builder::name_stream(std::string_view key, std::string_view name) {
  const auto place = streams_.find(key);
  if (place != streams_.end()) capture_.streams[place->second].name = name;
}

std::uint32_t Builder::thread(std::int64_t process, std::int64_t id) {
  const auto index = static_cast<std::uint32_t>(capture_.threads.size());
  const auto [place, is_new] = threads_.emplace(id, index);
  if (is_new) capture_.threads.push_back({process, id, {}});
  return place->second;
}

std::uint32_t Builder::group(std::string_view name) {
  if (const auto place = groups_.find(name); place != groups_.end()) return place->second;
  const auto index = static_cast<std::uint32_t>(capture_.groups.size());
  ProcessGroup group;
  group.name = name;
  capture_.groups.push_back(std::move(group));
  groups_.emplace(name, index);
  return index;
}

std::uint32_t Builder::add(const Task& task) {
  if (capture_.device_ops.size() >= nothing) throw UserError(capture_.file + ": more than 2^32 tasks");
  const auto place = static_cast<std::uint32_t>(capture_.device_ops.size());
  DeviceOp op;
  op.start = task.start;
  op.duration = task.duration;
  op.correlation = correlation_of(task.connection);
  op.name = capture_.texts.add(task.name);
  op.stream = task.stream;
  op.kind = task.kind;
  capture_.device_ops.push_back(op);
  if (task.name.starts_with("EVENT_RECORD")) records_.push_back(place);
  if (task.name.starts_with("EVENT_WAIT")) waits_.push_back(place);
  return place;
}

void Builder::add(const Communication& operation) {
  CollectiveRecord record;
  record.name = capture_.texts.add(operation.name);
  if (!operation.data_type.empty()) record.type = capture_.texts.add(operation.data_type);
  if (!operation.algorithm.empty()) record.algorithm = capture_.texts.add(operation.algorithm);
  record.group = operation.group;
  set_elements(record, operation.name, operation.count);
  Task task;
  task.start = operation.start;
  task.duration = operation.duration;
  task.stream = operation.stream;
  task.connection = operation.connection;
  task.name = operation.name;
  const std::uint32_t place = add(task);
  capture_.device_ops[place].collective = static_cast<std::uint32_t>(capture_.collectives.size());
  capture_.collectives.push_back(record);
  communications_.push_back(place);
}

void Builder::add_call(Nanoseconds start, Nanoseconds duration, std::string_view name, std::uint32_t thread,
                       std::uint64_t connection) {
  HostCall call;
  call.start = start;
  call.duration = duration;
  call.correlation = correlation_of(connection);
  call.name = capture_.texts.add(name);
  call.thread = thread;
  call.kind = kind_of_call(name);
  capture_.calls.push_back(call);
}

std::uint32_t Builder::add_host_op(const HostOp& op) {
  capture_.host_ops.push_back(op);
  return static_cast<std::uint32_t>(capture_.host_ops.size() - 1);
}

void Builder::describe(Nanoseconds start, const KernelDetail& detail) {
  const auto text = [&](std::string_view written) {
    return written.empty() || written == "N/A" ? nothing : capture_.texts.add(written);
  };
  Row row;
  row.start = start;
  row.name = capture_.texts.add(detail.name);
  row.detail.type = text(detail.type);
  row.detail.core = text(detail.core);
  row.detail.shapes = text(detail.shapes);
  row.detail.types = text(detail.types);
  row.detail.output_shapes = text(detail.output_shapes);
  rows_.push_back(row);
}

void Builder::call_from(Nanoseconds device_start, std::uint32_t thread, Nanoseconds at) {
  called_from_.emplace(device_start, CallFrom{thread, at});
}

void Builder::launch_begin(const std::string& id, Nanoseconds at, std::uint32_t thread) {
  Launch& launch = launches_[id];
  launch.from = at;
  launch.thread = thread;
}

void Builder::launch_end(const std::string& id, Nanoseconds at, std::uint32_t stream) {
  Launch& launch = launches_[id];
  launch.to = at;
  launch.stream = stream;
}

void Builder::hand_off_begin(const std::string& id, Nanoseconds at, std::uint32_t thread) {
  Ends& ends = hand_offs_[id];
  ends.from = at;
  ends.from_thread = thread;
}

void Builder::hand_off_end(const std::string& id, Nanoseconds at, std::uint32_t thread) {
  Ends& ends = hand_offs_[id];
  ends.to = at;
  ends.to_thread = thread;
}

void Builder::set_transfer(std::string_view operation, Nanoseconds transfer, std::string_view group) {
  transfers_[std::string(operation)] = {transfer, std::string(group)};
}

void Builder::add_member(std::string_view group, std::int64_t rank) {
  auto& ranks = members_[std::string(group)];
  const auto place = std::lower_bound(ranks.begin(), ranks.end(), rank);
  if (place == ranks.end() || *place != rank) ranks.insert(place, rank);
}

}  // namespace warploom::ascend
