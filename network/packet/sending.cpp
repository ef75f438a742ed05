// SPDX-License-Identifier: Apache-2.0
// What a connection may send and when: bytes left, gate, window, pace.
#include <algorithm>
#include <cmath>

#include "network/packet/network.hpp"

namespace warploom {

// Payload and offset of the next packet: what is missing first, then what was not sent yet. 0: nothing left.
std::uint32_t PacketNetwork::next_payload(ConnectionId id, std::int64_t& offset) const {
  const Connection& c = connections_[id];
  if (c.is_watched && !repairs_[id].again.empty()) {
    const auto& [from, to] = repairs_[id].again.front();
    offset = from;
    return static_cast<std::uint32_t>(std::min<std::int64_t>(c.unit, to - from));
  }
  offset = c.sent;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(c.unit, c.bytes - c.sent));
}

bool PacketNetwork::passes_gate(ConnectionId id, std::int64_t upto) {
  Connection& c = connections_[id];
  if (c.gate == nothing || upto <= c.released) return true;
  const Gate& gate = gates_[c.gate];
  c.released = gate.passed >= gate.total
                   ? c.bytes
                   : static_cast<std::int64_t>(std::floor(static_cast<double>(gate.passed) * c.share));
  if (upto <= c.released) return true;
  if (!c.waits_for_gate) {
    c.waits_for_gate = true;
    gates_[c.gate].waiting.push_back(id);
  }
  return false;
}

// The connection may hand a packet to its link at `from`; else what it waits for will call try_ready().
bool PacketNetwork::may_send(ConnectionId id, std::int64_t from) {
  Connection& c = connections_[id];
  if (c.finished >= 0) return false;
  std::int64_t offset = 0;
  const std::uint32_t payload = next_payload(id, offset);
  if (payload == 0) return false;
  const bool is_new = offset == c.sent;
  if (is_new && c.window != EventWheel::never) {
    const std::int64_t in_flight = c.sent - c.acknowledged;
    if (in_flight > 0 && in_flight + payload > c.window) return false;
  }
  if (is_new && !passes_gate(id, offset + payload)) return false;
  if (c.next_time > from) {
    if (!c.waits_for_time) {
      c.waits_for_time = true;
      ++c.references;
      push(c.next_time, Kind::ready, id);
    }
    return false;
  }
  return true;
}

// Joins the circle of its lane if it may send by the time the link is free.
void PacketNetwork::try_ready(ConnectionId id) {
  Connection& c = connections_[id];
  if (c.is_ready) return;
  const EdgeId edge = c.lane / lane_count_;
  Port& port = ports_[edge];
  if (!may_send(id, std::max(now_, port.busy_until))) return;
  Lane& lane = lanes_[c.lane];
  c.is_ready = true;
  if (lane.ready == nothing) {
    c.next = id;
  } else {
    c.next = connections_[lane.ready].next;
    connections_[lane.ready].next = id;
  }
  lane.ready = id;
  count_ready(c, 1);
  ++port.work;
  if (port.busy_until <= now_) return service(edge);
  request_kick(edge, port.busy_until);
}

void PacketNetwork::pace(Connection& c, std::uint32_t payload, std::int64_t size) {
  const double gap = std::max(c.limit_gap * payload, c.control_gap * static_cast<double>(size));
  if (gap > 0) c.next_time = std::max(now_, c.next_time) + std::llround(gap);
  if (c.pacer == nothing) return;
  Pacer& pacer = pacers_[c.pacer];
  pacer.next_time = std::max(now_, pacer.next_time) + std::llround(payload * 1e12 / pacer.rate);
}

// The first of the circle may send as far as the flows that it shares a limit with have left time; else the first that
// may takes its place, and if none may the link looks again when one may.
bool PacketNetwork::passes_pacer(EdgeId edge, Lane& lane) {
  std::int64_t least = EventWheel::never;
  const ConnectionId last = lane.ready;
  do {
    const Connection& first = connections_[connections_[lane.ready].next];
    if (first.pacer == nothing || pacers_[first.pacer].next_time <= now_) return true;
    least = std::min(least, pacers_[first.pacer].next_time);
    if (pacers_[first.pacer].ready == lane.ready_count) break;
    lane.ready = connections_[lane.ready].next;
  } while (lane.ready != last);
  request_kick(edge, least);
  return false;
}

// The first of the circle sends a packet and goes to its end, or leaves.
void PacketNetwork::inject(EdgeId edge, std::uint32_t index, LaneId lane_id) {
  Lane& lane = lanes_[lane_id];
  const ConnectionId before = lane.ready;
  const ConnectionId id = connections_[before].next;
  const auto leave = [&] {
    Connection& c = connections_[id];
    if (before == id) {
      lane.ready = nothing;
    } else {
      connections_[before].next = c.next;
      lane.ready = before;
    }
    c.next = nothing;
    c.is_ready = false;
    count_ready(c, static_cast<std::uint32_t>(-1));
    --ports_[edge].work;
  };
  Connection& c = connections_[id];
  std::int64_t offset = 0;
  const std::uint32_t payload = next_payload(id, offset);
  const PacketId packet_id = take_packet();
  Packet& packet = packets_[packet_id];
  packet = {};
  packet.connection = id;
  packet.payload = payload;
  packet.offset = offset;
  packet.sent_at = now_;
  packet.lane = static_cast<std::uint8_t>(index);
  packet.place = c.path;
  ++c.references;
  if (c.path_count > 1) {
    packet.place += c.path_turn * (c.path_length + 1);
    if (++c.path_turn == c.path_count) c.path_turn = 0;
  }
  const bool is_again = offset != c.sent;
  if (is_again) {
    auto& again = repairs_[id].again;
    again.front().first += payload;
    if (again.front().first >= again.front().second) again.erase(again.begin());
  } else {
    c.sent += payload;
  }
  if (offset < c.highest_sent) {
    packet.flags |= Packet::resent;
    c.resent_bytes += payload;
    totals_.resent += payload;
  }
  c.highest_sent = std::max(c.highest_sent, offset + payload);
  if (has_notes_) notes_[packet_id * (most_notes + 1) + most_notes].queued = 0;
  const std::int64_t size = size_on(ports_[edge], payload);
  pace(c, payload, size);
  send(packet_id, edge, lane_id, size);
  if (c.is_watched) {
    if (auto* controller = controller_of(c)) controller->on_sent(id, size, now_);
  }
  if (may_send(id, ports_[edge].busy_until)) {
    lane.ready = id;
  } else {
    leave();
  }
}

// More has arrived at the rank that the gate stands at.
void PacketNetwork::open_gate(GateId id) {
  Gate& gate = gates_[id];
  const std::int64_t least = *std::ranges::min_element(gate.inputs);
  const std::int64_t passed = least >= gate.total ? gate.total : std::min(gate.first + least, gate.total);
  if (passed == gate.passed && passed < gate.total) return;
  gate.passed = passed;
  for (std::size_t i = 0; i < gate.waiting.size();) {
    const ConnectionId connection = gate.waiting[i];
    Connection& c = connections_[connection];
    std::int64_t offset = 0;
    const std::int64_t upto = c.sent + next_payload(connection, offset);
    const auto released =
        passed >= gate.total ? c.bytes : static_cast<std::int64_t>(std::floor(static_cast<double>(passed) * c.share));
    if (upto > released) {
      ++i;
      continue;
    }
    gate.waiting[i] = gate.waiting.back();
    gate.waiting.pop_back();
    c.waits_for_gate = false;
    c.released = released;
    try_ready(connection);
  }
}

}  // namespace warploom
