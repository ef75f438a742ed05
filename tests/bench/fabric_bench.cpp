// SPDX-License-Identifier: Apache-2.0
// The fabric's cost against the number of devices: prepare, play one ring, solve; and a check that nothing grows.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <iostream>
#include <map>

#include "network/fabrics/fluid.hpp"
#include "network/network.hpp"
#include "sim/core/config_value.hpp"

namespace warploom {
namespace {

constexpr std::int64_t tensor = 8;
constexpr std::int64_t stages = 16;

Network cluster(const std::string& name, std::int64_t devices) {
  const Library library({WARPLOOM_SOURCE_DIR "/configs"});
  const auto value =
      load_config(WARPLOOM_SOURCE_DIR "/configs/clusters/" + name + ".yaml", {"network.tiers[2].of=64"}, library);
  Diagnostics diagnostics;
  auto made = make_network(*value.find("network"), *value.find("library"), devices, diagnostics);
  diagnostics.throw_if_any();
  return made;
}

struct Job {
  std::vector<Group> groups;
  std::vector<Traffic> traffic;
};

// TP8 x PP16 x DP, Megatron's order: rings in nodes, rings over replicas, pairs between stages, both ways.
Job training_job(std::int64_t devices) {
  const std::int64_t replicas = devices / (tensor * stages);
  Job job;
  const auto add = [&job](FlowPattern pattern, std::vector<Stride> members, Rank base, std::vector<Stride> instances) {
    Group group;
    group.members.digits = std::move(members);
    group.instances = {{base, std::move(instances)}};
    job.traffic.push_back({pattern, static_cast<GroupId>(job.groups.size())});
    job.groups.push_back(std::move(group));
  };
  const Stride replica{replicas, tensor * stages};
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    add(FlowPattern::ring, {{tensor, 1}}, stage * tensor, {replica});
    add(FlowPattern::ring, {replica}, stage * tensor, {{tensor, 1}});
    if (stage + 1 < stages) {
      add(FlowPattern::pair, {{2, tensor}}, stage * tensor, {{tensor, 1}, replica});
      add(FlowPattern::pair, {{2, -tensor}}, (stage + 1) * tensor, {{tensor, 1}, replica});
    }
  }
  add(FlowPattern::pair, {{2, tensor * (stages - 1)}}, 0, {{tensor, 1}, replica});  // tied embeddings
  return job;
}

struct Listener : BundleListener {
  int done = 0;
  void on_bundle_done(std::uint64_t /*token*/, bool /*alike*/) override { ++done; }
};

void count(benchmark::State& state, const FluidFabric& fabric) {
  state.counters["link_classes"] = static_cast<double>(fabric.counters().link_classes);
  state.counters["variables"] = static_cast<double>(fabric.counters().variables);
  state.counters["tree_vertices"] = static_cast<double>(fabric.folding().tree_vertices);
}

void prepare_and_ring(benchmark::State& state, const std::string& name) {
  const std::int64_t devices = state.range(0);
  const Network network = cluster(name, devices);
  const Job job = training_job(devices);
  for (auto _ : state) {
    Engine engine;
    Listener listener;
    FluidFabric fabric(network.topology, engine, listener);
    fabric.prepare(job.groups, job.traffic);
    fabric.start({{FlowPattern::ring, 1}, true, Bytes(1'000'000'000), Bandwidth{0}}, 0);
    engine.run();
    benchmark::DoNotOptimize(listener.done);
    count(state, fabric);
  }
}

void BM_RailTree(benchmark::State& state) { prepare_and_ring(state, "dgx_h100"); }
void BM_Clos(benchmark::State& state) { prepare_and_ring(state, "meta_24k_h100"); }
BENCHMARK(BM_RailTree)->Arg(1024)->Arg(4096)->Arg(16384)->Arg(65536)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Clos)->Arg(1024)->Arg(4096)->Arg(16384)->Arg(65536)->Unit(benchmark::kMillisecond);

// Calls a second while all stages' traffic runs: arrivals and departures in one connected component.
void BM_BusyFabric(benchmark::State& state) {
  const Network network = cluster("meta_24k_h100", 16384);
  const Job job = training_job(16384);
  Engine engine;
  Listener listener;
  FluidFabric fabric(network.topology, engine, listener);
  fabric.prepare(job.groups, job.traffic);
  std::int64_t calls = 0;
  for (auto _ : state) {
    for (const auto& traffic : job.traffic) {
      fabric.start({traffic, is_coupled(traffic.pattern), Bytes(1'000'000 + calls % 7 * 100'000), Bandwidth{0}}, 0);
      ++calls;
    }
    engine.run();
  }
  state.SetItemsProcessed(calls);
  state.counters["touched_a_solve"] =
      static_cast<double>(fabric.counters().variables_touched) / static_cast<double>(fabric.counters().solves);
}
BENCHMARK(BM_BusyFabric);

// Pairs of a random permutation: nothing folds, everything is connected.
void BM_RandomPairs(benchmark::State& state) {
  const std::int64_t devices = state.range(0);
  const Network network = cluster("dgx_h100", devices);
  Job job;
  std::uint64_t x = 1;
  for (Rank rank = 0; rank < devices; ++rank) {
    x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto to = static_cast<Rank>((x >> 33) % static_cast<std::uint64_t>(devices));
    if (to == rank) continue;
    Group group;
    group.members.digits = {{2, to - rank}};
    group.instances = {{rank, {}}};
    job.traffic.push_back({FlowPattern::pair, static_cast<GroupId>(job.groups.size())});
    job.groups.push_back(group);
  }
  Engine engine;
  Listener listener;
  FluidFabric fabric(network.topology, engine, listener);
  fabric.prepare(job.groups, job.traffic);
  for (auto _ : state) {
    for (const auto& traffic : job.traffic) fabric.start({traffic, true, Bytes(100'000'000), Bandwidth{0}}, 0);
    engine.run();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * job.traffic.size()));
}
BENCHMARK(BM_RandomPairs)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);

// Folded sizes at 4k and 64k devices; more classes for more devices is a failure, a few more vertices (log) are not.
bool grows(const std::string& name) {
  std::map<std::int64_t, std::array<std::size_t, 3>> sizes;
  for (const std::int64_t devices : {4096, 65536}) {
    const Network network = cluster(name, devices);
    const Job job = training_job(devices);
    const Folding folding = fold(*network.topology, job.groups, job.traffic);
    sizes[devices] = {folding.links.size(), folding.variables.size(), folding.tree_vertices};
  }
  const auto& small = sizes[4096];
  const auto& large = sizes[65536];
  const bool bad = large[0] > small[0] + 64 || large[1] > small[1] + 16 || large[2] > 4 * small[2];
  std::cerr << name << ": link classes " << small[0] << " -> " << large[0] << ", variables " << small[1] << " -> "
            << large[1] << ", tree vertices " << small[2] << " -> " << large[2]
            << (bad ? "  GROWS WITH DEVICES\n" : "\n");
  return bad;
}

}  // namespace
}  // namespace warploom

int main(int argc, char** argv) {
  const bool rail_grows = warploom::grows("dgx_h100");
  const bool clos_grows = warploom::grows("meta_24k_h100");
  if (rail_grows || clos_grows) return EXIT_FAILURE;
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return EXIT_SUCCESS;
}
