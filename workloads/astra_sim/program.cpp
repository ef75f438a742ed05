// SPDX-License-Identifier: Apache-2.0
// Rows, streams, meetings and groups of the program.
#include "workloads/astra_sim/program.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

Time nanoseconds(std::int64_t ns) {
  // 106 days of picoseconds.
  if (ns > std::int64_t{9'000'000'000'000'000}) {
    throw UserError(fmt::format("a node of {} ns: longer than 104 days", ns), "check its duration");
  }
  return Time::picoseconds(ns * 1000);
}

}  // namespace

// ---- The program --------------------------------------------------------------------------------------------------

namespace {

using Kind = AstraTask::Kind;

class Writer {
 public:
  Writer(const AstraTasks& tasks, const AstraNetwork& network, bool rendezvous)
      : tasks_(tasks), network_(network), rendezvous_(rendezvous) {
    made_.row_of.assign(tasks.tasks.size(), none);
    meetings_.assign(tasks.meetings.size(), none);
    messages_.assign(tasks.messages.size(), none);
    last_of_shared_.assign(tasks.lanes.size(), none);
    groups_.assign(tasks.members.size(), none);
    for (std::size_t rank = 0; rank < tasks.ranks; ++rank) {
      Role role;
      role.name = fmt::format("rank {}", rank);
      role.ranks = {RankBox{static_cast<Rank>(rank), {}}};
      made_.program.add_role(std::move(role));
    }
  }

  AstraProgram write(const std::vector<AstraTaskId>& order) {
    made_.program.reserve(order.size());
    for (const auto task : order) add(task);
    return std::move(made_);
  }

 private:
  void add(AstraTaskId id) {
    const AstraTask& task = tasks_.tasks[id];
    before_.clear();
    for (std::uint64_t i = tasks_.before_begin[id]; i < tasks_.before_begin[id + 1]; ++i) {
      before_.push_back(made_.row_of[tasks_.before[i]]);
    }
    Operation row;
    row.name = made_.program.add_name(tasks_.names[task.name]);
    row.stream = stream_of(task);
    fill(task, row);
    const bool is_shared = task.lane != nothing && tasks_.lanes[task.lane].is_shared;
    if (is_shared && last_of_shared_[task.lane] != none) before_.push_back(last_of_shared_[task.lane]);
    made_.row_of[id] = made_.program.add(row, before_);
    if (is_shared) last_of_shared_[task.lane] = made_.row_of[id];
  }

  void fill(const AstraTask& task, Operation& row) {
    // Rows without a kernel take their duration, whatever runs beside them.
    const auto timed = [&](OperationKind kind, Cause cause) {
      row.kind = kind;
      row.cause = cause;
      row.duration = nanoseconds(task.duration_ns);
    };
    switch (task.kind) {
      case Kind::marker:
        row.kind = OperationKind::marker;
        return;
      case Kind::compute:
        return timed(OperationKind::compute, Cause::other_compute);
      case Kind::host:
        return timed(OperationKind::think, Cause::host);
      case Kind::memory:
        return timed(OperationKind::copy, Cause::copy);
      case Kind::timed_comm:
        row.kind = OperationKind::collective;
        row.cause = Cause::exposed_other;
        row.meeting = made_.program.add_recorded_meeting(nanoseconds(task.duration_ns), 1);
        return;
      case Kind::collective:
        row.kind = OperationKind::collective;
        row.cause = Cause::exposed_other;
        row.meeting = meeting_of(task.meeting);
        return;
      case Kind::send:
        row.kind = OperationKind::send;
        row.cause = Cause::exposed_pp;
        row.meeting = message_of(task.meeting);
        return;
      case Kind::receive:
        row.cause = Cause::exposed_pp;
        row.kind = rendezvous_ ? OperationKind::recv : OperationKind::marker;
        if (rendezvous_) {
          row.meeting = message_of(task.meeting);
        } else {
          before_.push_back(made_.row_of[tasks_.messages[task.meeting].send]);
        }
        return;
    }
  }

  StreamId stream_of(const AstraTask& task) {
    // Markers run when they can: a stream of their own would hold them back.
    const std::string name = task.lane == nothing ? fmt::format("{}", free_++) : tasks_.lanes[task.lane].name;
    const auto [place, is_new] = streams_.try_emplace({task.rank, task.lane == nothing ? "" : name}, none);
    if (task.lane != nothing && !is_new) return place->second;
    StreamKind kind = StreamKind::communication;
    if (task.lane != nothing) {
      const Kind of_lane = tasks_.lanes[task.lane].kind;
      if (of_lane == Kind::compute) kind = StreamKind::compute;
      if (of_lane == Kind::host) kind = StreamKind::host;
      if (of_lane == Kind::memory) kind = StreamKind::copy;
    }
    const StreamId id = made_.program.add_stream({task.rank, kind, task.lane == nothing ? "nodes without time" : name});
    if (task.lane != nothing) place->second = id;
    return id;
  }

