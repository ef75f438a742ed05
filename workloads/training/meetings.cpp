// SPDX-License-Identifier: Apache-2.0
// Meetings are made by whichever party comes first.
#include "workloads/training/meetings.hpp"

#include "sim/core/errors.hpp"

namespace warploom {

GroupMeetings::GroupMeetings(Program& program, const Fold& fold, std::vector<Fold::Communicator> communicators)
    : program_(program), members_(fold.roles().size(), Member{none, 0}) {
  for (auto& communicator : communicators) {
    if (communicator.group.member_count() < 2) continue;
    has_members_ = true;
    const auto id = static_cast<std::uint32_t>(shared_.size());
    for (const auto role : communicator.roles) members_[role].communicator = id;
    Shared shared;
    shared.group = program.add_group(std::move(communicator.group));
    shared.parties = static_cast<std::uint32_t>(communicator.roles.size());
    shared_.push_back(std::move(shared));
  }
}

CallId GroupMeetings::call(RoleId role, const Call& call_without_group) {
  Call call = call_without_group;
  call.group = shared_[members_[role].communicator].group;
  return program_.add_call(call);
}

MeetingId GroupMeetings::next(RoleId role, CallId call) {
  auto& member = members_[role];
  auto& shared = shared_[member.communicator];
  if (shared.parties == 1) return program_.add_meeting(call, 1);
  const std::uint32_t n = member.calls++;
  if (n == shared.meetings.size()) shared.meetings.push_back(program_.add_meeting(call, shared.parties));
  const MeetingId meeting = shared.meetings[n];
  WARPLOOM_CHECK(program_.meetings[meeting].call == call, "role {} makes another call than its peers", role);
  return meeting;
}

PairMeetings::PairMeetings(Program& program, const Fold& fold, std::int64_t from, std::int64_t to, Call message,
                           std::size_t messages)
    : program_(program), communicator_of_(fold.roles().size(), none) {
  for (auto& communicator : fold.between(from, to)) {
    const auto id = static_cast<std::uint32_t>(shared_.size());
    for (const auto role : communicator.roles) communicator_of_[role] = id;
    message.kind = CollectiveKind::send_recv;
    message.group = program.add_group(std::move(communicator.group));
    shared_.push_back({program.add_call(message), std::vector<MeetingId>(messages, none)});
  }
}

MeetingId PairMeetings::of(RoleId role, std::size_t message) {
  auto& shared = shared_[communicator_of_[role]];
  MeetingId& meeting = shared.meetings[message];
  if (meeting == none) meeting = program_.add_meeting(shared.call, 2);
  return meeting;
}

}  // namespace warploom
