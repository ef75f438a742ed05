// SPDX-License-Identifier: Apache-2.0
// Packets over queues: every edge of a written-out network sends one packet at a time and is held back by its far end.
//
// Equations. A packet of p bytes is p + header ceil(p / unit) on the wire, takes that over the line's rate to send and
// arrives the link's latency later (store and forward). Where the link's efficiency is said (below 1), the line is as
// fast as lets full packets get just that payload rate; else it has its data-sheet rate and headers come off it. What
// waits at a link is first in, first out in each lane; lanes, and a device's own packets against those that it
// forwards, take turns. Link discipline by protocol: Ethernet pauses (shared_buffer.hpp); InfiniBand, NVLink, PCIe and
// others give credits: the far end holds C bytes a lane and returns what it has sent on one latency later. Assumptions:
// switches have queues at their outputs only (no head-of-line blocking at inputs); answers to senders (ACK, NAK, CNP,
// BECN, pauses, credits) go by a lane of their own, never wait and take no bandwidth; a device takes in what arrives at
// once. Events: one a hop where nothing waits, two where something does, on a wheel of our own; the engine holds the
// wheel's earliest one only, and is never overtaken. Sources: csg-htsim (pooled packets, queues as event sinks);
// ns-3-alibabacloud.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "network/graph/routing.hpp"
#include "network/packet/congestion.hpp"
#include "network/packet/event_wheel.hpp"
#include "network/packet/shared_buffer.hpp"
#include "network/packet/spec.hpp"
#include "network/packet/state.hpp"
#include "network/packet/statistics.hpp"
#include "sim/core/engine.hpp"
#include "sim/core/random.hpp"

namespace warploom {

class PacketListener {
 public:
  virtual ~PacketListener() = default;
  virtual void on_transfer_done(TransferId id) = 0;
};

struct PacketFlow {
  VertexId from = 0;
  VertexId to = 0;  // a device, or the switch where the flow ends
  Bytes bytes{0};
  Bandwidth limit{0};  // of payload; 0: none
  // Flows of the transfer that leave by the same link have their limits' sum together: who is done or slowed down
  // leaves the rest more. Else each has its own.
  bool shares_limit = false;
  std::uint32_t channel = 0;
  std::uint8_t lane = 0;
  GateId gate = nothing;
  double share = 1.0;   // of what passes the gate
  double weight = 1.0;  // share of the transfer's limit
};

// Connections of one flow: their places among those of its transfer.
struct ConnectionRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

class PacketNetwork final : public EventSink, private CongestionHost {
 public:
  // Throws UserError where a buffer does not hold what its links need. `router` null: by shortest ways. `routing`: the
  // network's, for what the spec does not say.
  PacketNetwork(const NetworkGraph& graph, const PacketSpec& spec, Engine& engine, PacketListener& listener,
                std::unique_ptr<Router> router = nullptr, const RoutingSpec& routing = {});
  ~PacketNetwork() override;

  // A transfer is done when all its flows have arrived. Flows are added before it starts; ids are used again.
  TransferId open();
  ConnectionRange add(TransferId transfer, const PacketFlow& flow);
  void start(TransferId transfer);
  // No flow of the transfer goes faster than its own limit and `rate` x its share; 0 lifts it.
  void limit(TransferId transfer, Bandwidth rate);

  // A gate lets pass `first` + what the least of its `inputs` has delivered, everything once all have delivered
  // `total`. It lives as long as its transfer.
  GateId add_gate(TransferId transfer, std::int64_t first, std::uint32_t inputs, std::int64_t total);
  void feed(TransferId transfer, ConnectionRange connections, GateId gate, std::uint32_t input);

  const NetworkGraph& graph() const { return graph_; }
  Router& router() { return *router_; }
  const PacketSpec& spec() const { return spec_; }
  const PacketRouting& routing() const { return routing_; }
  // So far; `most` of the busiest queues.
  PacketStatistics statistics(std::size_t most = 10) const;
  std::uint64_t hops() const { return hops_; }
  // Is told now and then how many of the hops known so far are done.
  using Progress = std::function<void(std::size_t done, std::size_t all)>;
  void set_progress(Progress progress);
  std::int64_t now() const { return now_; }
  // For tests.
  const Connection& state(ConnectionId id) const { return connections_[id]; }
  double rate(ConnectionId id) const;  // bytes a second that its sender aims at
  std::int64_t queued(EdgeId edge) const;
  Bytes carried(EdgeId edge) const { return Bytes(ports_[edge].payload); }  // payload

