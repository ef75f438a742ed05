// SPDX-License-Identifier: Apache-2.0
// Local repair gives the rates of a full solve, whatever comes, goes and changes; and the full solve is max-min fair.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "network/fabrics/graph_fold.hpp"
#include "network/fabrics/local_repair.hpp"

namespace warploom {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }

 private:
  std::mt19937_64 engine_;
};

// `variables` that cross 1 to `longest` of the links each, with whole and broken shares.
Folding random_folding(Random& random, std::size_t links, std::size_t variables, std::size_t longest) {
  Folding folding;
  folding.links.resize(links);
  folding.variables.resize(variables);
  for (FoldedLink& link : folding.links) link.capacity = 1e9 * static_cast<double>(1 + random.below(8)) * 12.5;
  for (VariableId v = 0; v < variables; ++v) {
    const std::size_t length = 1 + random.below(longest);
    for (std::size_t i = 0; i < length; ++i) {
      const auto link = static_cast<LinkClassId>(random.below(links));
      if (std::ranges::find(folding.variables[v].links, link, &Share::id) != folding.variables[v].links.end()) continue;
      const std::int64_t units = units_per_flow / static_cast<std::int64_t>(1 + random.below(3));
      folding.variables[v].links.push_back({link, units});
      folding.links[link].usage.push_back({v, units});
    }
  }
  return folding;
}

struct Running {
  LocalRepair::FlowId flow;
  VariableId variable;
  double limit;
};

// Of all running flows, by filling them all.
std::vector<WaterFilling::Job> full_solve(const Folding& folding, const std::vector<Running>& running) {
  std::vector<WaterFilling::Job> jobs;
  for (const Running& one : running) jobs.push_back({one.variable, one.limit});
  WaterFilling(folding).solve(jobs);
  return jobs;
}

// Every flow runs at its limit or has a full link on which none is faster; no link carries more than it can.
void expect_max_min(const Folding& folding, const std::vector<WaterFilling::Job>& jobs) {
  std::vector<double> load(folding.links.size(), 0);
  std::vector<double> fastest(folding.links.size(), 0);
  for (const auto& job : jobs) {
    for (const Share& share : folding.variables[job.variable].links) {
      load[share.id] += job.rate * static_cast<double>(share.units) / static_cast<double>(folding.units_per_flow);
      fastest[share.id] = std::max(fastest[share.id], job.rate);
    }
  }
  for (std::size_t l = 0; l < load.size(); ++l) ASSERT_LE(load[l], folding.links[l].capacity * (1 + 1e-12));
  for (const auto& job : jobs) {
    const bool owns_one = std::ranges::any_of(folding.variables[job.variable].links, [&](const Share& share) {
      return load[share.id] >= folding.links[share.id].capacity * (1 - 1e-9) &&
             job.rate >= fastest[share.id] * (1 - 1e-12);
    });
    ASSERT_TRUE(owns_one || job.rate == job.limit);
  }
}

struct Seen {
  int solves = 0;
  std::size_t rates = 0;
  std::size_t to_the_bit = 0;
  std::size_t found_anew = 0;
};

void play(std::uint64_t seed, std::size_t component_below, Seen& seen) {
  Random random(seed);
  const std::size_t links = 4 + random.below(60);
  const std::size_t most = 10 + random.below(300);
  const Folding folding = random_folding(random, links, 1 + random.below(400), 2 + random.below(5));
  LocalRepair repair(folding, component_below);
  std::vector<Running> running;
  const auto limit = [&] {
    return random.below(3) == 0 ? 1e8 * static_cast<double>(1 + random.below(200)) : WaterFilling::unlimited;
  };
  for (int step = 0; step < 120; ++step) {
    // A few changes of one instant; at first many.
    const std::size_t changes = step == 0 ? most : 1 + random.below(3);
    for (std::size_t c = 0; c < changes; ++c) {
      const std::size_t what = random.below(5);
      if (step == 0 || running.empty() || (what < 2 && running.size() < most)) {
        const auto variable = static_cast<VariableId>(random.below(folding.variables.size()));
        const double most_rate = limit();
        running.push_back({repair.add(variable, most_rate), variable, most_rate});
      } else if (what < 4) {
        const std::size_t i = random.below(running.size());
        repair.remove(running[i].flow);
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        Running& one = running[random.below(running.size())];
        one.limit = limit();
        repair.set_limit(one.flow, one.limit);
      }
    }
    seen.found_anew += repair.solve().size();
    ++seen.solves;
    if (running.empty()) continue;
    const auto jobs = full_solve(folding, running);
    for (std::size_t i = 0; i < running.size(); ++i) {
      const double rate = repair.rate(running[i].flow);
      ASSERT_NEAR(rate, jobs[i].rate, jobs[i].rate * 1e-12) << "seed " << seed << " step " << step;
      seen.to_the_bit += rate == jobs[i].rate ? 1 : 0;
      ++seen.rates;
    }
    if (step % 10 == 0) {
      ASSERT_NO_FATAL_FAILURE(expect_max_min(folding, jobs));
    }
  }
}

TEST(MaxMinProperty, LocalRepairEqualsAFullSolve) {
  Seen seen;
  for (std::uint64_t seed = 0; seed < 400 && !HasFailure(); ++seed) play(seed, 0, seen);
  EXPECT_LT(seen.found_anew * 2, seen.rates);           // otherwise everything was solved
  EXPECT_GE(seen.to_the_bit * 1000, seen.rates * 999);  // the same arithmetic, but for ties
  RecordProperty("rates", static_cast<int>(seen.rates));
  RecordProperty("to_the_bit", static_cast<int>(seen.to_the_bit));
  RecordProperty("found_anew", static_cast<int>(seen.found_anew));
}

