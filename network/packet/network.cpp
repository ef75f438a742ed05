// SPDX-License-Identifier: Apache-2.0
// Events of the packet network, and transfers.
#include "network/packet/network.hpp"

#include <algorithm>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::uint64_t wake_payload = 0;

// Packets a ps that all edges can send together.
double packet_rate(const NetworkGraph& graph) {
  double rate = 0;
  for (EdgeId edge = 0; edge < graph.edge_count(); ++edge) {
    if (graph.link(edge).health > 0) rate += graph.payload(edge).value() / 4096;
  }
  return rate / 1e12;
}

}  // namespace

PacketNetwork::PacketNetwork(const NetworkGraph& graph, const PacketSpec& spec, Engine& engine,
                             PacketListener& listener, std::unique_ptr<Router> router, const RoutingSpec& routing)
    : graph_(graph),
      spec_(spec),
      routing_(packet_routing(spec, routing)),
      engine_(engine),
      listener_(listener),
      router_(router ? std::move(router) : std::make_unique<Router>(graph)),
      random_(static_cast<std::uint64_t>(spec.seed)),
      wheel_(packet_rate(graph)),
      lane_count_(static_cast<std::uint32_t>(spec.lanes)),
      by_hop_(spec.lane_choice == LaneChoice::by_hop),
      is_adaptive_(routing_.paths == PacketPaths::adaptive) {
  WARPLOOM_CHECK(graph.edge_count() * lane_count_ < (1U << id_bits), "a network of {} edges", graph.edge_count());
  paths_.push_back(nothing);
  make_ports();
  make_buffers();
  ethernet_control_ = make_controller(spec_.ethernet, *this);
  infiniband_control_ = make_controller(spec_.infiniband.congestion_control, *this);
  has_notes_ = ethernet_control_ && ethernet_control_->wants_notes();
}

PacketNetwork::~PacketNetwork() = default;

// ---- Events -------------------------------------------------------------------------------------------------------

void PacketNetwork::on_event(std::uint64_t payload) {
  if ((payload & done_bit) != 0) return finish_transfer(static_cast<TransferId>(payload));
  wake_at_ = EventWheel::never;
  run();
}

// Everything up to the engine's next event.
void PacketNetwork::run() {
  const std::int64_t here = engine_.now().ps();
  is_running_ = true;
  while (true) {
    const std::int64_t time = wheel_.next_time();
    if (time == EventWheel::never || (time > here && time >= engine_.next_time().ps())) break;
    now_ = time;
    const EventWheel::Event event = wheel_.pop();
    if (const auto* coming = wheel_.coming()) fetch(*coming);
    dispatch(event);
    if (hops_ >= report_at_) report();
  }
  is_running_ = false;
  schedule_wake();
}

void PacketNetwork::set_progress(Progress progress) {
  progress_ = std::move(progress);
  report_at_ = progress_ ? hops_ : UINT64_MAX;
}

void PacketNetwork::report() {
  constexpr std::uint64_t step = 1 << 18;
  report_at_ = hops_ + step;
  const auto all = static_cast<std::size_t>(hops_to_come_);
  progress_(std::min<std::size_t>(hops_, all), all);
}

// What is left when nothing is on its way (timers, late answers) keeps nobody awake.
void PacketNetwork::schedule_wake() {
  if (is_running_ || open_connections_ == 0 || wheel_.empty()) return;
  const std::int64_t time = wheel_.next_time();
  if (time >= wake_at_) return;
  if (wake_at_ != EventWheel::never) engine_.cancel(wake_);
  wake_at_ = time;
  wake_ = engine_.at(Time::picoseconds(time), *this, wake_payload);
}

// Of what kept nobody awake.
void PacketNetwork::catch_up() {
  if (is_running_) return;
  const std::int64_t here = engine_.now().ps();
  is_running_ = true;
  while (wheel_.next_time() < here) {
    now_ = wheel_.next_time();
    dispatch(wheel_.pop());
  }
  is_running_ = false;
  now_ = here;
}

