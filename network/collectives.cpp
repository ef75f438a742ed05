// SPDX-License-Identifier: Apache-2.0
// The list of collective algorithms: one file and one line each.
#include "network/collectives.hpp"

#include <algorithm>
#include <utility>

#include "network/collectives/direct_all_to_all.hpp"
#include "network/collectives/ring_all_gather.hpp"
#include "network/collectives/ring_all_reduce.hpp"
#include "network/collectives/ring_broadcast.hpp"
#include "network/collectives/ring_reduce_scatter.hpp"
#include "network/collectives/send_recv.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

CollectiveRegistry collective_registry() {
  CollectiveRegistry r;
  r.add<RingAllReduce>("ring_all_reduce", "reduce-scatter and all-gather around one ring");
  r.add<RingAllGather>("ring_all_gather", "every rank's part once around the ring");
  r.add<RingReduceScatter>("ring_reduce_scatter", "every part once around the ring, reduced on the way");
  r.add<RingBroadcast>("ring_broadcast", "pieces down a chain from member 0");
  r.add<SendRecv>("send_recv", "one message from member 0 to member 1");
  r.add<DirectAllToAll>("direct_all_to_all", "every rank sends to every other, all at once");
  return r;
}

Planner::Planner(std::shared_ptr<const Topology> topology, LibrarySpec library)
    : topology_(std::move(topology)), library_(std::move(library)) {
  const CollectiveRegistry registry = collective_registry();
  for (const auto& name : registry.names()) algorithms_.push_back(registry.make_named(name));
}

Plan Planner::plan(const Call& call, const Group& group) const {
  const auto found = std::ranges::find(algorithms_, call.kind, [](const auto& algorithm) { return algorithm->kind(); });
  WARPLOOM_CHECK(found != algorithms_.end(), "no algorithm for {}", name(call.kind));
  if (call.bytes < Bytes::zero()) throw UserError("a call of a negative number of bytes");
  return (*found)->plan(call, group, *topology_, library_);
}

}  // namespace warploom
