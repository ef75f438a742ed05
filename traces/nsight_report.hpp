// SPDX-License-Identifier: Apache-2.0
// A whole Nsight Systems report as it is read, table by table, into its processes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "traces/nsight_process.hpp"
#include "traces/readers.hpp"
#include "traces/sqlite_database.hpp"

namespace warploom::nsight {

inline constexpr std::string_view kernel_table = "CUPTI_ACTIVITY_KIND_KERNEL";
inline constexpr std::string_view copy_table = "CUPTI_ACTIVITY_KIND_MEMCPY";
inline constexpr std::string_view fill_table = "CUPTI_ACTIVITY_KIND_MEMSET";
inline constexpr std::string_view graph_table = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
inline constexpr std::string_view runtime_table = "CUPTI_ACTIVITY_KIND_RUNTIME";
inline constexpr std::string_view driver_table = "CUPTI_ACTIVITY_KIND_DRIVER";
inline constexpr std::string_view sync_table = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
inline constexpr std::string_view event_table = "CUPTI_ACTIVITY_KIND_CUDA_EVENT";
inline constexpr std::string_view nvtx_table = "NVTX_EVENTS";
inline constexpr std::int64_t none32 = 0xFFFFFFFF;  // "no such id" in columns of 32 bits

// The columns that every table of device work begins with.
enum DeviceColumn {
  start_column,
  end_column,
  process_column,
  device_column,
  context_column,
  stream_column,
  correlation_column,
  node_column,
  first_own_column
};

inline std::uint64_t id_of(std::int64_t value) {
  return value > 0 && value != none32 ? static_cast<std::uint64_t>(value) : 0;
}

class Report {
 public:
  Report(const SqliteDatabase& database, const ReadOptions& options) : database_(database), options_(options) {}

  // One capture a process, by its id. Throws UserError where none has work.
  std::vector<Capture> read();

 private:
  Process& process(std::int64_t global_process) {
    const auto place = processes_.find(global_process);
    if (place != processes_.end()) return place->second;
    return processes_
        .emplace(std::piecewise_construct, std::forward_as_tuple(global_process),
                 std::forward_as_tuple(database_.file(), global_process, options_.strict))
        .first->second;
  }
  Process* known_process(std::int64_t global_process) {
    const auto place = processes_.find(global_process);
    return place == processes_.end() ? nullptr : &place->second;
  }

  void read_strings();
  void read_kernels();
  void read_copies();
  void read_fills();
  void read_graphs();
  void read_calls(std::string_view table);
  void read_events();
  void read_syncs();
  void read_nvtx();
  void add_range(Process& process, const SqliteRows& row, const Times& times, std::string_view text);
  void name_threads();
  void describe();
  void describe_devices();
  void tell_ranks();

  // Columns as in DeviceColumn; none where the row has no times.
  static std::optional<DeviceOp> device_op(Process& process, const SqliteRows& row, DeviceOpKind kind);

  struct Recorded {
    std::uint64_t correlation = 0;
    std::uint32_t stream = nothing;
  };
  const SqliteDatabase& database_;
  const ReadOptions& options_;
  nsight::Strings strings_;
  std::map<std::int64_t, Process> processes_;
  std::map<std::pair<std::int64_t, std::int64_t>, Recorded> by_sync_id_;  // (process, eventSyncId)
  std::map<std::pair<std::int64_t, std::int64_t>, std::map<std::uint64_t, Recorded>> by_event_;  // (process, eventId)
};

}  // namespace warploom::nsight