 private:
  enum class Kind : std::uint32_t { arrive, kick, answer, ready, pause, resume, timer0, timer1, retransmit, watch };
  static constexpr std::uint32_t id_bits = 28;
  static constexpr std::uint64_t done_bit = std::uint64_t{1} << 32;
  struct Feed {
    GateId gate = 0;
    std::uint32_t input = 0;
    std::uint32_t next = nothing;
  };
  struct Gate {
    std::int64_t first = 0;
    std::int64_t total = 0;
    std::int64_t passed = 0;  // first + the least input
    std::vector<std::int64_t> inputs;
    std::vector<ConnectionId> waiting;
  };
  // What flows of one device send together.
  struct Pacer {
    LaneId lane = 0;
    double rate = 0;             // bytes of payload a second
    std::int64_t next_time = 0;  // of the next packet
    std::uint32_t ready = 0;     // of them that may send but for it
  };
  struct Transfer {
    std::uint32_t open = 0;
    std::vector<PacerId> pacers;
    std::vector<ConnectionId> connections;
    std::vector<GateId> gates;
    std::vector<std::uint32_t> feeds;
    std::vector<double> limits;  // of each connection, bytes a second; 0: none
    bool is_done = false;
  };
  struct Path {
    std::uint32_t place = 0;
    std::uint32_t length = 0;  // edges
    std::uint32_t count = 1;   // of that length, one after the other, `length` + 1 places each
    std::int64_t back_delay = 0;
    std::uint32_t unit = 0;
    bool is_ethernet = false;
    bool is_infiniband = false;
    bool collides = false;
  };
  struct PathKey {
    VertexId from;
    VertexId to;
    std::uint32_t channel;
    friend bool operator==(const PathKey&, const PathKey&) = default;
  };
  struct PathHash {
    std::size_t operator()(const PathKey& key) const;
  };
  struct Lost {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
    std::int64_t due = 0;
  };
  // What selective repeat remembers; empty while nothing is lost.
  struct Repair {
    std::vector<std::pair<std::int64_t, std::int64_t>> arrived;  // beyond `expected`: [from, to), ascending
    std::int64_t highest = 0;                                    // end of what has arrived
    std::vector<std::pair<std::int64_t, std::int64_t>> again;    // to be sent again
    std::vector<Lost> lost;                                      // dropped, the sender does not know yet
  };
  struct Timer {
    std::int64_t time[2] = {EventWheel::never, EventWheel::never};
  };

  // network.cpp: construction and events
  void on_event(std::uint64_t payload) override;
  void run();
  void dispatch(EventWheel::Event event);
  // Asks the memory for what the next event will touch.
  void fetch(const EventWheel::Event& event) const {
    const std::uint32_t id = event.payload & ((1U << id_bits) - 1);
    if (event.payload >> id_bits == static_cast<std::uint32_t>(Kind::arrive)) {
      __builtin_prefetch(&packets_[id]);
    } else if (event.payload >> id_bits == static_cast<std::uint32_t>(Kind::kick)) {
      __builtin_prefetch(&ports_[id]);
      __builtin_prefetch(&lanes_[std::size_t{id} * lane_count_]);
    }
  }
  void report();
  void schedule_wake();
  void catch_up();
  void push(std::int64_t time, Kind kind, std::uint32_t id) {
    wheel_.push(time, static_cast<std::uint32_t>(kind) << id_bits | id);
  }

  // set_up.cpp
  void make_ports();
  void make_buffers();