void PacketNetwork::dispatch(EventWheel::Event event) {
  const std::uint32_t id = event.payload & ((1U << id_bits) - 1);
  const auto timer = [&](int which) {
    const bool is_due = timers_[id].time[which] == now_;
    if (is_due) timers_[id].time[which] = EventWheel::never;
    if (is_due && connections_[id].finished < 0) controller_of(connections_[id])->on_timer(id, which, now_);
    release_connection(id);
  };
  switch (static_cast<Kind>(event.payload >> id_bits)) {
    case Kind::arrive:
      return arrive(id);
    case Kind::kick:
      return kick(id);
    case Kind::answer:
      return answer(id);
    case Kind::ready:
      connections_[id].waits_for_time = false;
      try_ready(id);
      return release_connection(id);
    case Kind::pause:
      return set_paused(id, true);
    case Kind::resume:
      return set_paused(id, false);
    case Kind::timer0:
      return timer(0);
    case Kind::timer1:
      return timer(1);
    case Kind::retransmit:
      retransmit(id);
      return release_connection(id);
    case Kind::watch:
      return watch();
  }
}

// ---- Transfers ----------------------------------------------------------------------------------------------------

TransferId PacketNetwork::open() {
  if (free_transfers_.empty()) {
    transfers_.emplace_back();
    return static_cast<TransferId>(transfers_.size() - 1);
  }
  const TransferId id = free_transfers_.back();
  free_transfers_.pop_back();
  transfers_[id] = {};
  return id;
}

void PacketNetwork::start(TransferId id) {
  catch_up();
  if (first_start_ < 0) first_start_ = now_;
  Transfer& transfer = transfers_[id];
  transfer.open = static_cast<std::uint32_t>(transfer.connections.size());
  if (transfer.open == 0) {
    engine_.at(engine_.now(), *this, done_bit | id);
    return;
  }
  for (const ConnectionId connection : transfer.connections) {
    Connection& c = connections_[connection];
    c.started = now_;
    if (auto* controller = controller_of(c)) controller->on_start(connection, now_);
    try_ready(connection);
  }
  open_connections_ += transfer.open;
  if (!is_watching_) {
    is_watching_ = true;
    push(now_ + spec_.watch.ps(), Kind::watch, 0);
  }
  schedule_wake();
}

void PacketNetwork::limit(TransferId id, Bandwidth rate) {
  const Transfer& transfer = transfers_[id];
  for (std::size_t i = 0; i < transfer.connections.size(); ++i) {
    Connection& c = connections_[transfer.connections[i]];
    double most = transfer.limits[i];
    const double part = rate.value() * c.weight;
    if (part > 0 && (most <= 0 || part < most)) most = part;
    c.limit_gap = most > 0 ? 1e12 / most : 0;
  }
}

void PacketNetwork::finish_transfer(TransferId id) {
  Transfer& transfer = transfers_[id];
  for (const ConnectionId connection : transfer.connections) {
    Connection& c = connections_[connection];
    c.transfer = nothing;
    ++c.references;
    release_connection(connection);
  }
  for (const GateId gate : transfer.gates) free_gates_.push_back(gate);
  for (const PacerId pacer : transfer.pacers) free_pacers_.push_back(pacer);
  for (const std::uint32_t feed : transfer.feeds) free_feeds_.push_back(feed);
  transfer = {};
  free_transfers_.push_back(id);
  listener_.on_transfer_done(id);
}

// One packet or event that names the connection is gone; the last one after its transfer frees it.
void PacketNetwork::release_connection(ConnectionId id) {
  Connection& c = connections_[id];
  if (--c.references == 0 && c.transfer == nothing) free_connections_.push_back(id);
}

double PacketNetwork::line_rate(ConnectionId id) const {
  return 1 / ports_[connections_[id].lane / lane_count_].ps_per_byte;
}

void PacketNetwork::set_timer(ConnectionId id, int which, std::int64_t time) {
  if (timers_[id].time[which] == time) return;
  timers_[id].time[which] = time;
  if (time == EventWheel::never) return;
  ++connections_[id].references;
  push(time, which == 0 ? Kind::timer0 : Kind::timer1, id);
}

void PacketNetwork::wake(ConnectionId id) { try_ready(id); }

CongestionController* PacketNetwork::controller_of(const Connection& connection) const {
  if (!connection.is_watched) return nullptr;
  return connection.is_infiniband ? infiniband_control_.get() : ethernet_control_.get();
}

}  // namespace warploom
