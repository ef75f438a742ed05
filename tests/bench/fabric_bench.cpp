// SPDX-License-Identifier: Apache-2.0
// The fabric's cost against the number of devices: prepare, play one ring, solve; and a check that nothing grows.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cstdlib>
#include <ctime>
#include <iostream>
#include <map>

#include "network/collective_estimate.hpp"
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

// `each` flows a device to random others: nothing folds, everything is connected.
Job random_pairs(std::int64_t devices, int each) {
  Job job;
  std::uint64_t x = 1;
  for (Rank rank = 0; rank < devices * each; ++rank) {
    x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    const Rank from = rank % devices;
    const auto to = static_cast<Rank>((x >> 33) % static_cast<std::uint64_t>(devices));
    if (to == from) continue;
    Group group;
    group.members.digits = {{2, to - from}};
    group.instances = {{from, {}}};
    job.traffic.push_back({FlowPattern::pair, static_cast<GroupId>(job.groups.size())});
    job.groups.push_back(group);
  }
  return job;
}

// All at once, of random sizes, until the last has ended.
void drain(benchmark::State& state, const std::string& name) {
  const std::int64_t devices = state.range(0);
  const Network network = cluster(name, devices);
  const Job job = random_pairs(devices, static_cast<int>(state.range(1)));
  Engine engine;
  Listener listener;
  FluidFabric fabric(network.topology, engine, listener);
  fabric.prepare(job.groups, job.traffic);
  for (auto _ : state) {
    std::uint64_t x = 7;
    for (const auto& traffic : job.traffic) {
      x = x * 6364136223846793005ULL + 1442695040888963407ULL;
      fabric.start({traffic, false, Bytes(50'000'000 + static_cast<std::int64_t>(x >> 33) % 50'000'000), Bandwidth{0}},
                   0);
    }
    engine.run();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(job.traffic.size()));
  count(state, fabric);
  state.counters["touched_a_solve"] =
      static_cast<double>(fabric.counters().variables_touched) / static_cast<double>(fabric.counters().solves);
  state.counters["fills_a_solve"] =
      static_cast<double>(fabric.rates().fills()) / static_cast<double>(fabric.counters().solves);
}

void BM_DrainRandomPairs(benchmark::State& state) { drain(state, "dgx_h100"); }
void BM_DrainRandomPairsOverThinPods(benchmark::State& state) { drain(state, "meta_24k_h100"); }
BENCHMARK(BM_DrainRandomPairs)
    ->Args({1024, 1})
    ->Args({1024, 4})
    ->Args({4096, 4})
    ->Args({65536, 1})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_DrainRandomPairsOverThinPods)->Args({1024, 4})->Args({4096, 4})->Unit(benchmark::kMillisecond);

// Folding what does not fold.
void BM_PrepareRandomPairs(benchmark::State& state) {
  const Network network = cluster("dgx_h100", state.range(0));
  const Job job = random_pairs(state.range(0), static_cast<int>(state.range(1)));
  for (auto _ : state) benchmark::DoNotOptimize(fold(*network.topology, job.groups, job.traffic).links.size());
}
BENCHMARK(BM_PrepareRandomPairs)->Args({1024, 4})->Args({4096, 4})->Args({65536, 1})->Unit(benchmark::kMillisecond);

// A three-tier network of hashed paths: cards, `devices` / 16 uplinks a tier of 16 each, as explicit flows.
Folding hashed_permutation(std::uint32_t devices) {
  Folding folding;
  folding.links.resize(std::size_t{4} * devices);
  for (std::size_t l = 0; l < folding.links.size(); ++l) folding.links[l].capacity = 50e9;
  std::uint64_t x = 3;
  const auto random = [&x](std::uint32_t below) {
    x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>((x >> 33) % below);
  };
  folding.variables.resize(devices);
  for (VariableId v = 0; v < devices; ++v) {
    const std::uint32_t to = random(devices);
    const LinkClassId path[] = {v, devices + v / 16 * 16 + random(16), 2 * devices + to / 16 * 16 + random(16),
                                3 * devices + to};
    for (const LinkClassId link : path) {
      folding.variables[v].links.push_back({link, units_per_flow});
      folding.links[link].usage.push_back({v, units_per_flow});
    }
  }
  return folding;
}

