// SPDX-License-Identifier: Apache-2.0
// What the packet network's tests share: small graphs, and a player of transfers.
#pragma once

#include <vector>

#include "network/packet/network.hpp"
#include "sim/core/engine.hpp"
#include "sim/core/errors.hpp"

namespace warploom::test {

inline LinkKind wire(LinkProtocol protocol, Bandwidth rate, Time latency) {
  LinkKind kind;
  kind.name = "wire";
  kind.protocol = protocol;
  kind.rate = rate;
  kind.latency = latency;
  return kind;
}

// `devices` at one switch; edge 2 i leads from device i up, 2 i + 1 down to it.
inline NetworkGraph star(std::uint32_t devices, const LinkKind& kind) {
  NetworkGraph graph;
  graph.add({"device", VertexKind::device, 0, devices, false});
  const VertexId middle = graph.add({"switch", VertexKind::network_switch, 0, 1});
  const auto cable = graph.add(kind);
  for (VertexId i = 0; i < devices; ++i) graph.connect(i, middle, cable);
  graph.finish();
  return graph;
}

// `each` devices at each of two switches, joined by one link of kind `middle`: edges 0, 1.
inline NetworkGraph dumbbell(std::uint32_t each, const LinkKind& kind, const LinkKind& middle) {
  NetworkGraph graph;
  graph.add({"device", VertexKind::device, 0, 2 * each, false});
  const VertexId first = graph.add({"switch", VertexKind::network_switch, 0, 2});
  const auto cable = graph.add(kind);
  const auto trunk = graph.add(middle);
  graph.connect(first, first + 1, trunk);
  for (VertexId i = 0; i < 2 * each; ++i) graph.connect(i, first + i / each, cable);
  graph.finish();
  return graph;
}

// Without what slows senders down or is random.
inline PacketSpec plain() {
  PacketSpec spec;
  spec.ethernet.congestion_control = CongestionControl::none;
  spec.ethernet.ecn.enabled = false;
  return spec;
}

class PacketBench : public PacketListener, public EventSink {
 public:
  PacketBench(const NetworkGraph& graph, const PacketSpec& spec, const RoutingSpec& routing = {})
      : network(graph, spec, engine, *this, nullptr, routing) {}

  PacketFlow flow(VertexId from, VertexId to, Bytes bytes, std::uint32_t channel = 0) {
    PacketFlow made;
    made.from = from;
    made.to = to;
    made.bytes = bytes;
    made.channel = channel;
    return made;
  }
  // A transfer of its own that starts at `time`.
  TransferId at(Time time, const PacketFlow& flow) {
    const TransferId id = network.open();
    network.add(id, flow);
    ends.resize(std::max<std::size_t>(ends.size(), id + 1), Time::picoseconds(-1));
    engine.at(time, *this, id);
    return id;
  }
  void on_event(std::uint64_t id) override { network.start(static_cast<TransferId>(id)); }
  void on_transfer_done(TransferId id) override {
    ends.resize(std::max<std::size_t>(ends.size(), id + 1), Time::picoseconds(-1));
    ends[id] = engine.now();
  }
  void run() { engine.run(); }
  // Until `time`, as far as there is something to do.
  void run_until(Time time) {
    struct Stop : EventSink {
      bool reached = false;
      void on_event(std::uint64_t) override { reached = true; }
    } stop;
    engine.at(time, stop, 0);
    while (!stop.reached && engine.step()) {
    }
  }

  Engine engine;
  PacketNetwork network;
  std::vector<Time> ends;
};

}  // namespace warploom::test
