// SPDX-License-Identifier: Apache-2.0
// Protocol by protocol.
#include "network/collectives/cost.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "network/fabrics/flows.hpp"

namespace warploom {

namespace {

struct Estimate {
  Time latency;
  Bytes wire_bytes{0};
  Bandwidth limit{0};  // on the wire
  Time total() const { return latency + wire_bytes / limit; }
};

Estimate estimate(const Call& call, const Movement& movement, const GroupProfile& profile, const Topology& topology,
                  const ProtocolSpec& protocol) {
  Estimate result;
  const std::int64_t inter = std::min(movement.passes * (profile.nodes - 1), movement.steps);
  result.latency = protocol.base + protocol.hop * (movement.steps - inter) + protocol.network_hop * inter;
  if (is_coupled(movement.pattern)) {
    // The ring's hops between nodes but the last, once a pass.
    if (profile.nodes > 1) {
      result.latency += profile.path_latency * (static_cast<double>(inter) / static_cast<double>(profile.nodes));
    }
  } else {
    result.latency += profile.path_latency;
  }
  const double size = static_cast<double>(call.bytes.count());
  result.latency += protocol.ramp * (size / (size + static_cast<double>(protocol.ramp_bytes.count())));

  const auto tiers = topology.tiers();
  const Bandwidth port = tiers[0].payload() * protocol.efficiency;
  Bandwidth payload = port / movement.flows_at_once;
  if (!profile.in_node()) {
    const Bandwidth card = tiers[1].payload() * protocol.network_efficiency;
    const auto in_node = static_cast<double>(profile.least_in_node);
    if (!is_coupled(movement.pattern)) {
      payload = card / std::max<std::int64_t>(movement.flows_at_once + 1 - profile.least_in_node, 1);
    } else {
      payload = card * in_node;
      if (in_node > 1) payload = std::min(payload, port / ((in_node - 1) / in_node));
    }
  }
  result.limit = payload * protocol.wire_bytes;
  result.wire_bytes = movement.flow_bytes * protocol.wire_bytes;
  return result;
}

// NCCL 2.30.7, src/enqueue.cc: channels are dropped while a thread would get less than its least bytes.
int channels_for(const Call& call, int most, const ProtocolSpec& protocol, const LibrarySpec& library) {
  const std::int64_t worth =
      call.bytes.count() / (static_cast<std::int64_t>(library.threads) * protocol.bytes_per_thread);
  return static_cast<int>(std::clamp<std::int64_t>(worth, 1, most));
}

}  // namespace

Plan cheapest_plan(const Call& call, const Group& group, const Movement& movement, const Topology& topology,
                   const LibrarySpec& library, std::string algorithm) {
  Plan plan;
  plan.algorithm = std::move(algorithm);
  plan.protocol = "none";
  const GroupProfile profile = profile_of(movement.pattern, group, topology);
  plan.members_alike = profile.alike;
  if (profile.members == 1) return plan;
  struct Option {
    const char* name;
    const ProtocolSpec* protocol;
    Estimate estimate;
  };
  std::array<Option, 3> options{
      {{"ll", &library.ll, {}}, {"ll128", &library.ll128, {}}, {"simple", &library.simple, {}}}};
  for (auto& option : options) option.estimate = estimate(call, movement, profile, topology, *option.protocol);
  const auto& best =
      *std::ranges::min_element(options, {}, [](const Option& option) { return option.estimate.total(); });
  plan.protocol = best.name;
  const int ring_channels = profile.in_node() ? library.node_channels : library.network_channels;
  plan.sms =
      channels_for(call, is_coupled(movement.pattern) ? ring_channels : library.peer_channels, *best.protocol, library);
  plan.hbm_bytes_per_wire_byte = movement.hbm_bytes * static_cast<double>(movement.flows_at_once);
  Bundle bundle;
  bundle.traffic = {movement.pattern, call.group};
  bundle.coupled = is_coupled(movement.pattern);
  bundle.bytes_per_flow = best.estimate.wire_bytes;
  bundle.flow_limit = best.estimate.limit;
  plan.steps.push_back({best.estimate.latency, {bundle}});
  return plan;
}

}  // namespace warploom
