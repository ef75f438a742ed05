// SPDX-License-Identifier: Apache-2.0
// One packet from link to link: arrival, queue, arbitration, credits, pauses, marks.
#include <algorithm>
#include <cmath>

#include "network/packet/network.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

// At the far end of the edge that it was on.
void PacketNetwork::arrive(PacketId id) {
  Packet& packet = packets_[id];
  if (is_adaptive_) choose_path(packet);
  const EdgeId edge = paths_[packet.place];
  const EdgeId next = paths_[packet.place + 1];
  const LaneId from = edge * lane_count_ + packet.lane;
  Port& port = ports_[edge];
  ++hops_;
  if (port.is_ethernet && spec_.ethernet.loss > 0 && random_.uniform() < spec_.ethernet.loss) return drop(id, from);
  if (next == nothing) {
    if (port.has_credits) give_credits(edge, lanes_[from], size_on(port, packet.payload), now_);
    return deliver(id);
  }
  const std::uint8_t lane =
      by_hop_ ? static_cast<std::uint8_t>(std::min(packet.lane + 1U, lane_count_ - 1)) : packet.lane;
  if (port.buffer != nothing) {
    const LaneId queue = next * lane_count_ + lane;
    const std::int64_t waiting = lanes_[queue].queued;
    switch (buffers_[port.buffer].take(lanes_[from], size_on(port, packet.payload), waiting)) {
      case SharedBuffer::Verdict::dropped:
        // Its queue is full; with pauses it is the headroom of the link that it came by.
        return drop(id, buffers_[port.buffer].pauses ? from : queue);
      case SharedBuffer::Verdict::taken_and_pause:
        push(now_ + ports_[edge ^ 1U].pause_delay, Kind::pause, from);
        break;
      case SharedBuffer::Verdict::taken:
        break;
    }
  }
  packet.from_lane = packet.lane;
  packet.lane = lane;
  ++packet.place;
  enqueue(id, next);
}

// Of its connection's paths that come by this link, the one that goes on where least waits.
void PacketNetwork::choose_path(Packet& packet) {
  const Connection& c = connections_[packet.connection];
  if (c.path_count == 1 || paths_[packet.place + 1] == nothing) return;
  const std::uint32_t stride = c.path_length + 1;
  const std::uint32_t hop = (packet.place - c.path) % stride;
  const EdgeId edge = paths_[packet.place];
  const std::uint32_t mine = (packet.place - c.path) / stride;
  std::int64_t least = EventWheel::never;
  for (std::uint32_t i = 0; i < c.path_count; ++i) {
    const std::uint32_t place = c.path + (mine + i) % c.path_count * stride + hop;  // its own first where all are equal
    if (paths_[place] != edge) continue;
    const EdgeId next = paths_[place + 1];
    const std::int64_t wait = std::max<std::int64_t>(ports_[next].busy_until - now_, 0) +
                              std::llround(static_cast<double>(queued(next)) * ports_[next].ps_per_byte);
    if (wait >= least) continue;
    least = wait;
    packet.place = place;
  }
}

void PacketNetwork::enqueue(PacketId id, EdgeId edge) {
  Port& port = ports_[edge];
  Packet& packet = packets_[id];
  const LaneId lane_id = edge * lane_count_ + packet.lane;
  Lane& lane = lanes_[lane_id];
  const std::int64_t size = size_on(port, packet.payload);
  const bool is_free = port.busy_until <= now_;
  if (is_free && port.work == 0 && !lane.is_paused && (!port.has_credits || have_credits(edge, lane, size))) {
    return send(id, edge, lane_id, size);
  }
  packet.next = nothing;
  if (lane.head == nothing) {
    lane.head = id;
  } else {
    packets_[lane.tail].next = id;
  }
  lane.tail = id;
  ++port.work;
  count_queue(lane, size);
  if (is_free) return service(edge);
  request_kick(edge, port.busy_until);
}

void PacketNetwork::kick(EdgeId edge) {
  Port& port = ports_[edge];
  if (port.kick_at != now_) return;  // an earlier one has replaced it
  port.kick_at = EventWheel::never;
  service(edge);
}

// Sends one packet if the link is free; comes back when it is free again and something still waits.
void PacketNetwork::service(EdgeId edge) {
  Port& port = ports_[edge];
  if (port.busy_until <= now_) {
    if (lane_count_ == 1) {
      serve_lane(edge, 0);
    } else {
      for (std::uint32_t i = 0; i < lane_count_; ++i) {
        const std::uint32_t index = (port.turn + i) % lane_count_;
        if (!serve_lane(edge, index)) continue;
        port.turn = static_cast<std::uint8_t>((index + 1) % lane_count_);
        break;
      }
    }
  }
  if (port.work > 0 && port.busy_until > now_) request_kick(edge, port.busy_until);
}

bool PacketNetwork::serve_lane(EdgeId edge, std::uint32_t index) {
  const LaneId lane_id = edge * lane_count_ + index;
  Lane& lane = lanes_[lane_id];
  if (lane.head == nothing && lane.ready == nothing) return false;
  if (lane.is_paused) {
    if (lane.blocked_since < 0) lane.blocked_since = now_;
    return false;
  }
  Port& port = ports_[edge];
  const bool wants_own = lane.ready != nothing && (lane.head == nothing || lane.own_turn);
  const bool is_own = wants_own && passes_pacer(edge, lane);
  if (!is_own && lane.head == nothing) return false;
  if (is_own) {
    const ConnectionId first = connections_[lane.ready].next;
    std::int64_t offset = 0;
    const std::int64_t size = size_on(port, next_payload(first, offset));
    if (port.has_credits && !have_credits(edge, lane, size)) return false;
    lane.own_turn = false;
    inject(edge, index, lane_id);
    return true;
  }
  const PacketId id = lane.head;
  const std::int64_t size = size_on(port, packets_[id].payload);
  if (port.has_credits && !have_credits(edge, lane, size)) return false;
  lane.own_turn = true;
  lane.head = packets_[id].next;
  if (lane.head == nothing) lane.tail = nothing;
  --port.work;
  count_queue(lane, -size);
  send(id, edge, lane_id, size);
  return true;
}

