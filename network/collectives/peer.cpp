// SPDX-License-Identifier: Apache-2.0
// Messages under the protocol that their size decides.
#include "network/collectives/peer.hpp"

#include <algorithm>

#include "network/collectives/channels.hpp"
#include "network/collectives/pace.hpp"
#include "network/fabrics/flows.hpp"

namespace warploom {

namespace {

bool is_over_network(const Setting& setting) { return setting.library.peer.over_network && !setting.profile.in_node(); }

}  // namespace

Protocol peer_protocol(const Setting& setting, Bytes message) {
  const PeerSpec& peer = setting.library.peer;
  if (is_over_network(setting) && !peer.network_ll) return Protocol::simple;
  return message <= peer.ll_bytes ? Protocol::ll : Protocol::simple;
}

namespace {

constexpr double at_once = 8;  // messages that a channel works on together: NCCL_MAX_DEV_WORK_P2P_PER_BATCH

// NCCL's addP2pToPlan: a channel works on four messages at once before it gets more of one.
std::int64_t channels_of_message(const Setting& setting) {
  const PeerSpec& peer = setting.library.peer;
  const std::int64_t all = peer.channels;
  std::int64_t channels = is_over_network(setting) ? std::min(peer.channels, peer.network_channels) : all;
  while (channels > 1 && channels * setting.ranks() > 4 * all) channels /= 2;
  return channels;
}

// Payload of one of `together` messages that a device sends together: its threads and its port, and its card where they
// leave the node.
Bandwidth message_rate(const Setting& setting, Protocol chosen, const Messages& messages, std::int64_t together) {
  const PeerSpec& peer = setting.library.peer;
  const PeerProtocolSpec& spec = chosen == Protocol::ll ? peer.ll : peer.simple;
  const ProtocolSpec& protocol = protocol_of(setting.library, chosen);
  // One message has the port to itself, as a ring's step has.
  const bool is_alone = together == 1 && chosen == Protocol::simple;
  Bandwidth rate = setting.topology.port() * (is_alone ? protocol.efficiency : spec.efficiency) / together;
  const std::int64_t copies = together + (messages.copies_own ? 1 : 0);
  if (spec.channel_rate.value() > 0 && !is_alone) rate = std::min(rate, spec.channel_rate * peer.channels / copies);
  if (setting.profile.in_node()) return rate;
  const std::int64_t leaving = std::max<std::int64_t>(together + 1 - setting.profile.least_in_node, 1);
  return std::min(rate, setting.topology.card() * protocol.network_efficiency / leaving);
}

// Of many senders into one device each is as fast as its own channels for that one message; two keep a card busy.
Bandwidth sender_limit(const Setting& setting, Protocol chosen, const Messages& messages) {
  const PeerProtocolSpec& spec = chosen == Protocol::ll ? setting.library.peer.ll : setting.library.peer.simple;
  const Bandwidth rate = message_rate(setting, chosen, messages, 1);
  if (spec.channel_rate.value() <= 0 || is_over_network(setting)) return rate;
  return std::min(rate, spec.channel_rate * channels_of_message(setting));
}

// enqueue.cc: between nodes a quarter of the network's chunk for what is below one, half of it below eight.
Bytes chunk_of_message(const Setting& setting, Bytes message) {
  const PeerSpec& peer = setting.library.peer;
  if (!is_over_network(setting)) return peer.chunk;
  if (message < peer.network_chunk) return peer.network_chunk / 4;
  return message < peer.network_chunk * 8 ? peer.network_chunk / 2 : peer.network_chunk;
}

// What may be under way of one message.
Bytes message_window(const Setting& setting, Protocol chosen, Bytes message) {
  const std::int64_t channels = channels_of_message(setting);
  if (chosen != Protocol::simple) return ring_window(setting, chosen, channels);
  if (!is_over_network(setting) || setting.library.family != "nccl") return Bytes::zero();
  return chunk_of_message(setting, message) * (connection_slots * static_cast<double>(channels));
}

}  // namespace

Plan peer_plan(const Setting& setting, Protocol chosen, const Messages& messages) {
  const PeerSpec& peer = setting.library.peer;
  const PeerProtocolSpec& spec = chosen == Protocol::ll ? peer.ll : peer.simple;
  const ProtocolSpec& protocol = protocol_of(setting.library, chosen);
  const auto& profile = setting.profile;

  const bool is_alone = messages.count == 1 && chosen == Protocol::simple;
  const std::int64_t copies = messages.count + (messages.copies_own ? 1 : 0);
  // Where the device with the most of them is busy with all; the fabric finds by itself what a receiver leaves each.
  const Bandwidth rate = message_rate(setting, chosen, messages, messages.count);
  const Bandwidth limit = messages.meet_at_receiver ? sender_limit(setting, chosen, messages) : rate;
  const Bandwidth answered =
      windowed_rate(setting, limit, messages.bytes, message_window(setting, chosen, messages.bytes));
  Time latency = (is_alone ? peer.ll.base : spec.base) + profile.path_latency;
  if (!profile.in_node()) latency += network_step(setting, protocol);
  if (is_over_network(setting) && messages.count > 1) {
    // One thread a device posts and polls them all: sends, and as many receives of an all-to-all.
    const std::int64_t leaving = std::max<std::int64_t>(messages.count + 1 - profile.least_in_node, 0);
    latency += peer.proxy * (leaving * (messages.copies_own ? 2 : 1));
  }
  const Bytes part = std::min(messages.bytes / channels_of_message(setting), chunk_of_message(setting, messages.bytes));
  latency += handshake_time(setting, protocol, static_cast<double>(part.count()));
  if (!is_alone) latency += part / rate * (spec.fill * std::min(1.0, at_once / static_cast<double>(copies)));

  Plan plan;
  // Of all messages, what their bytes are worth.
  const std::int64_t most = std::min<std::int64_t>(channels_of_message(setting) * copies, peer.channels);
  plan.sms = static_cast<int>(channels_for(messages.bytes * messages.count, most, protocol, 1).channels);
  // Of the busiest device; a flow is at its limit only while nobody else sends to the same one.
  plan.hbm_bytes_per_wire_byte = setting.library.copy_hbm_bytes * static_cast<double>(messages.count) * (rate / limit);
  plan.steps.push_back(
      {latency,
       {bundle_of(setting, messages.pattern, messages.bytes * protocol.wire_bytes, answered * protocol.wire_bytes)}});
  return plan;
}

bool DirectCollective::is_possible(const Setting& /*setting*/, Protocol protocol) const {
  return protocol != Protocol::ll128;
}

bool DirectCollective::is_offered(const Setting& setting, Protocol protocol) const {
  return protocol == peer_protocol(setting, messages(setting).bytes);
}

Plan DirectCollective::plan(const Setting& setting, Protocol protocol) const {
  return peer_plan(setting, protocol, messages(setting));
}

}  // namespace warploom
