// SPDX-License-Identifier: Apache-2.0
// One process of a report and its tables of streams, threads and texts.
#include "traces/nsight_process.hpp"

#include <fmt/format.h>

#include <unordered_set>

#include "sim/core/errors.hpp"

namespace warploom::nsight {

namespace {

// 73 years: the difference of any two times fits.
constexpr Nanoseconds farthest = Nanoseconds{1} << 61;

template <class Key, class Map>
std::uint32_t index_of(Map& map, const Key& key, std::size_t next) {
  WARPLOOM_CHECK(next < nothing, "too many streams or threads");
  return map.emplace(key, static_cast<std::uint32_t>(next)).first->second;
}

}  // namespace

std::optional<Times> times_of(const SqliteRows& row, Repairs& repairs) {
  const auto start = row.integer(0);
  const auto end = row.integer(1);
  if (!start || !end || *start > farthest || *start < -farthest || *end > farthest || *end < -farthest) {
    repairs.note("row_without_times", "rows whose start or end is no time were left out", row.where());
    return std::nullopt;
  }
  if (*end < *start) {
    repairs.note("negative_duration", "ends before their starts were set to the starts", row.where(), *start - *end);
    return Times{*start, 0};
  }
  return Times{*start, *end - *start};
}

Process::Process(const std::string& file, std::int64_t global_process, bool strict) : global_process_(global_process) {
  capture_.file = file;
  capture_.format = "nsight";
  capture_.repairs = Repairs(file, strict);
  capture_.facts["process"] = std::to_string(id());
  capture_.facts["globalPid"] = std::to_string(global_process_);
}

std::uint32_t Process::stream(std::int64_t device, std::int64_t context, std::int64_t stream) {
  const auto index = index_of(streams_, std::tuple(device, context, stream), capture_.streams.size());
  if (index == capture_.streams.size()) capture_.streams.push_back({device, context, std::to_string(stream)});
  return index;
}

std::uint32_t Process::thread(std::int64_t global_thread) {
  const auto index = index_of(threads_, global_thread, capture_.threads.size());
  if (index == capture_.threads.size()) capture_.threads.push_back({id(), global_thread & thread_bits, {}});
  return index;
}

TextId Process::text(const Strings& strings, std::int64_t key, const SqliteRows& row) {
  if (const auto known = texts_.find(key); known != texts_.end()) return known->second;
  const auto place = strings.find(key);
  if (place == strings.end()) {
    capture_.repairs.note("missing_name", "names that the table StringIds lacks were left blank", row.where());
    return nothing;
  }
  return texts_.emplace(key, capture_.texts.add(place->second)).first->second;
}

void Process::add(const HostCall& call, bool is_api) {
  if (capture_.calls.size() >= nothing) throw UserError(capture_.file + ": more than 2^32 calls");
  if (!is_api) around_.push_back(static_cast<std::uint32_t>(capture_.calls.size()));
  capture_.calls.push_back(call);
}

void Process::settle_calls() {
  if (around_.empty()) return;
  std::unordered_set<std::uint32_t> outer(around_.begin(), around_.end());
  std::unordered_set<std::uint64_t> inner;
  for (std::uint32_t i = 0; i < capture_.calls.size(); ++i) {
    if (!outer.contains(i)) inner.insert(capture_.calls[i].correlation);
  }
  for (const std::uint32_t place : around_) {
    if (inner.contains(capture_.calls[place].correlation)) capture_.calls[place].correlation = 0;
  }
}

std::int32_t Process::graph_node(std::int64_t node) {
  return graph_nodes_.emplace(node, static_cast<std::int32_t>(graph_nodes_.size() & 0x7FFFFFFF)).first->second;
}

void Process::add(DeviceOp op) {
  if (capture_.device_ops.size() >= nothing) throw UserError(capture_.file + ": more than 2^32 device operations");
  capture_.device_ops.push_back(op);
}

void Process::count(std::string_view table) {
  if (count_ == nullptr || table != counted_) {
    counted_ = table;
    count_ = &capture_.events_by_category[std::string(table)];
  }
  ++*count_;
  ++capture_.event_count;
}

void Process::note_call(std::uint64_t correlation, CallKind kind) {
  if (correlation == 0) return;
  switch (kind) {
    case CallKind::stream_wait:
    case CallKind::event_sync:
    case CallKind::stream_sync:
    case CallKind::device_sync:
      synchronising_.emplace(correlation, kind);
      break;
    default:
      break;
  }
}

std::optional<CallKind> Process::call_of(std::uint64_t correlation) const {
  const auto place = synchronising_.find(correlation);
  if (place == synchronising_.end()) return std::nullopt;
  return place->second;
}

}  // namespace warploom::nsight
