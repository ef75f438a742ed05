// SPDX-License-Identifier: Apache-2.0
// Plans and schedules over rails.
#include "network/collectives/pxn.hpp"

#include <algorithm>

#include "network/collectives/channels.hpp"
#include "network/collectives/levels.hpp"
#include "network/collectives/pace.hpp"
#include "network/collectives/peer.hpp"
#include "network/collectives/rounds/round_algorithms.hpp"

namespace warploom {

namespace {

Bundle bundle_along(const Setting& setting, FlowPattern pattern, const Axis& axis, Bytes bytes, Bandwidth limit) {
  Bundle bundle = bundle_of(setting, pattern, bytes, limit);
  bundle.traffic.axis = axis;
  return bundle;
}

// Of one message that hops over NVLink first.
Time message_latency(const Setting& setting, Protocol chosen) {
  const ProtocolSpec& protocol = protocol_of(setting.library, chosen);
  const PeerProtocolSpec& spec = chosen == Protocol::ll ? setting.library.peer.ll : setting.library.peer.simple;
  return spec.base + protocol.hop + network_step(setting, protocol);
}

}  // namespace

bool PxnAllToAll::is_possible(const Setting& setting, Protocol protocol) const {
  return protocol != Protocol::ll128 && !levels_of(setting, 2).empty();
}

Plan PxnAllToAll::plan(const Setting& setting, Protocol chosen) const {
  const ProtocolSpec& protocol = protocol_of(setting.library, chosen);
  const PeerSpec& peer = setting.library.peer;
  const PeerProtocolSpec& spec = chosen == Protocol::ll ? peer.ll : peer.simple;
  const auto axes = levels_of(setting, 2);
  const std::int64_t in_node = axes[0].count;
  const std::int64_t nodes = axes[1].count;
  const Traffic rails{FlowPattern::all_pairs, setting.call.group, 0, axes[1], nullptr};
  const Bytes inside = setting.call.bytes * nodes / setting.ranks() * protocol.wire_bytes;
  const Bytes along = setting.call.bytes * in_node / setting.ranks() * protocol.wire_bytes;
  const Bandwidth port = setting.topology.port() * (spec.efficiency * protocol.wire_bytes) / (in_node - 1);
  const Bandwidth card = setting.topology.card() * (protocol.network_efficiency * protocol.wire_bytes) / (nodes - 1);
  Plan plan;
  plan.sms = static_cast<int>(
      channels_for(setting.call.bytes, std::min<std::int64_t>(peer.channels * setting.ranks(), 64), protocol, 1)
          .channels);
  plan.hbm_bytes_per_wire_byte = setting.library.copy_hbm_bytes * static_cast<double>(in_node - 1);
  plan.steps.push_back({message_latency(setting, chosen) + reach_of(rails, setting.group, setting.topology).latency,
                        {bundle_along(setting, FlowPattern::all_pairs, axes[0], inside, port),
                         bundle_along(setting, FlowPattern::all_pairs, axes[1], along, card)}});
  return plan;
}

Schedule PxnAllToAll::schedule(int ranks) const {
  const RoundAlgorithm& mesh = round_algorithm(LevelAlgorithm::mesh);
  std::vector<Level> levels;
  for (const Axis& axis : levels_for_proof(ranks, 2)) levels.push_back({axis, &mesh});
  return level_schedule(levels, kind(), ranks);
}

bool PxnSend::is_possible(const Setting& setting, Protocol protocol) const {
  return setting.ranks() == 2 && !setting.profile.in_node() && protocol != Protocol::ll128;
}

Plan PxnSend::plan(const Setting& setting, Protocol chosen) const {
  Plan plan = peer_plan(setting, chosen, {FlowPattern::rail_pair, setting.call.bytes, 1});
  plan.steps.front().latency += protocol_of(setting.library, chosen).hop;
  return plan;
}

Schedule PxnSend::schedule(int /*ranks*/) const { return {2, 1, {{0, 0, 1, 0, false}}}; }

}  // namespace warploom
