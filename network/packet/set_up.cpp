// SPDX-License-Identifier: Apache-2.0
// Ports, buffers and connections of the packet network.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "network/packet/framing.hpp"
#include "network/packet/network.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::int64_t pause_frame = 64;

}  // namespace

void PacketNetwork::make_ports() {
  ports_.resize(graph_.edge_count());
  lanes_.resize(graph_.edge_count() * lane_count_);
  flows_on_.resize(graph_.edge_count());
  most_flows_on_.resize(graph_.edge_count());
  for (EdgeId edge = 0; edge < graph_.edge_count(); ++edge) {
    if (graph_.link(edge).health <= 0) continue;
    Port& port = ports_[edge];
    const LinkKind& kind = graph_.kind(edge);
    const Framing framing = framing_of(kind.protocol, spec_);
    const double share = static_cast<double>(graph_.link(edge).width) * static_cast<double>(graph_.link(edge).health);
    const double stretch = static_cast<double>(framing.unit + framing.header) / static_cast<double>(framing.unit);
    // What a file says payload gets has the headers in it; where it says nothing, they come off the rate.
    const double line = (kind.efficiency < 1 ? kind.payload().value() * stretch : kind.rate.value()) * share;
    port.ps_per_byte = 1e12 / line;
    port.latency = kind.latency.ps();
    port.unit = static_cast<std::uint32_t>(framing.unit);
    port.header = static_cast<std::uint32_t>(framing.header);
    port.full_payload = static_cast<std::uint32_t>(framing.unit * framing.train);
    port.full_size = static_cast<std::uint32_t>((framing.unit + framing.header) * framing.train);
    const double full_ps = port.full_size * port.ps_per_byte;
    if (full_ps >= 4e9) {
      throw UserError(fmt::format("the link `{}` needs {} for one packet", graph_.edge_name(edge),
                                  to_string(Time::from_seconds(full_ps * 1e-12))),
                      "the packet fabric wants links of at least 10 Mb/s; use the fluid fabric");
    }
    port.full_ps = static_cast<std::uint32_t>(std::llround(full_ps));
    port.is_ethernet = kind.protocol == LinkProtocol::ethernet;
    port.has_credits = !port.is_ethernet;
    port.pause_delay = kind.latency.ps() + std::llround(pause_frame * port.ps_per_byte);
    const bool from_switch = graph_.group_of(graph_.from(edge)).kind == VertexKind::network_switch;
    if (port.is_ethernet && spec_.ethernet.ecn.enabled && from_switch) {
      const EcnSpec& ecn = spec_.ethernet.ecn;
      const double scale = ecn.at_rate.value() > 0 ? kind.rate.value() * share / ecn.at_rate.value() : 1;
      port.kmin = (ecn.kmin * scale).count();
      port.kmax = (ecn.kmax * scale).count();
      port.pmax = ecn.pmax;
    } else if (!port.is_ethernet && spec_.infiniband.congestion_control.enabled && from_switch &&
               kind.protocol == LinkProtocol::infiniband) {
      port.kmin = port.kmax = spec_.infiniband.congestion_control.threshold.count();
    }
  }
}

