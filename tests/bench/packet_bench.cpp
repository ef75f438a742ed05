// SPDX-License-Identifier: Apache-2.0
// The packet network's speed: packet-hops a second of one core.
#include <benchmark/benchmark.h>

#include "network/packet/network.hpp"

namespace warploom {
namespace {

// `leaves` of 8 devices each, as many spines as a leaf has devices.
NetworkGraph clos(std::uint32_t leaves, LinkProtocol protocol) {
  NetworkGraph graph;
  const VertexId device = graph.add({"device", VertexKind::device, 0, leaves * 8, false});
  const VertexId leaf = graph.add({"leaf", VertexKind::network_switch, 0, leaves});
  const VertexId spine = graph.add({"spine", VertexKind::network_switch, 0, 8});
  LinkKind card;
  card.name = "nic";
  card.protocol = protocol;
  card.rate = Bandwidth(50e9);
  card.latency = Time::picoseconds(500'000);
  const auto nic = graph.add(card);
  for (VertexId i = 0; i < leaves * 8; ++i) graph.connect(device + i, leaf + i / 8, nic);
  for (VertexId l = 0; l < leaves; ++l) {
    for (VertexId s = 0; s < 8; ++s) graph.connect(leaf + l, spine + s, nic);
  }
  graph.finish();
  return graph;
}

struct Listener : PacketListener {
  void on_transfer_done(TransferId /*id*/) override {}
};

// Every device sends to the one `shift` further, over hashed paths that collide.
void permutation(benchmark::State& state, LinkProtocol protocol) {
  const auto leaves = static_cast<std::uint32_t>(state.range(0));
  const NetworkGraph graph = clos(leaves, protocol);
  const std::uint32_t devices = leaves * 8;
  std::uint64_t hops = 0;
  for (auto _ : state) {
    Engine engine;
    Listener listener;
    PacketNetwork network(graph, {}, engine, listener);
    const TransferId transfer = network.open();
    for (std::uint32_t i = 0; i < devices; ++i) {
      PacketFlow flow;
      flow.from = i;
      flow.to = (i + 13) % devices;
      flow.bytes = Bytes(16'000'000);
      network.add(transfer, flow);
    }
    network.start(transfer);
    engine.run();
    hops += network.hops();
  }
  state.counters["hops"] = benchmark::Counter(static_cast<double>(hops), benchmark::Counter::kIsRate);
}

void infiniband(benchmark::State& state) { permutation(state, LinkProtocol::infiniband); }
void ethernet(benchmark::State& state) { permutation(state, LinkProtocol::ethernet); }

BENCHMARK(infiniband)->Arg(2)->Arg(8)->Arg(32)->Unit(benchmark::kMillisecond);
BENCHMARK(ethernet)->Arg(2)->Arg(8)->Arg(32)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace warploom

BENCHMARK_MAIN();
