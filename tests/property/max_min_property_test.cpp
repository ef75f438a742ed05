// SPDX-License-Identifier: Apache-2.0
// Local repair gives the rates of a full solve, whatever comes, goes and changes; and the full solve is max-min fair.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

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

}  // namespace
}  // namespace warploom
