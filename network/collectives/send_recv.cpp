// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of a message.
#include "network/collectives/send_recv.hpp"

#include <fmt/format.h>

#include "network/collectives/cost.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

Plan SendRecv::plan(const Call& call, const Group& group, const Topology& topology, const LibrarySpec& library) const {
  if (group.member_count() != 2) {
    throw UserError(fmt::format("a send needs a group of 2 members, this one has {}", group.member_count()));
  }
  Movement movement;
  movement.pattern = FlowPattern::pair;
  movement.flow_bytes = call.bytes;
  movement.steps = 1;
  movement.hbm_bytes = library.copy_hbm_bytes;
  return cheapest_plan(call, group, movement, topology, library, "direct");
}

Schedule SendRecv::schedule(int /*ranks*/) const { return {2, 1, {{0, 0, 1, 0, false}}}; }

}  // namespace warploom
