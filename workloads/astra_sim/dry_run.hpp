// SPDX-License-Identifier: Apache-2.0
// An order in which all tasks of all ranks can begin, by a run with communication at its closed forms and nothing
// shared: the program's streams then hold an order that some run has, so that ranks never wait for each other in a
// circle because of it.
//
// Lanes take the ready task of the lowest order (node id, as ASTRA-sim issues them); a group's collectives go one at a
// time, by the scheduling policy among those that all members have reached (FIFO: reached first; LIFO: last; EXPLICIT:
// the highest comm_priority). What can never begin is an error that says for every rank what it waits for.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/astra_sim/tasks.hpp"

namespace warploom {

struct AstraDurations {
  std::vector<std::int64_t> meetings;  // ns
  std::vector<std::int64_t> messages;
};

// Tasks by the moment at which they begin; parts of a meeting stand together.
std::vector<AstraTaskId> astra_order(const AstraTasks& tasks, const AstraDurations& durations, AstraPolicy policy,
                                     bool rendezvous);

}  // namespace warploom