  // paths.cpp
  std::uint32_t queue_pairs_of(VertexId from, VertexId to, std::uint32_t channel);
  const Path& path_of(VertexId from, VertexId to, std::uint32_t channel);
  Path make_path(VertexId from, VertexId to, std::uint32_t channel);
  Path write_path(const std::vector<std::vector<EdgeId>>& ways);
  std::vector<std::vector<EdgeId>> ways_of(const FlowKey& flow);
  std::vector<EdgeId> numbered_way(const FlowKey& flow, std::size_t number, std::size_t& all, std::size_t& fan);
  // Each link of its paths once.
  template <class Action>
  void for_links(const Connection& c, Action action) const {
    const EdgeId* first = paths_.data() + c.path;
    if (c.path_count == 1) {
      std::for_each(first, first + c.path_length, action);
      return;
    }
    std::vector<EdgeId> links(first, first + std::size_t{c.path_count} * (c.path_length + 1));
    std::ranges::sort(links);
    links.erase(std::unique(links.begin(), links.end()), links.end());
    links.pop_back();  // `nothing`, between the paths
    std::for_each(links.begin(), links.end(), action);
  }
  void note_collision(const PacketFlow& flow, const Path& path);
  ConnectionId add_connection(TransferId transfer, const PacketFlow& flow, std::int64_t bytes, std::uint32_t pair,
                              std::uint32_t pairs);
  void finish_transfer(TransferId id);
  void release_connection(ConnectionId id);

  // forwarding.cpp: one packet from link to link
  void arrive(PacketId id);
  void choose_path(Packet& packet);
  void enqueue(PacketId id, EdgeId edge);
  void kick(EdgeId edge);
  void service(EdgeId edge);
  bool serve_lane(EdgeId edge, std::uint32_t index);
  void send(PacketId id, EdgeId edge, LaneId lane, std::int64_t size);
  bool have_credits(EdgeId edge, Lane& lane, std::int64_t need);
  void give_credits(EdgeId edge, Lane& lane, std::int64_t bytes, std::int64_t freed_at);
  void release_upstream(const Packet& packet, std::int64_t freed_at);
  void mark(Packet& packet, const Port& port, Lane& lane);
  void note_hop(PacketId id, EdgeId edge, const Lane& lane);
  void set_paused(LaneId id, bool paused);
  void request_kick(EdgeId edge, std::int64_t time) {
    Port& port = ports_[edge];
    if (port.kick_at <= time) return;
    port.kick_at = time;
    push(time, Kind::kick, edge);
  }
  static std::int64_t size_on(const Port& port, std::uint32_t payload) {
    if (payload == port.full_payload) return port.full_size;
    return payload + static_cast<std::int64_t>(port.header) * ((payload + port.unit - 1) / port.unit);
  }
  void count_queue(Lane& lane, std::int64_t change) {
    lane.area += static_cast<double>(lane.queued) * static_cast<double>(now_ - lane.changed);
    lane.changed = now_;
    lane.queued += change;
    if (lane.queued > lane.most_queued) lane.most_queued = lane.queued;
  }
  PacketId take_packet() {
    if (free_packet_ == nothing) {
      packets_.emplace_back();
      if (has_notes_) notes_.resize(packets_.size() * (most_notes + 1));
      return static_cast<PacketId>(packets_.size() - 1);
    }
    const PacketId id = free_packet_;
    free_packet_ = packets_[id].next;
    return id;
  }
  void free_packet(PacketId id);

  // sending.cpp: what a connection may send, and when
  void try_ready(ConnectionId id);
  bool may_send(ConnectionId id, std::int64_t from);
  bool passes_gate(ConnectionId id, std::int64_t upto);
  std::uint32_t next_payload(ConnectionId id, std::int64_t& offset) const;
  void inject(EdgeId edge, std::uint32_t index, LaneId lane);
  void open_gate(GateId id);
  void pace(Connection& connection, std::uint32_t payload, std::int64_t size);
  bool passes_pacer(EdgeId edge, Lane& lane);
  PacerId pacer_of(TransferId transfer, LaneId lane);
  void count_ready(const Connection& connection, std::uint32_t change) {
    lanes_[connection.lane].ready_count += change;
    if (connection.pacer != nothing) pacers_[connection.pacer].ready += change;
  }