// Credits of every lane; shared buffers of Ethernet switches, headroom first.
void PacketNetwork::make_buffers() {
  std::vector<std::uint32_t> buffer_at(graph_.vertex_count(), nothing);
  std::vector<std::int64_t> reserved;
  for (EdgeId edge = 0; edge < graph_.edge_count(); ++edge) {
    if (graph_.link(edge).health <= 0) continue;
    Port& port = ports_[edge];
    const double round_trip = 2.0 * static_cast<double>(port.latency) / port.ps_per_byte;
    const VertexId far = graph_.to(edge);
    if (port.has_credits) {
      const bool is_nvlink = graph_.kind(edge).protocol == LinkProtocol::nvlink;
      const Bytes given = is_nvlink ? spec_.nvlink.buffer : spec_.infiniband.buffer;
      std::int64_t credits = given.count();
      if (credits == 0) credits = std::llround(2 * round_trip) + 4 * static_cast<std::int64_t>(port.full_size);
      if (credits < port.full_size) {
        throw UserError(
            fmt::format("the receive buffer of `{}`, {}, does not hold a packet of {}", graph_.edge_name(edge),
                        to_string(Bytes(credits)), to_string(Bytes(port.full_size))),
            "raise `buffer`, or lower `mtu` or `train`");
      }
      for (std::uint32_t l = 0; l < lane_count_; ++l) lanes_[edge * lane_count_ + l].credits = credits;
      continue;
    }
    if (!graph_.group_of(far).forwards) continue;
    if (buffer_at[far] == nothing) {
      buffer_at[far] = static_cast<std::uint32_t>(buffers_.size());
      buffers_.emplace_back();
      buffer_of_.push_back(far);
      reserved.push_back(0);
    }
    port.buffer = buffer_at[far];
    std::int64_t headroom = spec_.ethernet.pause.headroom.count();
    if (headroom == 0) headroom = std::llround(round_trip) + 2 * static_cast<std::int64_t>(port.full_size) + 128;
    if (!spec_.ethernet.pause.enabled) headroom = 0;
    for (std::uint32_t l = 0; l < lane_count_; ++l) lanes_[edge * lane_count_ + l].headroom_limit = headroom;
    reserved[port.buffer] += headroom * lane_count_;
  }
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const VertexGroup& group = graph_.group_of(buffer_of_[i]);
    const Bytes size = group.buffer > Bytes::zero() ? group.buffer : spec_.ethernet.buffer;
    const std::int64_t packet = (spec_.ethernet.mtu + spec_.ethernet.header).count() * spec_.train;
    buffers_[i].size = size.count() - reserved[i];
    buffers_[i].alpha = spec_.ethernet.pause.alpha;
    buffers_[i].resume_offset = spec_.ethernet.pause.resume_offset.count();
    buffers_[i].pauses = spec_.ethernet.pause.enabled;
    if (buffers_[i].size < packet) {
      throw UserError(fmt::format("the buffer of `{}`, {}, leaves no room for a packet of {} beside {} of headroom for "
                                  "its ports",
                                  graph_.name(buffer_of_[i]), to_string(size), to_string(Bytes(packet)),
                                  to_string(Bytes(reserved[i]))),
                      "raise the switch's `buffer`, or lower `pause.headroom`");
    }
  }
}

ConnectionRange PacketNetwork::add(TransferId transfer, const PacketFlow& flow) {
  WARPLOOM_CHECK(flow.bytes >= Bytes::zero() && flow.lane < lane_count_, "a flow of {} bytes in lane {}",
                 flow.bytes.count(), flow.lane);
  ConnectionRange range;
  if (flow.from == flow.to) return range;
  const std::uint32_t pairs = queue_pairs_of(flow.from, flow.to, flow.channel);
  const std::int64_t whole = flow.bytes.count() / pairs;
  const auto extra = static_cast<std::uint32_t>(flow.bytes.count() % pairs);
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    const std::int64_t bytes = whole + (pair < extra ? 1 : 0);
    if (bytes == 0) break;
    const ConnectionId id = add_connection(transfer, flow, bytes, pair, pairs);
    transfers_[transfer].connections.push_back(id);
    transfers_[transfer].limits.push_back(flow.shares_limit ? 0 : flow.limit.value() / pairs);
    if (range.count++ == 0) range.first = static_cast<std::uint32_t>(transfers_[transfer].connections.size() - 1);
  }
  return range;
}

