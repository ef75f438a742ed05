// SPDX-License-Identifier: Apache-2.0
// When every row of a program ran, and what let it begin: the executor writes it, the report reads it.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/play/ports.hpp"
#include "sim/work/program.hpp"

namespace warploom {

// What made a row begin when it did.
enum class Release : std::uint8_t {
  start,  // nothing: it begins with the run
  row,    // the end of `released_by` (a dependency or its predecessor on the stream)
  host,   // the host launched it only then; `released_by` is the host row before, or `none`
};

struct Timeline {
  // Columns, one value a row of the program.
  std::vector<Time> ready;  // this row itself could begin (dependencies, stream and host)
  std::vector<Time> begin;  // it began: for meetings when the last party was ready, else = ready
  std::vector<Time> end;
  std::vector<Time> alone;  // compute, copy: duration without sharing; host: its duration; meetings: end - begin
  std::vector<Release> release;
  std::vector<RowId> released_by;
  std::vector<RowId> last_party;  // meetings: the row whose readiness let it begin; others: the row itself

  Time makespan = Time::zero();
  bool members_alike = true;  // every fold was exact as far as the run could see
  std::uint64_t events = 0;
  FabricCounters fabric;
  std::vector<KernelCost> kernel_costs;  // by KernelId, for device class 0..: index = class * kernels + kernel
  std::vector<Plan> plans;               // by CallId
};

}  // namespace warploom