TEST(MaxMinProperty, FewFlowsAreSolvedToTheBit) {
  Seen seen;
  for (std::uint64_t seed = 1000; seed < 1100 && !HasFailure(); ++seed) play(seed, 1000, seen);
  EXPECT_GE(seen.to_the_bit * 10000, seen.rates * 9999);  // parts that are not connected may differ by rounding
}

// A connected network of 12 to 40 devices that forward, of a few rates, some of its links weakened: random, a ring with
// chords, or a grid, where much is alike.
NetworkGraph random_graph(Random& random) {
  NetworkGraph graph;
  const auto devices = static_cast<std::uint32_t>(12 + random.below(28));
  graph.add({"device", VertexKind::device, 0, devices, true});
  std::vector<std::uint16_t> kinds;
  for (const double rate : {10e9, 25e9}) {
    LinkKind kind;
    kind.name = "wire";
    kind.rate = Bandwidth(rate);
    kinds.push_back(graph.add(kind));
  }
  for (VertexId v = 0; v < devices; ++v) graph.connect(v, (v + 1) % devices, kinds[0]);
  const std::size_t shape = random.below(3);
  for (VertexId v = 0; v < devices; ++v) {
    if (shape == 1) graph.connect(v, (v + 4) % devices, kinds[1]);
    const auto to = static_cast<VertexId>(random.below(devices));
    if (shape == 2 && to != v) graph.connect(v, to, kinds[random.below(2)]);
  }
  if (random.below(3) == 0) graph.set_health(static_cast<LinkIndex>(random.below(graph.links().size())), 0.5);
  graph.finish();
  return graph;
}

// Instances as one group, and a group each: the same rates, max-min fair.
TEST(MaxMinProperty, GraphsFoldWithoutChangingARate) {
  int folded = 0;
  for (std::uint64_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    Random random(seed);
    const NetworkGraph graph = random_graph(random);
    Router router(graph);
    const std::int64_t devices = graph.device_count();
    std::vector<Group> groups;
    std::vector<Traffic> traffic;
    for (std::size_t k = 0; k < 1 + random.below(3); ++k) {
      const auto members = static_cast<std::int64_t>(2 + random.below(4));
      const auto stride = static_cast<std::int64_t>(1 + random.below(2));
      const std::int64_t starts = devices - (members - 1) * stride;
      const FlowPattern patterns[] = {FlowPattern::ring, FlowPattern::chain, FlowPattern::all_pairs, FlowPattern::pair};
      const FlowPattern pattern = patterns[random.below(4)];
      Group group;
      group.members.digits = {{pattern == FlowPattern::pair ? 2 : members, stride}};
      group.instances = {{0, {{starts, 1}}}};
      traffic.push_back({pattern, static_cast<GroupId>(groups.size())});
      groups.push_back(group);
    }
    std::vector<Group> single_groups;
    std::vector<Traffic> single_traffic;
    std::vector<std::size_t> origin;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (std::int64_t i = 0; i < groups[g].instances[0].size(); ++i) {
        single_traffic.push_back({traffic[g].pattern, static_cast<GroupId>(single_groups.size())});
        single_groups.push_back({groups[g].members, {{i, {}}}});
        origin.push_back(g);
      }
    }
    GraphFoldOptions options;
    options.paths.kind = random.below(2) == 0 ? PathChoice::Kind::even_split : PathChoice::Kind::hashed;
    options.paths.queue_pairs = static_cast<int>(1 + random.below(3));
    options.paths.seed = seed;
    const auto solve = [](const Folding& folding) {
      std::vector<WaterFilling::Job> jobs;
      for (VariableId v = 0; v < folding.variables.size(); ++v) jobs.push_back({v});
      WaterFilling(folding).solve(jobs);
      return jobs;
    };
    const Folding all = fold_graph(graph, router, groups, traffic, options);
    const Folding single = fold_graph(graph, router, single_groups, single_traffic, options);
    const auto folded_jobs = solve(all);
    const auto single_jobs = solve(single);
    ASSERT_NO_FATAL_FAILURE(expect_max_min(single, single_jobs)) << "seed " << seed;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::vector<double> rates;
      for (std::size_t v = 0; v < single_jobs.size(); ++v) {
        if (origin[v] == g) rates.push_back(single_jobs[v].rate);
      }
      // Each of the classes' rates is one of theirs, and each of theirs is a class's.
      const auto [first, last] = all.of_traffic[g];
      for (VariableId v = first; v < last; ++v) {
        EXPECT_TRUE(
            std::ranges::any_of(rates, [&](double r) { return std::abs(r - folded_jobs[v].rate) <= 1e-12 * r; }));
      }
      for (const double rate : rates) {
        bool is_known = false;
        for (VariableId v = first; v < last; ++v) is_known |= std::abs(rate - folded_jobs[v].rate) <= 1e-12 * rate;
        EXPECT_TRUE(is_known) << "seed " << seed << " rate " << rate;
      }
    }
    folded += all.variables.size() < single.variables.size() ? 1 : 0;
  }
  EXPECT_GT(folded, 20);
}

}  // namespace
}  // namespace warploom