void BM_SolveOnce(benchmark::State& state) {
  const Folding folding = hashed_permutation(static_cast<std::uint32_t>(state.range(0)));
  WaterFilling filling(folding);
  std::vector<WaterFilling::Job> jobs(folding.variables.size());
  for (auto _ : state) {
    for (VariableId v = 0; v < jobs.size(); ++v) jobs[v] = {v};
    filling.solve(jobs);
    benchmark::DoNotOptimize(jobs.data());
  }
}
BENCHMARK(BM_SolveOnce)->Arg(8192)->Arg(32768)->Arg(131072)->Unit(benchmark::kMillisecond);

// One call as `warploom collective` plays it: planned, prepared, played.
void BM_EstimateRing(benchmark::State& state) {
  const Network network = cluster("dgx_h100", state.range(0));
  const Call call{CollectiveKind::all_reduce, Bytes(state.range(1)), DataType::bf16, 0};
  for (auto _ : state)
    benchmark::DoNotOptimize(estimate_chosen(network, call, first_ranks(state.range(0)), {"ring", ""}).duration);
}
BENCHMARK(BM_EstimateRing)
    ->Args({1024, 1 << 20})
    ->Args({1024, 1'000'000'000})
    ->Args({16384, 1 << 20})
    ->Args({16384, 1'000'000'000})
    ->Unit(benchmark::kMillisecond);

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

std::int64_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks) + static_cast<std::int64_t>(info.hblkhd);
}

double seconds(std::clock_t since) { return static_cast<double>(std::clock() - since) / CLOCKS_PER_SEC; }

struct Drained {
  double touched_a_solve = 0;
  double seconds_a_solve = 0;
  double bytes_a_flow = 0;
};

Drained drained(std::int64_t devices, int each) {
  const Network network = cluster("dgx_h100", devices);
  const Job job = random_pairs(devices, each);
  const std::int64_t before = heap_bytes();
  Engine engine;
  Listener listener;
  FluidFabric fabric(network.topology, engine, listener);
  fabric.prepare(job.groups, job.traffic);
  for (std::size_t i = 0; i < job.traffic.size(); ++i)
    fabric.start(
        {job.traffic[i], false, Bytes(50'000'000 + static_cast<std::int64_t>(i * 7919 % 50'000'000)), Bandwidth{0}}, 0);
  engine.step();
  Drained result;
  result.bytes_a_flow = static_cast<double>(heap_bytes() - before) / static_cast<double>(job.traffic.size());
  const auto solves = fabric.counters().solves;
  const auto touched = fabric.counters().variables_touched;
  const std::clock_t start = std::clock();
  engine.run();
  const auto count = static_cast<double>(fabric.counters().solves - solves);
  result.seconds_a_solve = seconds(start) / count;
  result.touched_a_solve = static_cast<double>(fabric.counters().variables_touched - touched) / count;
  return result;
}

// A departure touches a few flows however many there are, costs far less than filling all of them, and what a flow
// holds is bounded.
bool repairs_badly() {
  const Drained small = drained(1024, 4);
  const Drained large = drained(4096, 4);
  const Drained wide = drained(65536, 1);
  const Folding folding = hashed_permutation(16384);
  WaterFilling filling(folding);
  std::vector<WaterFilling::Job> jobs(folding.variables.size());
  for (VariableId v = 0; v < jobs.size(); ++v) jobs[v].variable = v;
  const std::clock_t start = std::clock();
  filling.solve(jobs);
  const double full = seconds(start);
  const bool bad = large.touched_a_solve > 1.5 * small.touched_a_solve || large.touched_a_solve > 20 ||
                   large.seconds_a_solve * 50 > full || wide.bytes_a_flow > 4096;
  std::cerr << "random pairs: rates found anew a departure " << small.touched_a_solve << " -> " << large.touched_a_solve
            << "; a repair is " << full / large.seconds_a_solve << " times cheaper than a solve of 16,384 flows; "
            << wide.bytes_a_flow << " bytes a flow of 65,536" << (bad ? "  REPAIRS BADLY\n" : "\n");
  return bad;
}

}  // namespace
}  // namespace warploom

int main(int argc, char** argv) {
  const bool rail_grows = warploom::grows("dgx_h100");
  const bool clos_grows = warploom::grows("meta_24k_h100");
  const bool repairs_badly = warploom::repairs_badly();
  if (rail_grows || clos_grows || repairs_badly) return EXIT_FAILURE;
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return EXIT_SUCCESS;
}