ConnectionId PacketNetwork::add_connection(TransferId transfer, const PacketFlow& flow, std::int64_t bytes,
                                           std::uint32_t pair, std::uint32_t pairs) {
  const Path path = path_of(flow.from, flow.to, flow.channel * 1024 + pair);
  note_collision(flow, path);
  ConnectionId id = 0;
  if (free_connections_.empty()) {
    id = static_cast<ConnectionId>(connections_.size());
    WARPLOOM_CHECK(id < (1U << id_bits), "more than {} connections at once", 1U << id_bits);
    connections_.emplace_back();
    repairs_.emplace_back();
    timers_.emplace_back();
  } else {
    id = free_connections_.back();
    free_connections_.pop_back();
    connections_[id] = {};
    repairs_[id] = {};
    timers_[id] = {};
  }
  Connection& c = connections_[id];
  c.from = flow.from;
  c.to = flow.to;
  c.bytes = bytes;
  c.unit = path.unit;
  c.path = path.place;
  c.path_length = path.length;
  c.path_count = path.count;
  c.back_delay = path.back_delay;
  c.lane = paths_[path.place] * lane_count_ + (by_hop_ ? 0 : flow.lane);
  c.share = flow.share / pairs;
  c.weight = flow.weight / pairs;
  c.gate = flow.gate;
  c.transfer = transfer;
  c.is_infiniband = path.is_infiniband;
  const bool can_lose = path.is_ethernet && (!spec_.ethernet.pause.enabled || spec_.ethernet.loss > 0);
  const bool is_controlled = (path.is_ethernet && ethernet_control_) || (path.is_infiniband && infiniband_control_);
  c.is_watched = path.is_ethernet || is_controlled || can_lose || path.count > 1;
  if (flow.limit.value() > 0 && flow.shares_limit) {
    c.pacer = pacer_of(transfer, c.lane);
    pacers_[c.pacer].rate += flow.limit.value() / pairs;
  } else if (flow.limit.value() > 0) {
    c.limit_gap = 1e12 / (flow.limit.value() / pairs);
  }
  // A gate lets whole packets pass, so that it must let one pass at first.
  if (c.gate != nothing && gates_[c.gate].first > 0) {
    const double part = static_cast<double>(gates_[c.gate].first) * c.share;
    c.unit = std::min(c.unit, static_cast<std::uint32_t>(std::clamp(part, 1.0, 4e9)));
  }
  for_links(c, [this](EdgeId edge) { most_flows_on_[edge] = std::max(most_flows_on_[edge], ++flows_on_[edge]); });
  for (std::uint32_t i = 0; i < c.path_length; ++i) {
    const EdgeId edge = paths_[c.path + i];
    const auto size = static_cast<double>(size_on(ports_[edge], c.unit));
    c.base_delay += ports_[edge].latency + std::llround(size * ports_[edge].ps_per_byte);
  }
  totals_.asked += bytes;
  hops_to_come_ += std::ceil(static_cast<double>(bytes) / c.unit) * c.path_length;
  if (hops_to_come_ > static_cast<double>(spec_.most_hops)) {
    throw UserError(fmt::format("more than {:.3g} packet-hops: at 5 million a second that is over {}",
                                static_cast<double>(spec_.most_hops),
                                to_string(Time::from_seconds(static_cast<double>(spec_.most_hops) / 5e6))),
                    "use `--fabric fluid`, fewer bytes or ranks, larger `network.fabric.train`s, or raise "
                    "`network.fabric.most_hops`");
  }
  return id;
}

// Flows of a device are added one after another, so that theirs is among the last.
PacerId PacketNetwork::pacer_of(TransferId transfer, LaneId lane) {
  auto& pacers = transfers_[transfer].pacers;
  for (std::size_t behind = 0; behind < std::min<std::size_t>(pacers.size(), 64); ++behind) {
    const std::size_t i = pacers.size() - 1 - behind;
    if (pacers_[pacers[i]].lane == lane) return pacers[i];
  }
  PacerId id = static_cast<PacerId>(pacers_.size());
  if (free_pacers_.empty()) {
    pacers_.emplace_back();
  } else {
    id = free_pacers_.back();
    free_pacers_.pop_back();
  }
  pacers_[id] = {};
  pacers_[id].lane = lane;
  pacers.push_back(id);
  return id;
}

GateId PacketNetwork::add_gate(TransferId transfer, std::int64_t first, std::uint32_t inputs, std::int64_t total) {
  GateId id = 0;
  if (free_gates_.empty()) {
    id = static_cast<GateId>(gates_.size());
    gates_.emplace_back();
  } else {
    id = free_gates_.back();
    free_gates_.pop_back();
  }
  Gate& gate = gates_[id];
  gate.first = first;
  gate.total = total;
  gate.passed = inputs == 0 ? total : first;
  gate.inputs.assign(inputs, 0);
  gate.waiting.clear();
  transfers_[transfer].gates.push_back(id);
  return id;
}

void PacketNetwork::feed(TransferId transfer, ConnectionRange connections, GateId gate, std::uint32_t input) {
  for (std::uint32_t i = 0; i < connections.count; ++i) {
    Connection& c = connections_[transfers_[transfer].connections[connections.first + i]];
    std::uint32_t id = static_cast<std::uint32_t>(feeds_.size());
    if (free_feeds_.empty()) {
      feeds_.emplace_back();
    } else {
      id = free_feeds_.back();
      free_feeds_.pop_back();
    }
    feeds_[id] = {gate, input, c.first_feed};
    c.first_feed = id;
    transfers_[transfer].feeds.push_back(id);
  }
}

}  // namespace warploom