  GroupId add_group(Group group, std::uint32_t members) {
    made_.members_of_group.push_back(members);
    return made_.program.add_group(std::move(group));
  }

  GroupId group_of(std::uint32_t id) {
    if (groups_[id] != none) return groups_[id];
    const AstraMembers& members = tasks_.members[id];
    Group group;
    if (members.digits.empty()) {  // no box: the whole network, and pairs of its ranks
      group.members.digits = {{network_.npus(), 1}};
      group.instances = {RankBox{}};
    } else {
      for (const auto& digit : members.digits) group.members.digits.push_back({digit.count, digit.stride});
      group.instances = {RankBox{members.ranks.front(), {}}};
    }
    return groups_[id] = add_group(std::move(group), id);
  }

  MeetingId meeting_of(std::uint32_t id) {
    if (meetings_[id] != none) return meetings_[id];
    const AstraMeeting& meeting = tasks_.meetings[id];
    Call call;
    call.kind = meeting.kind;
    call.bytes = Bytes(meeting.bytes);  // as ASTRA-sim counts it; AstraPlanner knows
    call.group = group_of(meeting.members);
    const CallId planned = made_.program.add_call(call);
    return meetings_[id] = made_.program.add_meeting(planned, static_cast<std::uint32_t>(meeting.parts.size()));
  }

  MeetingId message_of(std::uint32_t id) {
    if (messages_[id] != none) return messages_[id];
    const AstraMessage& message = tasks_.messages[id];
    const auto [place, is_new] = pairs_.try_emplace({message.from, message.to}, none);
    if (is_new) {
      place->second = add_group({RankBox{0, {{2, message.to - message.from}}}, {RankBox{message.from, {}}}}, nothing);
    }
    Call call;
    call.kind = CollectiveKind::send_recv;
    call.bytes = Bytes(message.bytes);
    call.group = place->second;
    return messages_[id] = made_.program.add_meeting(made_.program.add_call(call), rendezvous_ ? 2 : 1);
  }

  const AstraTasks& tasks_;
  const AstraNetwork& network_;
  bool rendezvous_;
  AstraProgram made_;
  std::vector<MeetingId> meetings_;
  std::vector<MeetingId> messages_;
  std::vector<GroupId> groups_;
  std::vector<RowId> last_of_shared_;
  std::vector<RowId> before_;
  std::map<std::pair<std::uint32_t, std::string>, StreamId> streams_;
  std::map<std::pair<Rank, Rank>, GroupId> pairs_;
  std::size_t free_ = 0;
};

std::optional<AstraCollective> by_dimension(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return AstraCollective::all_reduce;
    case CollectiveKind::all_gather:
      return AstraCollective::all_gather;
    case CollectiveKind::reduce_scatter:
      return AstraCollective::reduce_scatter;
    case CollectiveKind::all_to_all:
      return AstraCollective::all_to_all;
    default:
      return std::nullopt;
  }
}

}  // namespace

AstraProgram astra_program(const AstraTasks& tasks, const std::vector<AstraTaskId>& order, const AstraNetwork& network,
                           bool rendezvous) {
  return Writer(tasks, network, rendezvous).write(order);
}

Plan AstraPlanner::plan(const Call& call, const Group& group) const {
  const std::uint32_t id = program_.members_of_group[call.group];
  const std::int64_t bytes = call.bytes.count();
  if (id == nothing) {
    const Rank from = group.instances.front().base;
    return collectives_.send_plan(bytes, group.rank(from, 0), group.rank(from, 1), call.group);
  }
  const AstraMembers& members = tasks_.members[id];
  if (const auto kind = by_dimension(call.kind)) return collectives_.plan(*kind, bytes, members, call.group);
  return collectives_.rooted_plan(call.kind, bytes, members, call.group);
}

std::int64_t astra_nanoseconds(const AstraTasks& tasks, const AstraMeeting& meeting,
                               const AstraCollectives& collectives) {
  const AstraMembers& members = tasks.members[meeting.members];
  if (const auto kind = by_dimension(meeting.kind)) return collectives.nanoseconds(*kind, meeting.bytes, members);
  return collectives.nanoseconds(AstraCollective::all_gather,
                                 meeting.bytes / static_cast<std::int64_t>(members.ranks.size()), members);
}

}  // namespace warploom
