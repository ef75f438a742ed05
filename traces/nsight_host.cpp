// SPDX-License-Identifier: Apache-2.0
// Synchronisation and NVTX ranges.
#include "traces/nsight_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/core/errors.hpp"

namespace warploom::nsight {

namespace {

SyncKind kind_of_sync(std::int64_t type, std::optional<CallKind> call) {
  // 2025.5 and 2026.1 write 2 (a wait for an event) for cudaStreamSynchronize: the call itself knows.
  if (call == CallKind::stream_sync) return SyncKind::stream_sync;
  if (call == CallKind::device_sync) return SyncKind::context_sync;
  if (call == CallKind::event_sync) return SyncKind::event_sync;
  if (call == CallKind::stream_wait) return SyncKind::stream_wait;
  constexpr std::array kinds = {SyncKind::event_sync, SyncKind::stream_wait, SyncKind::stream_sync,
                                SyncKind::context_sync};
  return kinds[static_cast<std::size_t>(type - 1)];
}

// A range that PyTorch's emit_nvtx wrote: "aten::add, op_id = 7, seq = 3, sizes = [[2, 3], [3]]".
struct OperatorText {
  std::string_view name;
  std::uint64_t id = 0;
  std::string_view sizes;
};
std::optional<OperatorText> operator_in(std::string_view text) {
  std::size_t end = std::string_view::npos;
  for (const std::string_view key : {", op_id = ", ", seq = ", ", sizes = "}) end = std::min(end, text.find(key));
  if (end == std::string_view::npos) return std::nullopt;
  OperatorText found{text.substr(0, end), 0, {}};
  if (const auto place = text.find(", op_id = "); place != std::string_view::npos) {
    for (const char digit : text.substr(place + 10, 18)) {
      if (digit < '0' || digit > '9') break;
      found.id = found.id * 10 + static_cast<std::uint64_t>(digit - '0');
    }
  }
  if (const auto place = text.find(", sizes = ["); place != std::string_view::npos) {
    int depth = 0;
    for (std::size_t at = place + 10; at < text.size(); ++at) {
      depth += text[at] == '[' ? 1 : text[at] == ']' ? -1 : 0;
      if (depth == 0) {
        found.sizes = text.substr(place + 10, at + 1 - (place + 10));
        break;
      }
    }
  }
  return found;
}

}  // namespace

// The records of events that waits can refer to.
void Report::read_events() {
  auto rows = database_.rows(
      event_table, {"globalPid", "correlationId", "deviceId", "contextId", "streamId", "eventId", "eventSyncId"});
  while (rows.next()) {
    const std::int64_t key = process_of(rows.integer_or(0, 0));
    Process* owner = known_process(key);
    if (owner == nullptr) continue;
    owner->count(event_table);
    Recorded recorded;
    recorded.correlation = id_of(rows.integer_or(1, 0));
    recorded.stream = owner->stream(rows.integer_or(2, 0), rows.integer_or(3, 0), rows.integer_or(4, 0));
    if (const auto id = id_of(rows.integer_or(6, 0))) by_sync_id_[{key, static_cast<std::int64_t>(id)}] = recorded;
    if (const auto id = id_of(rows.integer_or(5, 0))) {
      by_event_[{key, static_cast<std::int64_t>(id)}][recorded.correlation] = recorded;
    }
  }
}

void Report::read_syncs() {
  read_events();
  auto rows = database_.rows(sync_table, {"start", "end", "globalPid", "deviceId", "contextId", "streamId",
                                          "correlationId", "syncType", "eventId", "eventSyncId"});
  while (rows.next()) {
    const std::int64_t key = process_of(rows.integer_or(process_column, 0));
    Process& owner = process(key);
    owner.count(sync_table);
    const auto times = times_of(rows, owner.capture().repairs);
    const std::int64_t type = rows.integer_or(7, 0);
    if (!times || type < 1 || type > 4) continue;  // 0: unknown
    Sync sync;
    sync.start = times->start;
    sync.duration = times->duration;
    sync.correlation = id_of(rows.integer_or(correlation_column, 0));
    sync.kind = kind_of_sync(type, owner.call_of(sync.correlation));
    if (const auto stream = rows.integer(stream_column); stream && *stream != none32) {
      sync.stream = owner.stream(rows.integer_or(device_column, 0), rows.integer_or(context_column, 0), *stream);
    }
    const auto by_id = by_sync_id_.find({key, rows.integer_or(9, 0)});
    const auto by_event = by_event_.find({key, rows.integer_or(8, 0)});
    Recorded recorded;
    if (by_id != by_sync_id_.end()) {
      recorded = by_id->second;
    } else if (by_event != by_event_.end() && sync.correlation != 0) {
      // Without that id: the last record of the event before the call.
      const auto later = by_event->second.lower_bound(sync.correlation);
      if (later != by_event->second.begin()) recorded = std::prev(later)->second;
    }
    sync.record_correlation = recorded.correlation;
    sync.recorded_on = recorded.stream;
    owner.capture().syncs.push_back(sync);
  }
}

void Report::read_nvtx() {
  constexpr std::int64_t push_pop = 59;
  constexpr std::int64_t start_end = 60;
  constexpr std::string_view mpi_rank = "MPI Rank ";  // the name that nsys gives to a thread of an MPI program
  auto rows = database_.rows(nvtx_table, {"start", "end", "globalTid", "eventType", "text", "textId"});
  while (rows.next()) {
    Process* owner = known_process(process_of(rows.integer_or(2, 0)));
    if (owner == nullptr) continue;
    Capture& capture = owner->capture();
    owner->count(nvtx_table);
    std::string_view text = rows.text(4);
    if (text.empty() && !rows.is_null(5)) {
      if (const auto place = strings_.find(rows.integer_or(5, -1)); place != strings_.end()) text = place->second;
    }
    const std::int64_t type = rows.integer_or(3, 0);
    if (type != push_pop && type != start_end) {
      const auto digits = text.starts_with(mpi_rank) ? text.substr(mpi_rank.size()) : std::string_view();
      if (!digits.empty() && digits.size() < 9 && digits.find_first_not_of("0123456789") == std::string_view::npos) {
        capture.rank = std::stoll(std::string(digits));
      }
      continue;
    }
    if (rows.is_null(1)) {
      capture.repairs.note("unclosed_range", "NVTX ranges without an end were left out", rows.where());
      continue;
    }
    if (const auto times = times_of(rows, capture.repairs)) add_range(*owner, rows, *times, text);
  }
}

void Report::add_range(Process& owner, const SqliteRows& row, const Times& times, std::string_view text) {
  Capture& capture = owner.capture();
  const std::uint32_t thread = owner.thread(row.integer_or(2, 0));
  const auto written = operator_in(text);
  if (!written) {
    capture.annotations.push_back({times.start, times.duration, capture.texts.add(text), thread});
    return;
  }
  HostOp op;
  op.start = times.start;
  op.duration = times.duration;
  op.external_id = written->id;
  op.name = capture.texts.add(written->name);
  op.thread = thread;
  if (!written->sizes.empty()) op.shapes = capture.texts.add(written->sizes);
  capture.host_ops.push_back(op);
}

}  // namespace warploom::nsight
