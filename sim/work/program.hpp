// SPDX-License-Identifier: Apache-2.0
// What runs: operations on streams of roles, what each waits for, what memory it takes and gives back, what it is
// worth.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/work/call.hpp"
#include "sim/work/cause.hpp"
#include "sim/work/column.hpp"
#include "sim/work/group.hpp"
#include "sim/work/kernel.hpp"

namespace warploom {

using RowId = std::uint32_t;
using RoleId = std::uint32_t;
using StreamId = std::uint32_t;
using KernelId = std::uint32_t;
using CallId = std::uint32_t;
using MeetingId = std::uint32_t;
using NameId = std::uint32_t;
inline constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

enum class OperationKind : std::uint8_t {
  compute,     // a kernel
  collective,  // a meeting of all members
  send,        // a meeting of two
  recv,
  copy,    // a kernel on a copy engine: takes HBM bandwidth, no SM
  host,    // work of the host thread; it waits for its dependencies (a synchronisation) and delays later launches
  fused,   // a kernel and a meeting that progress together and end together
  marker,  // no time
  think,   // recorded time of a host thread: it runs on its stream as recorded, whatever the role's host does
};

enum class Phase : std::uint8_t { forward, backward, optimizer, other };
enum class MemoryPart : std::uint8_t { weights, gradients, optimizer, activations, buffers, other };
inline constexpr std::array<std::string_view, 6> memory_part_names = {"weights",     "gradients", "optimizer",
                                                                      "activations", "buffers",   "other"};
inline constexpr std::array<std::string_view, 4> phase_names = {"forward", "backward", "optimizer", "other"};
constexpr std::string_view name(Phase phase) { return phase_names[static_cast<std::size_t>(phase)]; }

// Memory taken (positive) or given back (negative) when a row starts or ends.
struct MemoryDelta {
  MemoryPart part = MemoryPart::activations;
  bool at_end = false;
  std::int64_t bytes = 0;
};

// All devices that do exactly the same.
struct Role {
  std::string name;
  std::vector<RankBox> ranks;  // the devices it stands for
  std::uint32_t device_class = 0;
  double slow_down = 1.0;      // every kernel takes this much longer (a straggler)
  Time launch = Time::zero();  // host time to launch one operation
  std::array<std::int64_t, memory_part_names.size()> resident_bytes{};  // held from the start

  std::int64_t device_count() const {
    std::int64_t sum = 0;
    for (const auto& box : ranks) sum += box.size();
    return sum;
  }
};

enum class StreamKind : std::uint8_t { compute, communication, copy, host };
struct Stream {
  RoleId role = 0;
  StreamKind kind = StreamKind::compute;
  std::string name;
};

// What a row says of itself; `add` copies it into the columns.
struct Operation {
  OperationKind kind = OperationKind::compute;
  StreamId stream = 0;
  Cause cause = Cause::other_compute;  // what its time (communication: its exposed time) is charged to
  Phase phase = Phase::other;
  NameId name = none;
  KernelId kernel = none;
  MeetingId meeting = none;
  Time duration = Time::zero();   // host and think rows; compute and copy rows without a kernel, as recorded
  Time queue_lag = Time::zero();  // to the end of the row before on its stream
  std::int32_t layer = -1;
  std::int32_t micro_batch = -1;
  // A collective that spans pipeline stages: waiting for its last member is `bubble`, not `skew`.
  bool spans_pipeline = false;
};

// What one step is worth, over all devices.
struct Worth {
  double tokens = 0;
  double samples = 0;
  Flops model_flops{0};     // under `flop_convention`
  Flops hardware_flops{0};  // with recomputation
  std::string flop_convention;
};

// Struct of arrays, one row an operation. Rows of a stream run in the order of their addition, and the host of a role
// launches its rows in that order. Dependencies may only name earlier rows.
class Program {
 public:
  RoleId add_role(Role role);
  StreamId add_stream(Stream stream);
  NameId add_name(std::string_view text);     // same text, same id
  KernelId add_kernel(const Kernel& kernel);  // same kernel, same id
  GroupId add_group(Group group);
  CallId add_call(const Call& call);  // same call, same id
  // A place where `parties` rows meet to perform `call`; it begins when the last is ready. `stretch`: how many times as
  // long as planned it takes on an idle network, above 0 (a measured one that is known to be slower than its plan).
  MeetingId add_meeting(CallId call, std::uint32_t parties, double stretch = 1);
  // One that takes as long as was recorded, whatever the network is.
  MeetingId add_recorded_meeting(Time duration, std::uint32_t parties);
  // `lags`: empty, or for each of `depends_on` how long after its end the row may begin at the earliest.
  RowId add(const Operation& operation, std::span<const RowId> depends_on = {},
            std::span<const MemoryDelta> memory = {}, std::span<const Time> lags = {});
  void reserve(std::size_t rows, std::size_t dependencies = 0);

  std::size_t size() const { return kind.size(); }
  RoleId role_of(RowId row) const { return streams[stream[row]].role; }
  std::span<const RowId> dependencies(RowId row) const {
    return std::span(dependency).subspan(dependency_begin[row], dependency_begin[row + 1] - dependency_begin[row]);
  }
  std::span<const MemoryDelta> memory_deltas(RowId row) const {
    if (row + std::size_t{1} >= memory_begin.size()) return {};
    return std::span(memory).subspan(memory_begin[row], memory_begin[row + 1] - memory_begin[row]);
  }
  // Of the i-th dependency of a row.
  Time dependency_lag(RowId row, std::size_t i) const { return dependency_lags[dependency_begin[row] + i]; }
  Time queue_lag(RowId row) const { return queue_lags[row]; }
  bool has_lags() const { return !dependency_lags.has_only_usual() || !queue_lags.has_only_usual(); }
  std::int64_t device_count() const;

  // Columns.
  std::vector<OperationKind> kind;
  std::vector<StreamId> stream;
  std::vector<Cause> cause;
  std::vector<Phase> phase;
  std::vector<NameId> row_name;
  Column<KernelId> kernel{none};
  std::vector<MeetingId> meeting;
  std::vector<Time> duration;
  Column<std::int32_t> layer{-1};
  Column<std::int32_t> micro_batch{-1};
  Column<bool> spans_pipeline{false};
  std::vector<std::uint64_t> dependency_begin = {0};  // CSR
  std::vector<RowId> dependency;
  Column<Time> dependency_lags{Time::zero()};     // one a dependency
  Column<Time> queue_lags{Time::zero()};          // one a row
  std::vector<std::uint64_t> memory_begin = {0};  // CSR, up to the last row that takes or gives any
  std::vector<MemoryDelta> memory;

  // What the columns refer to.
  struct Meeting {
    CallId call = 0;  // `none`: recorded
    std::uint32_t parties = 1;
    Time duration = Time::zero();  // recorded ones
    double stretch = 1;            // of the plan's latencies and bytes
  };
  std::vector<Role> roles;
  std::vector<Stream> streams;
  std::vector<std::string> names;
  std::vector<Kernel> kernels;
  std::vector<Group> groups;
  std::vector<Call> calls;
  std::vector<Meeting> meetings;
  Worth worth;

 private:
  std::unordered_map<std::string, NameId> name_ids_;
  std::unordered_map<Kernel, KernelId, KernelHash> kernel_ids_;
  std::unordered_map<std::uint64_t, std::vector<CallId>> call_ids_;
};

}  // namespace warploom
