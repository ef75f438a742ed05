// SPDX-License-Identifier: Apache-2.0
// Collectives that cannot have been as they were recorded: none is passed over, each is named among the repairs.
//
// What is found at fault keeps its recorded time in every prediction (MatchedCollective::is_doubtful). Repairs, each
// counted by communication operation of the capture that it stands in:
//   bad_rank                  a rank that is no whole number, below zero or not below the world's size, or a size of
//                             the world that is no whole number above zero: taken as not recorded
//   impossible_element_count  fewer than no elements, or more than 2^50 bytes
//   unknown_element_type      a type that no reader knows the size of
//   repeated_rank_in_group    a group that names a rank twice: its list is not used
//   group_size_mismatch       a group of another size than its list: the list is not used
//   rank_outside_world        a group with ranks below zero or not below the world's size: the list is not used
//   rank_outside_group        a rank that calls a collective of a group that it is not in
//   disagreeing_collective    members that differ in operation, type or size
//   unmatched_collective      other members of its group are captured, and none of them calls it
#pragma once

#include <string_view>
#include <vector>

#include "traces/capture.hpp"
#include "traces/matching.hpp"

namespace warploom {

// For readers: `what` is the rank or size as it stands in the file. Throws UserError where the capture is read
// strictly.
void note_bad_rank(Capture& capture, std::string_view what);

// Before captures are told apart by their ranks. Throws UserError where the capture is read strictly.
void check_ranks(std::vector<Capture>& captures);

// Of matched captures; takes lists of ranks that cannot be from their groups. Throws UserError where a capture is read
// strictly.
void check_collectives(std::vector<Capture>& captures, Matching& matching);

}  // namespace warploom
