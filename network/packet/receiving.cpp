// SPDX-License-Identifier: Apache-2.0
// What receivers do with packets, and senders with what comes back: order, losses, marks, gates, ends.
//
// Go-back-N: the receiver takes packets in order only and asks once for the one that it misses; the sender starts again
// there. Selective repeat: everything is taken, a gap is asked for as soon as a later packet shows it, and only the gap
// is sent again. What nobody asks for (the last packet, a loss of the repetition) is sent again when its timer of
// `retransmission_timeout` since it was sent runs out. Sources: InfiniBand specification 1.4, section 9.7 (go-back-N);
// Mittal et al., "Revisiting network support for RDMA", SIGCOMM 2018 (selective repeat). Assumption: sprayed packets
// that overtake each other are no sign of a loss, so that only timers find losses among them.
#include <algorithm>

#include "network/packet/network.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

void PacketNetwork::free_packet(PacketId id) {
  Packet& packet = packets_[id];
  packet.next = free_packet_;
  free_packet_ = id;
  release_connection(packet.connection);
}

// At its destination.
void PacketNetwork::deliver(PacketId id) {
  const ConnectionId connection = packets_[id].connection;
  Connection& c = connections_[connection];
  if (c.is_watched) return receive(id);
  const std::uint32_t payload = packets_[id].payload;
  c.received += payload;
  c.expected = c.received;
  pass_on(connection, payload);
  free_packet(id);
}

void PacketNetwork::receive(PacketId id) {
  const ConnectionId connection = packets_[id].connection;
  Connection& c = connections_[connection];
  if (c.finished >= 0) return free_packet(id);
  const bool any_order = c.path_count > 1 || spec_.ethernet.recovery == LossRecovery::selective_repeat;
  const bool is_new = any_order ? accept_any_order(connection, packets_[id]) : accept(connection, packets_[id]);
  const std::uint32_t payload = packets_[id].payload;
  CongestionController* controller = controller_of(c);
  if (controller != nullptr && (packets_[id].flags & Packet::marked) != 0 && !controller->wants_answers()) {
    const std::int64_t interval = controller->notification_interval();
    if (c.last_notification < 0 || now_ - c.last_notification >= interval) {
      c.last_notification = now_;
      ++totals_.notifications;
      const PacketId news = take_packet();
      packets_[news] = {};
      packets_[news].connection = connection;
      packets_[news].flags = Packet::notification;
      ++c.references;
      push(now_ + c.back_delay, Kind::answer, news);
    }
  }
  if (is_new) pass_on(connection, payload);
  if (is_new && controller != nullptr && controller->wants_answers()) {
    packets_[id].flags |= Packet::acknowledgement;
    push(now_ + connections_[connection].back_delay, Kind::answer, id);
    return;
  }
  free_packet(id);
}

bool PacketNetwork::accept(ConnectionId id, Packet& packet) {
  Connection& c = connections_[id];
  if (packet.offset == c.expected) {
    c.expected += packet.payload;
    c.received = c.expected;
    return true;
  }
  if (packet.offset > c.expected && c.asked_again != c.expected) {
    c.asked_again = c.expected;
    ask_again(id, c.expected, packet.offset - c.expected);
  }
  return false;
}

bool PacketNetwork::accept_any_order(ConnectionId id, Packet& packet) {
  Connection& c = connections_[id];
  Repair& repair = repairs_[id];
  const std::int64_t from = packet.offset;
  const std::int64_t to = from + packet.payload;
  if (from < c.expected) return false;
  const std::int64_t highest = std::max(repair.highest, c.expected);
  if (from > highest && c.path_count == 1) ask_again(id, highest, from - highest);
  repair.highest = std::max(highest, to);
  auto& arrived = repair.arrived;
  if (from == c.expected) {
    c.expected = to;
    if (!arrived.empty() && arrived.front().first == to) {
      c.expected = arrived.front().second;
      arrived.erase(arrived.begin());
    }
  } else {
    auto after = arrived.end();
    while (after != arrived.begin() && std::prev(after)->first > from) --after;
    if (after != arrived.begin() && std::prev(after)->second > from) return false;
    const bool joins_before = after != arrived.begin() && std::prev(after)->second == from;
    const bool joins_after = after != arrived.end() && after->first == to;
    if (joins_before && joins_after) {
      std::prev(after)->second = after->second;
      arrived.erase(after);
    } else if (joins_before) {
      std::prev(after)->second = to;
    } else if (joins_after) {
      after->first = from;
    } else {
      arrived.insert(after, {from, to});
    }
  }
  c.received += packet.payload;
  return true;
}

