// SPDX-License-Identifier: Apache-2.0
// Which communication operations of several ranks are one collective, and how the ranks' clocks stand to each other.
//
// A collective's kernel runs from its rank's arrival to the common end: what it takes by itself is the least duration
// of all members (the last to arrive waits for nobody). Where members are missing that least is an upper bound. Members
// are matched by (ranks of the group, sequence number) where the capture has both, else by their order within the
// group, and where no group is recorded by their order within the n-th communication stream; the name must agree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/capture.hpp"

namespace warploom {

struct CollectiveMember {
  std::uint32_t capture = 0;
  std::uint32_t op = 0;
};

struct MatchedCollective {
  // Of different captures, by capture; one alone where no partner was found.
  std::vector<CollectiveMember> members;
  Nanoseconds transfer = 0;   // the least duration
  bool is_complete = false;   // every rank of its group is among the captures
  bool synchronises = false;  // all end together: all-reduce, all-gather, reduce-scatter, all-to-all, barrier
  bool is_left_over = false;  // alone, although other members of its group are captured
  // What was recorded of it is impossible or its members contradict each other: only its time is believed.
  bool is_doubtful = false;
};

struct Matching {
  std::vector<MatchedCollective> collectives;  // in order of the first member's start
  // By capture and operation: in `collectives`; `nothing`: no communication.
  std::vector<std::vector<std::uint32_t>> of_op;
  std::int64_t matched = 0;             // of `collectives`, those of two members or more
  std::vector<std::string> mismatches;  // what did not fit, by group, place and rank; 20 at most
  std::int64_t unmatched = 0;           // communication operations without a partner
  // By capture: to be subtracted from its times for a common clock, the bases of the files included.
  std::vector<Nanoseconds> clock_offset;
  Nanoseconds clock_residual = 0;  // median distance of the members' ends after that
};

Matching match_collectives(const std::vector<Capture>& captures);

}  // namespace warploom
