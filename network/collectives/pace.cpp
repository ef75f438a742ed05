// SPDX-License-Identifier: Apache-2.0
// Rings and chains, step by step.
#include "network/collectives/pace.hpp"

#include <algorithm>
#include <cmath>

#include "network/collectives/channels.hpp"
#include "network/fabrics/flows.hpp"

namespace warploom {

const ProtocolSpec& protocol_of(const LibrarySpec& library, Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return library.ll;
    case Protocol::ll128:
      return library.ll128;
    case Protocol::simple:
      break;
  }
  return library.simple;
}

double cards_of(const Setting& setting) {
  // Members side by side share a card where there are fewer cards than devices.
  return std::min(static_cast<double>(setting.profile.least_in_node), setting.topology.cards_of_node());
}

Bandwidth cards_rate(const Setting& setting, const ProtocolSpec& protocol) {
  return setting.topology.card() * (protocol.network_efficiency * cards_of(setting));
}

Bandwidth ring_rate(const Setting& setting, Protocol chosen) {
  const ProtocolSpec& protocol = protocol_of(setting.library, chosen);
  if (setting.profile.ring_pairs) return setting.profile.ring_rate * protocol.efficiency;
  const Bandwidth port = setting.topology.port() * protocol.efficiency;
  if (setting.profile.in_node()) return port;
  const auto in_node = static_cast<double>(setting.profile.least_in_node);
  Bandwidth rate = cards_rate(setting, protocol);
  if (chosen == Protocol::ll)
    rate = std::min(rate, TunerSpec::at_nodes(setting.library.tuner.ll, setting.profile.nodes).value_or(rate));
  return in_node > 1 ? std::min(rate, port / ((in_node - 1) / in_node)) : rate;
}

Time start_time(const ProtocolSpec& protocol, const ChannelUse& use) {
  const double full = 2.0 * protocol.threads;
  return protocol.base + protocol.wide * std::min(1.0, static_cast<double>(use.channels * use.threads) / full);
}

namespace {

// On the longest way of a chunk. Around a ring every window of `steps` hops counts, and one of them crosses once more
// than the chain that starts at a node's first member: an all-gather among two nodes waits for two of them.
std::int64_t hops_between_nodes(const Setting& setting, const Movement& movement) {
  const std::int64_t nodes = setting.profile.nodes;
  if (nodes < 2) return 0;
  if (movement.pattern != FlowPattern::ring) return std::min(movement.passes * (nodes - 1), movement.steps);
  return (movement.steps * nodes + setting.ranks() - 1) / setting.ranks();
}

Time hop_time(const Setting& setting, const ProtocolSpec& protocol, const Movement& movement) {
  const auto& profile = setting.profile;
  const std::int64_t inter = hops_between_nodes(setting, movement);
  Time hops = protocol.hop * (movement.steps - inter) + network_step(setting, protocol) * inter;
  // The ring's hops between nodes but the last, once a pass.
  if (profile.nodes > 1) {
    hops += profile.path_latency * (static_cast<double>(inter) / static_cast<double>(profile.nodes));
  }
  return hops;
}

// Alone, beyond start and hops, where the threads are slower than the link: `rounds` that follow each other.
Time pace_time(const ProtocolSpec& protocol, double part, double steps) {
  if (protocol.channel_rate.value() <= 0) return Time::zero();
  const auto round = static_cast<double>(protocol.round.count());
  const double rounds = std::max(std::ceil(part / round - 1e-9), 1.0) - 1;
  return Time::from_seconds(steps * rounds * round / protocol.channel_rate.value());
}

bool is_paced(const Setting& setting, const ProtocolSpec& protocol) {
  return protocol.channel_rate.value() > 0 && setting.profile.in_node();
}

// Of a ring: every rank takes part in every step.
Time ring_time(const Setting& setting, const ProtocolSpec& protocol, const Movement& movement, double part,
               const ChannelUse& use, Bandwidth rate) {
  const auto channels = static_cast<double>(use.channels);
  const auto steps = static_cast<double>(movement.steps);
  const auto chunk = static_cast<double>(protocol.chunk.count());
  // Between nodes the cards are slower than the threads, which catch up with their copies meanwhile.
  const double loops = setting.profile.in_node() ? std::max(part / chunk, 1.0) : 1.0;
  const double overlap = movement.passes > 1 ? setting.library.two_pass_fill : 1.0;
  const double fill = protocol.fill * overlap * (1 + setting.library.loop_fill * (loops - 1));
  const Time link =
      is_paced(setting, protocol)
          ? Time::zero()  // the threads are slower
          : movement.flow_bytes / rate + Time::from_seconds(fill * std::min(part, chunk) * channels / rate.value());
  return std::max(pace_time(protocol, part, steps), link);
}

// Of a chain: what a rank receives it passes on as it comes.
Time chain_time(const Setting& setting, const ProtocolSpec& protocol, const Movement& movement, const ChannelUse& use,
                Bandwidth rate) {
  const Time pace =
      pace_time(protocol, static_cast<double>(movement.flow_bytes.count()) / static_cast<double>(use.channels), 1);
  return is_paced(setting, protocol) ? pace : std::max(pace, movement.flow_bytes / rate);
}

}  // namespace