// New bytes are there: gates of who passes them on, and the end.
void PacketNetwork::pass_on(ConnectionId id, std::int64_t bytes) {
  totals_.delivered += bytes;
  for (std::uint32_t feed = connections_[id].first_feed; feed != nothing; feed = feeds_[feed].next) {
    gates_[feeds_[feed].gate].inputs[feeds_[feed].input] += bytes;
    open_gate(feeds_[feed].gate);
  }
  const Connection& c = connections_[id];
  WARPLOOM_CHECK(c.received <= c.bytes, "{} of {} bytes have arrived", c.received, c.bytes);
  if (c.received == c.bytes) finish(id);
}

void PacketNetwork::finish(ConnectionId id) {
  Connection& c = connections_[id];
  c.finished = now_;
  for_links(c, [this](EdgeId edge) { --flows_on_[edge]; });
  if (c.is_ready) {  // it was about to repeat itself
    Lane& lane = lanes_[c.lane];
    ConnectionId before = lane.ready;
    while (connections_[before].next != id) before = connections_[before].next;
    if (before == id) {
      lane.ready = nothing;
    } else {
      connections_[before].next = c.next;
      if (lane.ready == id) lane.ready = before;
    }
    c.is_ready = false;
    count_ready(c, static_cast<std::uint32_t>(-1));
    --ports_[c.lane / lane_count_].work;
  }
  count_completion(c);
  --open_connections_;
  const TransferId transfer = c.transfer;
  if (--transfers_[transfer].open == 0) engine_.at(Time::picoseconds(now_), *this, done_bit | transfer);
}

void PacketNetwork::ask_again(ConnectionId id, std::int64_t offset, std::int64_t bytes) {
  const PacketId news = take_packet();
  Packet& packet = packets_[news];
  packet = {};
  packet.connection = id;
  packet.offset = offset;
  packet.sent_at = bytes;
  packet.flags = Packet::missing;
  ++connections_[id].references;
  push(now_ + connections_[id].back_delay, Kind::answer, news);
}

// Something comes back to the sender.
void PacketNetwork::answer(PacketId id) {
  const Packet packet = packets_[id];
  Connection& c = connections_[packet.connection];
  if (c.finished >= 0) return free_packet(id);
  CongestionController* controller = controller_of(c);
  if ((packet.flags & Packet::notification) != 0) {
    controller->on_notification(packet.connection, now_);
  } else if ((packet.flags & Packet::missing) != 0) {
    send_again(packet.connection, packet.offset, packet.sent_at);
  } else {
    c.acknowledged += packet.payload;
    Answer news{now_, packet.sent_at, packet.offset, packet.payload, (packet.flags & Packet::marked) != 0, {}};
    if (has_notes_) {
      const HopNote* notes = &notes_[id * (most_notes + 1)];
      news.notes = {notes, static_cast<std::size_t>(notes[most_notes].queued)};
    }
    controller->on_answer(packet.connection, news);
    try_ready(packet.connection);
  }
  free_packet(id);
}

void PacketNetwork::drop(PacketId id, LaneId lane) {
  const Packet& packet = packets_[id];
  Connection& c = connections_[packet.connection];
  ++lanes_[lane].drops;
  ++c.drops;
  if (c.finished < 0) {
    const std::int64_t due = std::max(packet.sent_at + spec_.ethernet.retransmission_timeout.ps(), now_);
    repairs_[packet.connection].lost.push_back({packet.offset, packet.payload, due});
    ++c.references;
    push(due, Kind::retransmit, packet.connection);
  }
  free_packet(id);
}

// The timers of lost packets that nobody has asked for.
void PacketNetwork::retransmit(ConnectionId id) {
  if (connections_[id].finished >= 0) return;
  auto& lost = repairs_[id].lost;
  for (std::size_t i = 0; i < lost.size();) {
    const Lost one = lost[i];
    if (one.due > now_) {
      ++i;
      continue;
    }
    lost[i] = lost.back();
    lost.pop_back();
    send_again(id, one.offset, one.bytes);
    i = 0;
  }
}

void PacketNetwork::send_again(ConnectionId id, std::int64_t offset, std::int64_t bytes) {
  Connection& c = connections_[id];
  Repair& repair = repairs_[id];
  if (c.path_count == 1 && spec_.ethernet.recovery == LossRecovery::go_back_n) {
    c.sent = std::min(c.sent, std::max(offset, c.expected));
    // Everything from there on is sent again, with timers of its own.
    std::erase_if(repair.lost, [&c](const Lost& one) { return one.offset >= c.sent; });
  } else {
    repair.again.emplace_back(offset, offset + bytes);
    std::erase_if(repair.lost, [&](const Lost& one) { return one.offset >= offset && one.offset < offset + bytes; });
  }
  try_ready(id);
}

}  // namespace warploom
