// SPDX-License-Identifier: Apache-2.0
// Who meets whom in a program: communicators of roles, and the meetings that their rows share.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/work/program.hpp"
#include "workloads/fold.hpp"

namespace warploom {

// The collectives of one kind of group (tensor, data, ...). Every role makes the same calls in the same order, so that
// the n-th call of one role meets the n-th of the others.
class GroupMeetings {
 public:
  GroupMeetings(Program& program, const Fold& fold, std::vector<Fold::Communicator> communicators);

  // False where the groups have one member: nothing to do.
  bool has_members() const { return has_members_; }
  CallId call(RoleId role, const Call& call_without_group);
  MeetingId next(RoleId role, CallId call);

 private:
  struct Shared {
    GroupId group = 0;
    std::uint32_t parties = 1;
    std::vector<MeetingId> meetings;  // only with several parties
  };
  struct Member {
    std::uint32_t communicator = 0;
    std::uint32_t calls = 0;
  };
  Program& program_;
  bool has_members_ = false;
  std::vector<Shared> shared_;
  std::vector<Member> members_;  // by role
};

// The messages between two stages in one direction, each named by its sender's micro-batch and chunk.
class PairMeetings {
 public:
  PairMeetings(Program& program, const Fold& fold, std::int64_t from, std::int64_t to, Call message,
               std::size_t messages);

  // The same for sender and receiver.
  MeetingId of(RoleId role, std::size_t message);

 private:
  struct Shared {
    CallId call = 0;
    std::vector<MeetingId> meetings;
  };
  Program& program_;
  std::vector<Shared> shared_;
  std::vector<std::uint32_t> communicator_of_;  // by role; `none` elsewhere
};

}  // namespace warploom
