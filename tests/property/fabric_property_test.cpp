// SPDX-License-Identifier: Apache-2.0
// The fluid fabric under random layouts and arrivals: fair, exact, and the same folded or not.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "network/fabrics/fluid.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

using test::FabricBench;

struct Case {
  std::string name;
  std::shared_ptr<const TieredTopology> topology;
  std::vector<Group> groups;
  std::vector<FabricBench::Start> starts;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n)); }
  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(below(static_cast<std::int64_t>(values.size())))];
  }

 private:
  std::mt19937_64 engine_;
};

// Digits of a layout: sizes in a random order, each with the stride that follows.
std::vector<Stride> random_layout(Random& random, std::vector<std::int64_t> sizes) {
  for (std::size_t i = sizes.size(); i > 1; --i)
    std::swap(sizes[i - 1], sizes[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  std::vector<Stride> digits;
  std::int64_t stride = 1;
  for (const auto size : sizes) {
    digits.push_back({size, stride});
    stride *= size;
  }
  return digits;
}

Case random_case(std::uint64_t seed) {
  Random random(seed);
  const std::vector<std::pair<std::string, std::int64_t>> places = {
      {test::rail_text, 512}, {test::clos_text, 768}, {test::few_cards_text, 480}};
  const auto& [text, most] = random.of(places);
  std::vector<std::int64_t> sizes = {random.of<std::int64_t>({1, 2, 4, 8}), random.of<std::int64_t>({1, 2, 3, 4, 5}),
                                     random.of<std::int64_t>({2, 3, 4, 6, 7, 8}), random.of<std::int64_t>({1, 2, 3})};
  const auto digits = random_layout(random, sizes);
  Case made;
  made.topology = test::topology(text, most);
  std::vector<Stride> used;
  std::int64_t product = 1;
  for (const auto& digit : digits) {
    if (product * digit.count > most) break;
    product *= digit.count;
    if (digit.count > 1) used.push_back(digit);
  }
  if (used.empty()) used.push_back({8, 1});
  made.name = "seed " + std::to_string(seed);
  // Rings, chains and all-to-alls along a digit or two, pairs between neighbours of a digit.
  const std::int64_t kinds = 2 + random.below(4);
  for (std::int64_t k = 0; k < kinds; ++k) {
    const auto along = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(used.size())));
    std::vector<Stride> rest = used;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(along));
    Group group;
    FlowPattern pattern = random.of<FlowPattern>({FlowPattern::ring, FlowPattern::ring, FlowPattern::chain,
                                                  FlowPattern::pair, FlowPattern::pair, FlowPattern::all_pairs,
                                                  FlowPattern::tree, FlowPattern::rails, FlowPattern::ports});
    if (pattern == FlowPattern::pair) {
      const auto digit = used[along];
      const std::int64_t from = random.below(digit.count - 1);
      const bool backward = random.below(2) == 1;
      group.members.digits = {{2, backward ? -digit.stride : digit.stride}};
      group.instances = {{(from + (backward ? 1 : 0)) * digit.stride, rest}};
    } else {
      group.members.digits = {used[along]};
      if (!rest.empty() && random.below(3) == 0) {
        group.members.digits.push_back(rest.back());
        rest.pop_back();
      }
      group.instances = {{0, rest}};
    }
    // A straggler leaves a hole: the first value of a digit apart from the others.
    if (!rest.empty() && random.below(3) == 0) {
      auto& box = group.instances[0];
      auto& digit = box.digits.back();
      RankBox others = box;
      others.base += digit.stride;
      others.digits.back().count -= 1;
      digit.count = 1;
      if (others.digits.back().count > 0) group.instances.push_back(others);
    }
    made.groups.push_back(group);
    const std::int64_t times = 1 + random.below(3);
    for (std::int64_t t = 0; t < times; ++t) {
      auto bundle =
          test::bundle(pattern, static_cast<GroupId>(made.groups.size() - 1), Bytes(1 + random.below(40'000'000)));
      if (random.below(4) == 0) bundle.flow_limit = Bandwidth(static_cast<double>(1 + random.below(60)) * 1e9);
      made.starts.push_back({Time::picoseconds(random.below(2'000'000'000)), bundle});
    }
  }
  return made;
}

// Every instance a group of its own; `origin` says which start it came from.
Case unfold(const Case& folded, std::vector<std::size_t>& origin) {
  Case made;
  made.topology = folded.topology;
  std::vector<std::vector<GroupId>> ids;
  for (const auto& group : folded.groups) {
    ids.emplace_back();
    for (auto& one : test::unfolded(group)) {
      ids.back().push_back(static_cast<GroupId>(made.groups.size()));
      made.groups.push_back(std::move(one));
    }
  }
  for (std::size_t i = 0; i < folded.starts.size(); ++i) {
    for (const GroupId id : ids[folded.starts[i].bundle.traffic.group]) {
      made.starts.push_back(folded.starts[i]);
      made.starts.back().bundle.traffic.group = id;
      origin.push_back(i);
    }
  }
  return made;
}

// Plays a case folded and with a group an instance; true if the fold saved variables.
bool expect_fold_is_exact(const Case& folded, int& rounds) {
  FabricBench bench(folded.topology, folded.groups, folded.starts);
  const auto ends = bench.run();
  rounds = bench.fabric().folding().rounds;
  std::vector<std::size_t> origin;
  const Case single = unfold(folded, origin);
  FabricBench reference(single.topology, single.groups, single.starts);
  const auto singles = reference.run();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    Time first = Time::max();
    Time last = Time::zero();
    bool alike = true;
    for (std::size_t s = 0; s < singles.size(); ++s) {
      if (origin[s] != i) continue;
      EXPECT_EQ(singles[s].calls, 1);
      first = std::min(first, singles[s].time);
      last = std::max(last, singles[s].time);
      alike = alike && singles[s].alike;
    }
    EXPECT_EQ(ends[i].time.ps(), last.ps()) << folded.name << " bundle " << i;
    EXPECT_EQ(ends[i].alike, alike && first == last) << folded.name << " bundle " << i;
    EXPECT_EQ(ends[i].calls, 1);
  }
  return bench.fabric().counters().variables < reference.fabric().counters().variables;
}

TEST(FluidProperty, FoldedEqualsUnfoldedToThePicosecond) {
  int folded_cases = 0;
  int refined_cases = 0;
  for (std::uint64_t seed = 0; seed < 250 && !HasFailure(); ++seed) {
    int rounds = 0;
    if (expect_fold_is_exact(random_case(seed), rounds)) ++folded_cases;
    if (rounds > 2) ++refined_cases;
  }
  EXPECT_GT(folded_cases, 120);  // otherwise nothing was shown
  EXPECT_GT(refined_cases, 30);
}

// Tensor rings in nodes, pairs between stages and data rings over replicas that pods and units cut unevenly, all at
// once.
TEST(FluidProperty, ATrainingStepThatCrossesPodsUnevenlyFoldsExactly) {
  for (const auto& [text, devices] :
       {std::pair{test::clos_text, 768}, {test::rail_text, 512}, {test::few_cards_text, 480}}) {
    for (const std::int64_t tensor : {4, 8}) {
      for (const std::int64_t stages : {3, 5}) {
        const std::int64_t replicas = devices / (tensor * stages);
        Case made;
        made.topology = test::topology(text, devices);
        made.name =
            std::string(made.topology->kind()) + " tp" + std::to_string(tensor) + " pp" + std::to_string(stages);
        const Stride replica{replicas, tensor * stages};
        const auto add = [&](FlowPattern pattern, Group group, std::int64_t at_us, Bytes bytes) {
          made.starts.push_back({Time::picoseconds(at_us * 1'000'000),
                                 test::bundle(pattern, static_cast<GroupId>(made.groups.size()), bytes)});
          made.groups.push_back(std::move(group));
        };
        for (std::int64_t stage = 0; stage < stages; ++stage) {
          add(FlowPattern::ring, test::group({{tensor, 1}}, {replica}, stage * tensor), 10 * stage, 40_MB);
          add(FlowPattern::ring, test::group({replica}, {{tensor, 1}}, stage * tensor), 7 * stage, 90_MB);
          if (stage + 1 == stages) break;
          add(FlowPattern::pair, test::group({{2, tensor}}, {{tensor, 1}, replica}, stage * tensor), 100 + stage,
              21_MB);
          add(FlowPattern::pair, test::group({{2, -tensor}}, {{tensor, 1}, replica}, (stage + 1) * tensor), 150, 20_MB);
        }
        int rounds = 0;
        EXPECT_TRUE(expect_fold_is_exact(made, rounds)) << made.name;
      }
    }
  }
}

// What one instance's flows put on explicit links: by the routes, not by the fold.
using Load = std::map<LinkId, double>;

Load load_of(const TieredTopology& topology, FlowPattern pattern, const Group& group) {
  Load load;
  const std::int64_t n = group.member_count();
  const auto at = [&](std::int64_t i) { return group.rank(group.instances[0].base, i); };
  const auto add = [&](Rank from, Rank to, double weight) {
    for (const auto& link : topology.route(from, to)) load[link] += weight;
  };
  if (pattern == FlowPattern::pair) {
    add(at(0), at(1), 1);
    return load;
  }
  if (pattern == FlowPattern::all_pairs) {
    for (std::int64_t i = 0; i < n * n; ++i) {
      if (i / n != i % n) add(at(i / n), at(i % n), 1);
    }
    return load;
  }
  if (pattern == FlowPattern::ports) {
    for (std::int64_t i = 0; i < n; ++i) load[{0, Direction::up, at(i)}] = load[{0, Direction::down, at(i)}] = 1;
    return load;
  }
  if (pattern == FlowPattern::tree) {
    // Which nodes its edges join is for double_tree_test.cpp to say.
    const auto flows = TrafficShape(pattern, group, topology.node_size()).flows(Box(group.instances[0].base));
    for (const auto& flow : flows.routed) {
      const double weight = static_cast<double>(flow.units) / static_cast<double>(units_per_flow);
      for (std::int64_t i = 0; i < flow.from.size(); ++i) add(flow.from.at(i), flow.from.at(i) + flow.delta, weight);
    }
    return load;
  }
  // Members by node, in the order of their first member.
  std::vector<std::vector<Rank>> nodes;
  std::map<std::int64_t, std::size_t> place;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto node = at(i) / topology.node_size();
    const auto [known, is_new] = place.try_emplace(node, nodes.size());
    if (is_new) nodes.emplace_back();
    nodes[known->second].push_back(at(i));
  }
  const bool one_each = nodes.size() == static_cast<std::size_t>(n);
  const bool is_rails = pattern == FlowPattern::rails;
  if (is_rails && nodes.size() == 1) return load;
  if (nodes.size() == 1 || one_each) {
    const std::int64_t hops = pattern == FlowPattern::chain ? n - 1 : n;
    for (std::int64_t i = 0; i < hops; ++i) add(at(i), at((i + 1) % n), 1);
    return load;
  }
  for (std::size_t v = 0; v < nodes.size(); ++v) {
    const auto& here = nodes[v];
    const auto& next = nodes[(v + 1) % nodes.size()];
    const auto k = static_cast<double>(here.size());
    for (const Rank rank : here) {
      if (is_rails) break;
      load[{0, Direction::up, rank}] += (k - 1) / k;
      load[{0, Direction::down, rank}] += (k - 1) / k;
    }
    const auto m = static_cast<double>(next.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
      for (std::size_t j = 0; j < next.size(); ++j) {
        const double share = std::min((static_cast<double>(i) + 1) / k, (static_cast<double>(j) + 1) / m) -
                             std::max(static_cast<double>(i) / k, static_cast<double>(j) / m);
        if (share > 1e-9) add(here[i], next[j], share);
      }
    }
  }
  return load;
}

TEST(FluidProperty, EveryVariableHasASaturatedLinkOnWhichItIsAmongTheFastest) {
  int checked = 0;
  for (std::uint64_t seed = 1000; seed < 1150; ++seed) {
    const Case folded = random_case(seed);
    std::vector<std::size_t> origin;
    const Case single = unfold(folded, origin);
    if (single.starts.empty()) continue;
    FabricBench bench(single.topology, single.groups, single.starts);
    std::map<VariableId, Load> loads;  // of each traffic's only variable
    std::map<BundleId, std::size_t> start_of;
    std::uint64_t solves = 0;
    while (bench.engine().step()) {
      if (bench.fabric().counters().solves == solves) continue;
      solves = bench.fabric().counters().solves;
      for (std::size_t i = 0; i < single.starts.size(); ++i) start_of[bench.id(i)] = i;  // later starts win reused ids
      const auto running = bench.fabric().running();
      std::map<LinkId, double> total;
      std::map<LinkId, double> fastest;
      std::vector<const Load*> of_running;
      for (const auto& flow : running) {
        std::size_t start = 0;
        for (std::size_t i = 0; i < single.starts.size(); ++i) {
          if (bench.id(i) == flow.bundle && bench.endings()[i].calls == 0 &&
              single.starts[i].time <= bench.engine().now())
            start = i;
        }
        auto& load = loads[flow.variable];
        const auto& traffic = single.starts[start].bundle.traffic;
        if (load.empty()) load = load_of(*single.topology, traffic.pattern, single.groups[traffic.group]);
        of_running.push_back(&load);
        for (const auto& [link, weight] : load) {
          total[link] += weight * flow.rate;
          fastest[link] = std::max(fastest[link], flow.rate);
        }
      }
      for (const auto& [link, sum] : total) {
        const double capacity = single.topology->tiers()[static_cast<std::size_t>(link.tier)].payload().value();
        ASSERT_LE(sum, capacity * (1 + 1e-9)) << "seed " << seed;
      }
      for (std::size_t r = 0; r < running.size(); ++r) {
        bool has_bottleneck = running[r].rate >= running[r].limit * (1 - 1e-12);
        for (const auto& [link, weight] : *of_running[r]) {
          const double capacity = single.topology->tiers()[static_cast<std::size_t>(link.tier)].payload().value();
          has_bottleneck =
              has_bottleneck || (total[link] >= capacity * (1 - 1e-6) && running[r].rate >= fastest[link] * (1 - 1e-9));
        }
        ASSERT_TRUE(has_bottleneck) << "seed " << seed << " variable " << running[r].variable;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 1000);
}

TEST(FluidProperty, DeliveredEqualsAsked) {
  int checked = 0;
  for (std::uint64_t seed = 2000; seed < 2100; ++seed) {
    const Case folded = random_case(seed);
    FabricBench bench(folded.topology, folded.groups, folded.starts);
    if (bench.fabric().folding().variables.size() > 300) continue;  // this test is quadratic
    using Key = std::pair<BundleId, VariableId>;
    std::map<Key, double> rates;
    std::map<Key, double> moved;
    Time before = Time::zero();
    while (bench.engine().step()) {
      const double seconds = (bench.engine().now() - before).seconds();
      for (const auto& [key, rate] : rates) moved[key] += rate * seconds;
      before = bench.engine().now();
      std::map<Key, double> now;
      for (const auto& flow : bench.fabric().running()) now[{flow.bundle, flow.variable}] = flow.rate;
      for (const auto& [key, rate] : rates) {
        if (now.contains(key)) continue;
        // It moved the bytes of one of the bundles, to half a picosecond of its rate.
        ASSERT_TRUE(std::ranges::any_of(folded.starts,
                                        [&, bytes = moved[key]](const auto& start) {
                                          return std::abs(static_cast<double>(start.bundle.bytes_per_flow.count()) -
                                                          bytes) < 1.5;
                                        }))
            << "seed " << seed << ": " << moved[key];
        moved.erase(key);
        ++checked;
      }
      rates = now;
    }
    ASSERT_TRUE(rates.empty());
  }
  EXPECT_GT(checked, 1000);
}

// A symmetry of the tree (pods, nodes of a unit, rails) applied to all flows changes no time.
TEST(FluidProperty, PermutedRanksGivePermutedResults) {
  for (std::uint64_t seed = 3000; seed < 3100; ++seed) {
    Random random(seed);
    // Pairs between devices of a 512-device rail tree, under a permutation of units, nodes and rails.
    const auto rails = test::topology(test::rail_text, 512);
    std::vector<std::int64_t> pods = {0, 1, 2, 3};
    std::vector<std::int64_t> nodes = {0, 1, 2, 3};
    const auto shuffle = [&random](auto& values) {
      for (std::size_t i = values.size(); i > 1; --i)
        std::swap(values[i - 1], values[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
    };
    shuffle(pods);
    shuffle(nodes);
    std::vector<std::int64_t> lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    shuffle(lanes);
    const auto moved = [&](Rank rank) {
      const auto pod = static_cast<std::size_t>(rank / 128);
      const auto node = static_cast<std::size_t>(rank / 8 % 4);
      return pods[pod] * 128 + rank / 32 % 4 * 32 + nodes[node] * 8 + lanes[static_cast<std::size_t>(rank % 8)];
    };
    std::vector<Group> groups;
    std::vector<Group> permuted;
    std::vector<FabricBench::Start> starts;
    for (GroupId g = 0; g < 60; ++g) {
      const Rank from = random.below(512);
      Rank to = random.below(512);
      if (to == from) to = (to + 1) % 512;
      groups.push_back(test::group({{2, to - from}}, {}, from));
      permuted.push_back(test::group({{2, moved(to) - moved(from)}}, {}, moved(from)));
      starts.push_back({Time::picoseconds(random.below(1'000'000'000)),
                        test::bundle(FlowPattern::pair, g, Bytes(1 + random.below(50'000'000)))});
    }
    FabricBench one(rails, groups, starts);
    FabricBench other(rails, permuted, starts);
    const auto& a = one.run();
    const auto& b = other.run();
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i].time, b[i].time) << "seed " << seed << " flow " << i;
  }
}

TEST(FluidProperty, ScalingSizesAndBandwidthsAlikeChangesNothing) {
  const std::string once = test::clos_text;
  std::string twice = once;
  twice.replace(twice.find("25 GB/s"), 7, "50 GB/s");
  twice.replace(twice.find("400 Gb/s"), 8, "800 Gb/s");
  for (std::uint64_t seed = 4000; seed < 4100; ++seed) {
    Case folded = random_case(seed);
    folded.topology = test::topology(once, 768);
    for (auto& start : folded.starts) start.bundle.flow_limit = Bandwidth{0};
    Case scaled = folded;
    scaled.topology = test::topology(twice, 768);
    for (auto& start : scaled.starts) start.bundle.bytes_per_flow = start.bundle.bytes_per_flow * 2;
    FabricBench a(folded.topology, folded.groups, folded.starts);
    FabricBench b(scaled.topology, scaled.groups, scaled.starts);
    a.run();
    b.run();
    for (std::size_t i = 0; i < a.endings().size(); ++i)
      ASSERT_EQ(a.endings()[i].time, b.endings()[i].time) << "seed " << seed;
  }
}

}  // namespace
}  // namespace warploom
