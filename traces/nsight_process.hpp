// SPDX-License-Identifier: Apache-2.0
// One process of an Nsight Systems report as it is filled: the report's keys (global ids, string ids, streams) become
// indices of its capture.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "traces/capture.hpp"
#include "traces/sqlite_database.hpp"

namespace warploom::nsight {

// [8 bit hardware][8 bit virtual machine][24 bit process][24 bit thread].
inline constexpr std::int64_t thread_bits = 0xFFFFFF;
inline std::int64_t process_of(std::int64_t global_thread) { return global_thread & ~thread_bits; }

using Strings = std::unordered_map<std::int64_t, std::string>;  // StringIds, those that are used

struct Times {
  Nanoseconds start = 0;
  Nanoseconds duration = 0;
};

// Columns 0 and 1 of a row. None where they are no times (counted as a repair); an end before its start becomes the
// start (counted as well).
std::optional<Times> times_of(const SqliteRows& row, Repairs& repairs);

class Process {
 public:
  Process(const std::string& file, std::int64_t global_process, bool strict);

  Capture& capture() { return capture_; }
  std::int64_t global_process() const { return global_process_; }
  std::int64_t id() const { return (global_process_ >> 24) & thread_bits; }

  std::uint32_t stream(std::int64_t device, std::int64_t context, std::int64_t stream);
  std::uint32_t thread(std::int64_t global_thread);
  const std::unordered_map<std::int64_t, std::uint32_t>& threads() const { return threads_; }
  // A text by its key in `strings`; `nothing`, and a repair, where it is not there.
  TextId text(const Strings& strings, std::int64_t key, const SqliteRows& row);
  // Nodes of graphs, numbered in the order in which they come.
  std::int32_t graph_node(std::int64_t node);
  void add(DeviceOp op);
  // A call that is written once more around itself keeps its correlation once, in the inner one (`is_api`).
  void add(const HostCall& call, bool is_api);
  void settle_calls();
  void count(std::string_view table);
  // What the calls with a correlation do, for those that synchronise.
  void note_call(std::uint64_t correlation, CallKind kind);
  std::optional<CallKind> call_of(std::uint64_t correlation) const;

 private:
  Capture capture_;
  std::int64_t global_process_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::uint32_t> streams_;
  std::unordered_map<std::int64_t, std::uint32_t> threads_;
  std::unordered_map<std::int64_t, TextId> texts_;
  std::unordered_map<std::int64_t, std::int32_t> graph_nodes_;
  std::unordered_map<std::uint64_t, CallKind> synchronising_;
  std::string_view counted_;  // the table that `count` was last asked for
  std::int64_t* count_ = nullptr;
  std::vector<std::uint32_t> around_;  // calls that may only stand around another
};

}  // namespace warploom::nsight
