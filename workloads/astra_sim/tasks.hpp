// SPDX-License-Identifier: Apache-2.0
// The nodes of all ranks' graphs as tasks of one run: durations known, groups found, sends met with receives,
// collectives of a group met across ranks, custom collectives put in their place.
//
// A collective's parts are found by group, kind, size and name: the k-th of each rank together where all members have
// the same number of each name, else the k-th of each kind and size. What cannot be met is an error that names group,
// ranks and node, before anything runs: ASTRA-sim would wait for ever.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/core/errors.hpp"
#include "sim/work/call.hpp"
#include "traces/execution_graph.hpp"
#include "workloads/astra_sim/collective.hpp"
#include "workloads/astra_sim/inputs.hpp"

namespace warploom {

using AstraTaskId = std::uint32_t;

struct AstraTask {
  enum class Kind : std::uint8_t { marker, compute, host, memory, timed_comm, collective, send, receive };
  Kind kind = Kind::marker;
  std::uint32_t rank = 0;
  std::uint32_t name = 0;           // in `names`
  std::uint32_t lane = nothing;     // in `lanes`; nothing: whenever it can
  std::uint32_t meeting = nothing;  // collective: in `meetings`; send, receive: in `messages`
  std::int64_t duration_ns = 0;     // compute, host, memory, timed_comm
  std::int64_t order = 0;           // among those of a lane that could run: the lowest first
  std::uint64_t node = 0;           // id in its file
};

// What runs one thing at a time: a stream of a rank, a thread, a memory. Shared ones belong to several ranks.
struct AstraLane {
  std::uint32_t rank = 0;
  std::string name;
  AstraTask::Kind kind = AstraTask::Kind::compute;
  bool is_exclusive = true;  // false: what runs on it is ordered by its dependencies
  bool is_shared = false;    // by ranks
};

struct AstraMeeting {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t bytes = 0;     // as ASTRA-sim counts it
  std::uint32_t members = 0;  // in `members`
  std::uint32_t priority = 0;
  std::vector<AstraTaskId> parts;  // one a member, in the order of the ranks
};

struct AstraMessage {
  AstraTaskId send = 0;
  AstraTaskId receive = 0;
  std::int64_t bytes = 0;
  Rank from = 0;
  Rank to = 0;
};

struct AstraTasks {
  std::vector<AstraTask> tasks;
  std::vector<std::uint64_t> before_begin = {0};  // CSR
  std::vector<AstraTaskId> before;
  std::vector<std::string> names;
  std::vector<AstraLane> lanes;
  std::vector<AstraMembers> members;
  std::vector<std::string> member_names;  // "group 5", "all ranks"
  std::vector<AstraMeeting> meetings;
  std::vector<AstraMessage> messages;
  std::size_t ranks = 0;
  std::vector<std::string> notes;              // what is worth saying, each with its count
  std::map<std::string, std::int64_t> counts;  // nodes by type
};

struct AstraRun {
  const AstraSystem& system;
  const AstraNetwork& network;
  const AstraMemory& memory;
  const AstraGroups& groups;
  double comm_scale = 1;
};

// `graphs` by rank. Throws UserError.
AstraTasks astra_tasks(const std::vector<ExecutionGraph>& graphs, const AstraRun& run);

}  // namespace warploom