Bundle bundle_of(const Setting& setting, FlowPattern pattern, Bytes bytes, Bandwidth limit) {
  Bundle bundle;
  bundle.traffic = {pattern, setting.call.group};
  bundle.coupled = is_coupled(pattern);
  bundle.bytes_per_flow = bytes;
  bundle.flow_limit = limit;
  return bundle;
}

Bandwidth channel_pace(const Setting& setting, const ProtocolSpec& protocol) {
  if (protocol.channel_rate.value() > 0) return protocol.channel_rate;
  return search_rings(setting.topology.port(), setting.library).channel_rate * protocol.efficiency;
}

Time network_step(const Setting& setting, const ProtocolSpec& protocol) {
  return protocol.network_hop + setting.library.transport.latency;
}

Time handshake_time(const Setting& setting, const ProtocolSpec& protocol, double message) {
  const TransportSpec& transport = setting.library.transport;
  const auto eager = static_cast<double>(transport.eager.count());
  const bool asks = !setting.profile.in_node() && eager > 0 && message * protocol.wire_bytes > eager;
  return asks ? transport.handshake : Time::zero();
}

Bytes ring_window(const Setting& setting, Protocol chosen, std::int64_t channels) {
  if (setting.library.family != "nccl") return Bytes::zero();
  // A chunk of Simple is four slots (ALLREDUCE_CHUNKSTEPS, src/include/collectives.h), else one.
  const double chunks = chosen == Protocol::simple ? connection_slots / 4 : connection_slots;
  return protocol_of(setting.library, chosen).chunk * (chunks * static_cast<double>(channels));
}

Bandwidth windowed_rate(const Setting& setting, Bandwidth rate, Bytes bytes, Bytes window) {
  const double round_trip = 2 * setting.profile.longest_hop.seconds();
  const auto size = static_cast<double>(window.count());
  if (window == Bytes::zero() || bytes <= window || rate.value() * round_trip <= size) return rate;
  const auto all = static_cast<double>(bytes.count());
  return Bandwidth(all / (size / rate.value() + (all - size) * round_trip / size));
}

Plan ring_plan(const Setting& setting, Protocol chosen, const Movement& movement) {
  const ProtocolSpec& protocol = protocol_of(setting.library, chosen);
  const ChannelUse use = channels_for(setting.call.bytes, most_channels(setting), protocol, setting.ranks());
  Bandwidth rate = ring_rate(setting, chosen);
  // Of a channel and step.
  const double part = static_cast<double>(movement.flow_bytes.count()) / static_cast<double>(movement.steps) /
                      static_cast<double>(use.channels);
  const double chunk = std::min(part, static_cast<double>(protocol.chunk.count()));
  const Time transfer = movement.pattern == FlowPattern::chain
                            ? chain_time(setting, protocol, movement, use, rate)
                            : ring_time(setting, protocol, movement, part, use, rate);
  Time alone = start_time(protocol, use) + hop_time(setting, protocol, movement) +
               handshake_time(setting, protocol, chunk) + transfer;
  // What moves at the link's pace is left to the fabric.
  if (protocol.channel_rate.value() > 0) rate = std::min(rate, protocol.channel_rate * use.channels);
  const Bandwidth answered =
      windowed_rate(setting, rate, movement.flow_bytes, ring_window(setting, chosen, use.channels));
  if (answered < rate) {
    alone += movement.flow_bytes / answered - movement.flow_bytes / rate;
    rate = answered;
  }
  const Bytes wire = movement.flow_bytes * protocol.wire_bytes;
  const Bandwidth limit = rate * protocol.wire_bytes;
  const Time moving = std::min(wire / limit, alone);

  Plan plan;
  plan.sms = static_cast<int>(use.channels);
  plan.hbm_bytes_per_wire_byte = movement.hbm_bytes / protocol.wire_bytes;
  // Where the moving alone would take longer than everything, the latency is gone and the flow goes quicker.
  const Bandwidth quicker = moving < wire / limit && moving > Time::zero() ? wire / moving : limit;
  Bundle around = bundle_of(setting, movement.pattern, wire, quicker);
  // What a rank sends in the first step is its own; a part below a packet's size holds nobody back.
  constexpr Bytes least_part{1024};
  if (const Bytes own = wire / movement.steps; movement.pattern == FlowPattern::ring && own >= least_part)
    around.first = own;
  if (setting.profile.ring_pairs && movement.pattern == FlowPattern::ring) {
    // Each of the rings that the library finds takes its part, link by link.
    around = bundle_of(setting, FlowPattern::pairs, wire / setting.profile.rings, quicker / setting.profile.rings);
    around.traffic.pairs = setting.profile.ring_pairs;
  }
  plan.steps.push_back({alone - moving, {around}});
  return plan;
}

}  // namespace warploom
