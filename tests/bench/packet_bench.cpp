// SPDX-License-Identifier: Apache-2.0
// The packet network's speed: packet-hops a second of one core.
#include <benchmark/benchmark.h>

#include "network/packet/packet_fabric.hpp"
#include "network/topologies.hpp"

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

struct Done : BundleListener {
  void on_bundle_done(std::uint64_t /*token*/, bool /*alike*/) override {}
};

// Ring all-reduce of 64 MB on 64 devices, 8 a node, in turn.
void ring_all_reduce(benchmark::State& state) {
  const auto value = parse_config_text(
      "kind: rail_fat_tree\n"
      "node: {gpus: 8, nvlink: {links: 18, rate: 25 GB/s, efficiency: 0.82}}\n"
      "nic: {count: 8, rate: 400 Gb/s, efficiency: 0.97, latency: 500 ns}\n"
      "tiers: [{name: leaf, of: 4, latency: 500 ns}, {name: spine, of: 2}]\n",
      "bench.yaml");
  Diagnostics diagnostics;
  const std::shared_ptr<const Topology> topology = topology_registry().make(value, diagnostics, 64);
  diagnostics.throw_if_any();
  Group all;
  all.members.digits = {{64, 1}};
  all.instances = {{0, {}}};
  Bundle bundle;
  bundle.traffic = {FlowPattern::ring, 0};
  bundle.bytes_per_flow = Bytes(64'000'000) * 126 / 64;
  bundle.first = Bytes(64'000'000) / 64;
  std::uint64_t hops = 0;
  for (auto _ : state) {
    Engine engine;
    Done done;
    PacketFabric fabric({}, topology, engine, done);
    fabric.prepare(std::span(&all, 1), std::span(&bundle.traffic, 1));
    fabric.start(bundle, 0);
    engine.run();
    hops += fabric.network().hops();
    state.counters["simulated_us"] = engine.now().microseconds();
  }
  state.counters["hops"] = benchmark::Counter(static_cast<double>(hops), benchmark::Counter::kIsRate);
}

BENCHMARK(ring_all_reduce)->Unit(benchmark::kMillisecond);
BENCHMARK(infiniband)->Arg(2)->Arg(8)->Arg(32)->Unit(benchmark::kMillisecond);
BENCHMARK(ethernet)->Arg(2)->Arg(8)->Arg(32)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace warploom

BENCHMARK_MAIN();