  // receiving.cpp: order, marks, losses, answers, ends
  void deliver(PacketId id);
  void receive(PacketId id);
  bool accept(ConnectionId id, Packet& packet);
  bool accept_any_order(ConnectionId id, Packet& packet);
  void pass_on(ConnectionId id, std::int64_t bytes);
  void finish(ConnectionId id);
  void answer(PacketId id);
  void ask_again(ConnectionId id, std::int64_t offset, std::int64_t bytes);
  void drop(PacketId id, LaneId lane);
  void retransmit(ConnectionId id);
  void send_again(ConnectionId id, std::int64_t offset, std::int64_t bytes);
  CongestionController* controller_of(const Connection& connection) const;

  // statistics.cpp
  void count_completion(const Connection& connection);
  QueueStatistics queue_statistics(LaneId id, double seconds) const;
  LinkCounts lane_counts(LaneId id) const;
  std::vector<LaneId> add_classes(PacketStatistics& all, double seconds) const;
  std::vector<LaneId> worst_queues(std::vector<LaneId> lanes, std::size_t most) const;
  std::string link_name(EdgeId edge) const;

  // watch.cpp: links that wait for each other in a circle
  void watch();
  std::vector<LaneId> waits_for(LaneId id) const;
  [[noreturn]] void report_circle(const std::vector<LaneId>& circle) const;

  // CongestionHost
  Connection& connection(ConnectionId id) override { return connections_[id]; }
  double line_rate(ConnectionId id) const override;
  void set_timer(ConnectionId id, int which, std::int64_t time) override;
  void wake(ConnectionId id) override;

  const NetworkGraph& graph_;
  PacketSpec spec_;
  PacketRouting routing_;
  Engine& engine_;
  PacketListener& listener_;
  std::unique_ptr<Router> router_;
  Random random_;
  EventWheel wheel_;
  std::uint32_t lane_count_ = 1;
  bool by_hop_ = false;
  bool is_adaptive_ = false;
  bool is_lossy_ = false;
  bool has_notes_ = false;

  std::int64_t now_ = 0;
  std::int64_t first_start_ = -1;
  std::uint64_t hops_ = 0;
  double hops_to_come_ = 0;               // of all transfers that were added, done or not
  std::uint64_t report_at_ = UINT64_MAX;  // hops
  Progress progress_;
  std::int64_t wake_at_ = EventWheel::never;
  Engine::EventId wake_;
  bool is_running_ = false;
  bool is_watching_ = false;

  std::vector<Port> ports_;
  std::vector<Lane> lanes_;
  std::vector<SharedBuffer> buffers_;
  std::vector<VertexId> buffer_of_;
  std::vector<Packet> packets_;
  PacketId free_packet_ = nothing;
  std::vector<HopNote> notes_;  // most_notes a packet, and their number in the last one's `queued`
  std::vector<EdgeId> paths_;
  std::unordered_map<PathKey, Path, PathHash> known_paths_;
  std::unordered_map<PathKey, std::uint32_t, PathHash> known_pairs_;  // queue pairs, by channel of the flow
  std::vector<std::uint32_t> flows_on_;                               // edge
  std::vector<std::uint32_t> most_flows_on_;

  std::vector<Connection> connections_;
  std::vector<Repair> repairs_;
  std::vector<Timer> timers_;
  std::vector<ConnectionId> free_connections_;
  std::vector<Gate> gates_;
  std::vector<GateId> free_gates_;
  std::vector<Pacer> pacers_;
  std::vector<PacerId> free_pacers_;
  std::vector<Feed> feeds_;
  std::vector<std::uint32_t> free_feeds_;
  std::vector<Transfer> transfers_;
  std::vector<TransferId> free_transfers_;
  std::uint32_t open_connections_ = 0;
  bool was_idle_ = false;  // at the last watch

  std::unique_ptr<CongestionController> ethernet_control_;
  std::unique_ptr<CongestionController> infiniband_control_;
  struct Totals {
    std::int64_t delivered = 0;
    std::int64_t asked = 0;
    std::int64_t resent = 0;
    std::uint64_t connections = 0;
    std::uint64_t collisions = 0;
    std::uint64_t notifications = 0;
    double completion_sum = 0;
    std::int64_t last_completion = 0;
  } totals_;
  std::vector<float> completions_;  // us
  std::vector<SlowFlow> slowest_;
};

}  // namespace warploom
