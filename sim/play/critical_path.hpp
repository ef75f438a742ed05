// SPDX-License-Identifier: Apache-2.0
// The chain of rows that set the makespan: every part begins where the one before ends, from 0 to the last end.
//
// Walk backwards from the row that ends last. A row gives the part in which it ran: its time alone to its cause, what
// sharing added to `interference`. A meeting began because its last party was ready; so go on with what made that party
// ready: the end of another row, or its host's launch, which is a part of cause `host` back to the end of the host row
// before (or to the start).
#pragma once

#include <vector>

#include "sim/core/units.hpp"
#include "sim/play/timeline.hpp"
#include "sim/work/cause.hpp"
#include "sim/work/program.hpp"

namespace warploom {

// One link: [begin, end) spent on `row`.
struct PathPart {
  RowId row = 0;
  Cause cause = Cause::idle;
  Time begin;
  Time end;
};

// In order of time; parts without duration are left out. Throws InternalError if the timeline does not connect.
std::vector<PathPart> critical_path(const Program& program, const Timeline& timeline);

}  // namespace warploom
