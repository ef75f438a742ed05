// SPDX-License-Identifier: Apache-2.0
// Where the time of every role went: each picosecond of [0, makespan) belongs to one cause, so they add up exactly.
//
// 1. A kernel (compute or fused row) owns its time; where kernels of a role overlap, the earliest begun owns (ties: the
//    earlier row). Its time alone on the device goes to the row's cause, the rest of its duration to `interference` (of
//    a partly hidden kernel: in proportion). So communication under a kernel costs nothing here but interference.
// 2. Where no kernel runs, a running copy row owns, in the same way.
// 3. A gap that is left ends where a kernel K begins. Walk backwards through what made K begin (Timeline::release):
//    - a communication row C of this role released K: inside [C.begin, C.end) it is C's cause (exposed_tp, ...). From
//      C.ready, when this role came, to C.begin, when the last party came, it is `host` if that party was late because
//      of its host (Release::host), else `bubble` if C is a send or recv or spans the pipeline, else `skew`;
//    - the host launched a row late (Release::host, or a think row did): `host` back to the end of the host row before,
//      and
//    - host rows themselves (data loading, a checkpoint, a synchronisation) charge their own cause;
//    - a row of another role released K without communication: `bubble` if the program spans a pipeline, else `skew`,
//      back to where K's own role was ready.
//    Then the same for what released that row, until the gap is explained.
// 4. After its last kernel a role is explained by the same walk from the row of the role that ends last; after that row
//    it is `bubble` if the program spans a pipeline (any send, recv or row that says so), else `idle`.
// 5. What no rule explains is `idle`, lags between kernels among it.
#pragma once

#include <array>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/play/timeline.hpp"
#include "sim/work/cause.hpp"
#include "sim/work/program.hpp"

namespace warploom {

// Picoseconds of one device by cause; they add up to the makespan.
using Breakdown = std::array<Time, cause_count>;

struct RoleTime {
  Breakdown by_cause{};
  // Forward and backward work: kernels of those phases, interference included, and their exposed tp, cp and ep
  // communication. The ideal step of the pipeline papers: bubble / this = (p - 1) / m for 1F1B.
  Time forward_backward = Time::zero();
};

// One entry a role. Near linear in rows and dependencies.
std::vector<RoleTime> break_down(const Program& program, const Timeline& timeline);

}  // namespace warploom