// Starts to send it now.
void PacketNetwork::send(PacketId id, EdgeId edge, LaneId lane_id, std::int64_t size) {
  Port& port = ports_[edge];
  Lane& lane = lanes_[lane_id];
  Packet& packet = packets_[id];
  const std::int64_t duration =
      packet.payload == port.full_payload ? port.full_ps : std::llround(static_cast<double>(size) * port.ps_per_byte);
  port.busy_until = now_ + duration;
  port.bytes += size;
  port.payload += packet.payload;
  ++port.packets;
  lane.blocked_since = -1;
  if (port.has_credits) lane.credits -= size;
  if (paths_[packet.place - 1] != nothing) release_upstream(packet, port.busy_until);
  if (lane.queued >= port.kmin) mark(packet, port, lane);
  if (has_notes_) note_hop(id, edge, lane);
  push(port.busy_until + port.latency, Kind::arrive, id);
}

// Its place in the memory behind the edge before is free.
void PacketNetwork::release_upstream(const Packet& packet, std::int64_t freed_at) {
  const EdgeId before = paths_[packet.place - 1];
  const Port& port = ports_[before];
  const LaneId lane_id = before * lane_count_ + packet.from_lane;
  const std::int64_t size = size_on(port, packet.payload);
  if (port.has_credits) return give_credits(before, lanes_[lane_id], size, freed_at);
  if (port.buffer != nothing && buffers_[port.buffer].give(lanes_[lane_id], size)) {
    push(now_ + ports_[before ^ 1U].pause_delay, Kind::resume, lane_id);
  }
}

// ---- Credits: a list of what comes back and when, looked at only when they run short -------------------------------

bool PacketNetwork::have_credits(EdgeId edge, Lane& lane, std::int64_t need) {
  if (lane.credits < need) {
    while (!lane.returns.empty() && lane.returns.front().time <= now_) {
      lane.credits += lane.returns.front().bytes;
      lane.returns.pop();
    }
  }
  if (lane.credits >= need) {
    if (lane.stall_start >= 0) {
      lane.stalled += now_ - lane.stall_start;
      lane.stall_start = -1;
    }
    return true;
  }
  if (lane.stall_start < 0) {
    lane.stall_start = now_;
    ++lane.stalls;
  }
  if (lane.blocked_since < 0) lane.blocked_since = now_;
  std::int64_t sum = lane.credits;
  for (std::size_t i = 0; i < lane.returns.size(); ++i) {
    sum += lane.returns[i].bytes;
    if (sum < need) continue;
    request_kick(edge, lane.returns[i].time);
    return false;
  }
  lane.is_starved = true;
  return false;
}

void PacketNetwork::give_credits(EdgeId edge, Lane& lane, std::int64_t bytes, std::int64_t freed_at) {
  std::int64_t time = freed_at + ports_[edge ^ 1U].latency;
  if (!lane.returns.empty()) {
    time = std::max(time, lane.returns.back().time);
    // What is long back is one sum.
    if (lane.returns.front().time <= now_) {
      lane.credits += lane.returns.front().bytes;
      lane.returns.pop();
    }
  }
  lane.returns.push({time, bytes});
  if (!lane.is_starved) return;
  lane.is_starved = false;
  request_kick(edge, std::max(time, ports_[edge].busy_until));
}

// ---- Pauses, marks, notes ------------------------------------------------------------------------------------------

void PacketNetwork::set_paused(LaneId id, bool paused) {
  Lane& lane = lanes_[id];
  if (lane.is_paused == paused) return;
  lane.is_paused = paused;
  if (paused) {
    ++lane.pauses;
    lane.pause_start = now_;
    return;
  }
  lane.paused += now_ - lane.pause_start;
  lane.blocked_since = -1;
  service(id / lane_count_);
}

// RED on what still waits behind it.
void PacketNetwork::mark(Packet& packet, const Port& port, Lane& lane) {
  if (lane.queued < port.kmax) {
    const double span = static_cast<double>(port.kmax - port.kmin);
    const double chance = port.pmax * static_cast<double>(lane.queued - port.kmin) / span;
    if (random_.uniform() >= chance) return;
  }
  if (packet.flags & Packet::marked) return;
  packet.flags |= Packet::marked;
  ++lane.marks;
  ++connections_[packet.connection].marks;
}

void PacketNetwork::note_hop(PacketId id, EdgeId edge, const Lane& lane) {
  const Port& port = ports_[edge];
  const Packet& packet = packets_[id];
  if (paths_[packet.place - 1] == nothing) return;  // the sender itself
  HopNote* notes = &notes_[id * (most_notes + 1)];
  std::int64_t& count = notes[most_notes].queued;
  if (count < static_cast<std::int64_t>(most_notes)) {
    notes[count++] = {edge, now_, lane.queued, port.bytes, 1 / port.ps_per_byte};
  }
}

}  // namespace warploom
