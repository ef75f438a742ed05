// SPDX-License-Identifier: Apache-2.0
// An Ascend profile as it is filled, from either form of the files: tasks of the device, HCCL operations, calls of
// CANN, operators of PyTorch; and what can be said of them only when all are there.
//
// Nothing is counted twice: an HCCL operation is one operation on its group's stream, and the tasks that it consists of
// (SDMA, Write Value, Notify Wait; they run in parallel on one stream) stay on theirs as `sync`, without work. The
// tasks of HCCL's planes are those same tasks once more and are not kept.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/capture.hpp"

namespace warploom::ascend {

inline constexpr std::uint64_t no_connection = 0xFFFFFFFF;  // of 32 bits: none

struct Task {
  Nanoseconds start = 0;
  Nanoseconds duration = 0;
  std::uint32_t stream = 0;
  std::uint64_t connection = 0;  // to the call that launched it; 0: none
  std::string_view name;         // "EVENT_WAIT", "aclnnMm_MatMulCommon_MatMulV2"
  DeviceOpKind kind = DeviceOpKind::kernel;
};

struct Communication {
  Nanoseconds start = 0;
  Nanoseconds duration = 0;
  std::uint32_t stream = 0;  // of its group
  std::uint64_t connection = 0;
  std::string_view name;  // "hcom_allReduce__586_0_1"
  std::string_view data_type;
  std::string_view algorithm;
  std::int64_t count = -1;  // elements, as HCCL is called with them
  std::uint32_t group = nothing;
};

struct KernelDetail {
  std::string_view name, type, core, shapes, types, output_shapes;
};

// By "Task Type" of the text form: what computes, copies, or only orders.
DeviceOpKind kind_of_task(std::string_view task_type, std::string_view name);
// "AscendCL@aclrtMemcpyAsync", "Node@launch", "launch".
CallKind kind_of_call(std::string_view name);

class Builder {
 public:
  Builder(const std::string& file, bool strict);

  Capture& capture() { return capture_; }
  // Times in order: a negative duration becomes 0; false, and a repair, for what lies beyond 73 years of nothing.
  bool settle(Nanoseconds& start, Nanoseconds& duration, std::string_view where);

  std::uint32_t stream(std::string_view key);  // named so until `name_stream`
  void name_stream(std::string_view key, std::string_view name);
  std::uint32_t thread(std::int64_t process, std::int64_t id);  // threads are the host's: the id alone is the key
  std::uint32_t group(std::string_view name);

  std::uint32_t add(const Task& task);  // its place among the operations
  void add(const Communication& operation);
  void add_call(Nanoseconds start, Nanoseconds duration, std::string_view name, std::uint32_t thread,
                std::uint64_t connection);
  std::uint32_t add_host_op(const HostOp& op);
  // A kernel's row in a table of its own: joined by name and start.
  void describe(Nanoseconds start, const KernelDetail& detail);
  // The operator, by thread and time, that a device operation starting at `device_start` was called in.
  void call_from(Nanoseconds device_start, std::uint32_t thread, Nanoseconds at);
  // Both ends of a launch, which share an id: the moment on a thread, and the start on a stream of the device. They
  // serve where the calls of CANN are not in the file (level 0).
  void launch_begin(const std::string& id, Nanoseconds at, std::uint32_t thread);
  void launch_end(const std::string& id, Nanoseconds at, std::uint32_t stream);
  // Both ends of a hand-over (a queue, forward to backward) share an id.
  void hand_off_begin(const std::string& id, Nanoseconds at, std::uint32_t thread);
  void hand_off_end(const std::string& id, Nanoseconds at, std::uint32_t thread);
  // "Transit Time" of an operation, and the group it belongs to as the file names it elsewhere.
  void set_transfer(std::string_view operation, Nanoseconds transfer, std::string_view group);
  // Ranks that the group of that name (as in `set_transfer`) is seen to join.
  void add_member(std::string_view group, std::int64_t rank);

  // Edges, details and members; the builder is empty afterwards.
  Capture finish();

 private:
  struct Ends {
    Nanoseconds from = 0;
    Nanoseconds to = 0;
    std::uint32_t from_thread = nothing;
    std::uint32_t to_thread = nothing;
  };
  struct Launch {
    Nanoseconds from = 0;
    Nanoseconds to = 0;
    std::uint32_t thread = nothing;
    std::uint32_t stream = nothing;
  };
  struct CallFrom {
    std::uint32_t thread = 0;
    Nanoseconds at = 0;
  };
  void mark_parts();
  void place_communications();
  void match_events();
  void add_launches();
  void match_details();
  void match_host_ops();
  void settle_groups();

  Capture capture_;
  std::map<std::string, std::uint32_t, std::less<>> streams_;
  std::unordered_map<std::int64_t, std::uint32_t> threads_;
  std::map<std::string, std::uint32_t, std::less<>> groups_;
  std::vector<std::uint32_t> communications_;  // places among the operations
  std::vector<std::uint32_t> records_;         // EVENT_RECORD, EVENT_WAIT
  std::vector<std::uint32_t> waits_;
  std::vector<bool> is_part_;  // a task of a communication
  struct Row {
    Nanoseconds start = 0;
    TextId name = nothing;
    DeviceOpDetail detail;
  };
  std::vector<Row> rows_;
  std::unordered_map<Nanoseconds, CallFrom> called_from_;  // by the start on the device
  std::unordered_map<std::string, Ends> hand_offs_;
  std::unordered_map<std::string, Launch> launches_;
  struct Transfer {
    Nanoseconds transfer = -1;
    std::string group;
  };
  std::map<std::string, Transfer, std::less<>> transfers_;                 // by operation
  std::map<std::string, std::vector<std::int64_t>, std::less<>> members_;  // by the other name of a group
};

}  // namespace warploom::ascend
