// SPDX-License-Identifier: Apache-2.0
// What the packet network holds of packets, ports, lanes and connections: flat records, addressed by number.
#pragma once

#include <cstdint>
#include <vector>

#include "network/graph/graph.hpp"
#include "network/packet/event_wheel.hpp"

namespace warploom {

using PacketId = std::uint32_t;
using ConnectionId = std::uint32_t;
using LaneId = std::uint32_t;  // edge x lanes + lane
using GateId = std::uint32_t;
using PacerId = std::uint32_t;
using TransferId = std::uint32_t;
inline constexpr std::uint32_t nothing = UINT32_MAX;

// One packet, or a train of them. `place` is where in the table of paths the edge stands that it is on or waits for:
// the one before is where it came from, the one after where it goes; `nothing` ends a path on both sides.
struct Packet {
  std::uint32_t next = nothing;  // in its queue
  ConnectionId connection = 0;
  std::uint32_t payload = 0;
  std::uint32_t place = 0;
  std::int64_t offset = 0;  // of its first byte in the connection
  std::int64_t sent_at = 0;
  std::uint8_t lane = 0;
  std::uint8_t from_lane = 0;  // on the edge before
  std::uint8_t flags = 0;

  enum Flag : std::uint8_t { marked = 1, resent = 2, acknowledgement = 4, missing = 8, notification = 16 };
};

// First in, first out, without allocation once it has grown.
template <class T>
class Ring {
 public:
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  T& operator[](std::size_t i) { return items_[(first_ + i) & (items_.size() - 1)]; }
  T& front() { return items_[first_]; }
  T& back() { return (*this)[count_ - 1]; }
  void pop() {
    first_ = (first_ + 1) & (items_.size() - 1);
    --count_;
  }
  void push(const T& item) {
    if (count_ == items_.size()) grow();
    items_[(first_ + count_++) & (items_.size() - 1)] = item;
  }

 private:
  void grow() {
    std::vector<T> larger(items_.empty() ? 8 : 2 * items_.size());
    for (std::size_t i = 0; i < count_; ++i) larger[i] = (*this)[i];
    items_ = std::move(larger);
    first_ = 0;
  }
  std::vector<T> items_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

// The sending side of an edge.
struct Port {
  std::int64_t busy_until = 0;
  std::int64_t latency = 0;
  std::int64_t kick_at = EventWheel::never;  // when it looks for work again
  double ps_per_byte = 0;                    // on the wire
  std::uint32_t unit = 1;                    // payload that one header goes with
  std::uint32_t header = 0;
  std::uint32_t full_payload = 0;  // of the usual packet, with its size and time
  std::uint32_t full_size = 0;
  std::uint32_t full_ps = 0;
  std::uint32_t work = 0;                 // packets that wait and connections that are ready
  std::uint32_t buffer = nothing;         // shared buffer at the far end; `nothing`: credits, or a sink
  std::int64_t kmin = EventWheel::never;  // marks: queue from which, from which all, and the chance below
  std::int64_t kmax = EventWheel::never;
  double pmax = 0;
  std::int64_t pause_delay = 0;  // until a pause that the far end asks for is here
  std::uint8_t turn = 0;         // lane whose turn it is
  bool has_credits = false;
  bool is_ethernet = false;
  std::int64_t bytes = 0;  // sent, on the wire
  std::int64_t payload = 0;
  std::uint64_t packets = 0;
};

struct CreditReturn {
  std::int64_t time = 0;
  std::int64_t bytes = 0;
};

// One lane of an edge: what waits at its near end, and what its far end lets it send.
struct Lane {
  PacketId head = nothing;
  PacketId tail = nothing;
  ConnectionId ready = nothing;  // last of a circle of connections that may send
  std::uint32_t ready_count = 0;
  std::int64_t queued = 0;  // bytes on the wire of what waits
  bool is_paused = false;
  bool is_starved = false;      // of credits that nobody has given back yet
  bool own_turn = false;        // a ready connection is next, not a waiting packet
  bool is_held_by_far = false;  // the far end has asked for a pause
  std::int64_t credits = 0;
  Ring<CreditReturn> returns;
  // At the far end: bytes that came by this lane, in the shared part and in the headroom.
  std::int64_t shared = 0;
  std::int64_t headroom = 0;
  std::int64_t headroom_limit = 0;

  // Counted.
  std::int64_t changed = 0;
  double area = 0;  // byte x ps
  std::int64_t most_queued = 0;
  std::int64_t pause_start = 0;
  std::int64_t paused = 0;  // ps
  std::int64_t stall_start = -1;
  std::int64_t stalled = 0;  // ps without credits while something waited
  std::int64_t blocked_since = -1;
  std::uint64_t marks = 0;
  std::uint64_t drops = 0;
  std::uint64_t pauses = 0;
  std::uint64_t stalls = 0;
};

// A sender and its receiver: one queue pair.
struct Connection {
  // Sender.
  std::int64_t bytes = 0;
  std::int64_t sent = 0;          // offset of the next byte
  std::int64_t highest_sent = 0;  // beyond it nothing was sent yet
  std::int64_t released = 0;      // as far as the gate let it, when last asked
  std::int64_t window = EventWheel::never;
  std::int64_t acknowledged = 0;
  std::int64_t next_time = 0;  // pacing
  double limit_gap = 0;        // ps a byte of payload; 0: no limit
  double control_gap = 0;      // ps a byte on the wire, by congestion control; 0: none
  std::uint32_t unit = 0;      // payload of a packet
  std::uint32_t path = 0;      // first place
  std::uint32_t path_length = 0;
  std::uint32_t path_count = 1;
  std::uint32_t path_turn = 0;
  std::uint32_t next = nothing;  // in the circle of ready ones
  LaneId lane = 0;               // where it is injected
  GateId gate = nothing;
  PacerId pacer = nothing;
  double share = 1.0;   // of what passes the gate
  double weight = 1.0;  // share of the transfer's limit
  TransferId transfer = 0;
  std::int64_t back_delay = 0;  // of an answer
  std::int64_t base_delay = 0;  // of a full packet there, alone
  std::int64_t started = 0;
  std::int64_t finished = -1;
  bool is_ready = false;
  bool waits_for_gate = false;
  bool waits_for_time = false;
  bool is_watched = false;       // its receiver looks at order, marks and losses
  bool is_infiniband = false;    // whose congestion control is its
  std::uint32_t references = 0;  // packets and events that name it
  VertexId from = 0;
  VertexId to = 0;
  // Receiver.
  std::int64_t expected = 0;  // everything before has arrived
  std::int64_t received = 0;  // bytes, each counted once
  std::int64_t asked_again = -1;
  std::int64_t last_notification = -1;
  std::uint32_t first_feed = nothing;  // gates that its bytes open
  // Counted.
  std::int64_t resent_bytes = 0;
  std::uint64_t marks = 0;
  std::uint64_t drops = 0;
};

}  // namespace warploom
