// SPDX-License-Identifier: Apache-2.0
// A program and its timeline written by hand, row by row, for tests of what reads a timeline.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/play/timeline.hpp"
#include "sim/work/program.hpp"

namespace warploom::testing {

// What the executor would have recorded of a row. Left out: ready = begin, alone = the duration, released by nothing.
struct Ran {
  Time begin;
  Time end;
  std::optional<Time> ready = {};
  Release release = Release::start;
  RowId by = none;
  std::optional<Time> alone = {};
};

class HandTimeline {
 public:
  explicit HandTimeline(std::uint32_t roles, std::int64_t devices_per_role = 1) {
    for (std::uint32_t role = 0; role < roles; ++role) {
      Role added;
      added.name = "role" + std::to_string(role);
      added.ranks = {RankBox{static_cast<Rank>(role) * devices_per_role, {{devices_per_role, 1}}}};
      program.add_role(std::move(added));
      for (const auto kind : {StreamKind::compute, StreamKind::communication, StreamKind::copy, StreamKind::host}) {
        program.add_stream({role, kind, "stream" + std::to_string(static_cast<int>(kind))});
      }
    }
    group = program.add_group({RankBox{0, {{2, 1}}}, {RankBox{}}});
  }

  Operation operation(RoleId role, StreamKind stream, OperationKind kind, Cause cause) const {
    Operation made;
    made.kind = kind;
    made.stream = role * 4 + static_cast<StreamId>(stream);
    made.cause = cause;
    return made;
  }
  RowId kernel(RoleId role, Ran ran, Cause cause = Cause::gemm, Phase phase = Phase::forward) {
    auto made = operation(role, StreamKind::compute, OperationKind::compute, cause);
    made.phase = phase;
    return add(made, ran);
  }
  RowId copy(RoleId role, Ran ran) {
    return add(operation(role, StreamKind::copy, OperationKind::copy, Cause::copy), ran);
  }
  RowId host(RoleId role, Ran ran, Cause cause = Cause::host) {
    return add(operation(role, StreamKind::host, OperationKind::host, cause), ran);
  }
  RowId meet(RoleId role, OperationKind kind, Cause cause, Ran ran, MeetingId meeting, Phase phase = Phase::forward) {
    auto made = operation(role, StreamKind::communication, kind, cause);
    made.meeting = meeting;
    made.phase = phase;
    return add(made, ran);
  }
  MeetingId meeting(std::uint32_t parties, CollectiveKind kind = CollectiveKind::all_reduce,
                    Bytes bytes = Bytes(1000)) {
    return program.add_meeting(program.add_call({kind, bytes, DataType::bf16, group}), parties);
  }

  RowId add(const Operation& made, const Ran& ran, const std::vector<RowId>& after = {},
            const std::vector<MemoryDelta>& memory = {}) {
    const RowId row = program.add(made, after, memory);
    timeline.begin.push_back(ran.begin);
    timeline.end.push_back(ran.end);
    timeline.ready.push_back(ran.ready.value_or(ran.begin));
    timeline.alone.push_back(ran.alone.value_or(ran.end - ran.begin));
    timeline.release.push_back(ran.release);
    timeline.released_by.push_back(ran.by);
    timeline.last_party.push_back(row);
    timeline.makespan = std::max(timeline.makespan, ran.end);
    timeline.plans.resize(program.calls.size());
    return row;
  }

  Program program;
  Timeline timeline;
  GroupId group = 0;
};

}  // namespace warploom::testing
