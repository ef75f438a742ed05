// SPDX-License-Identifier: Apache-2.0
// Rings in nodes of NVLink meshes, bridges and switches: as many as the links carry, in orders that use them.
#include "network/collectives/ring_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "sim/core/errors.hpp"

namespace warploom {
namespace {

std::vector<Rank> first(std::int64_t count) {
  std::vector<Rank> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// NCCL 2.30.7 search.cc: speeds inside a node up to sm80, sm90, sm100.
TunerSpec tuner(std::vector<double> speeds, Bandwidth split) {
  TunerSpec spec;
  for (const double speed : speeds) spec.speeds.emplace_back(speed * 1e9);
  spec.split_above = split;
  return spec;
}
const TunerSpec ampere = tuner({40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3}, 25_GBps);
const TunerSpec hopper = tuner({60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3}, 50_GBps);
const TunerSpec blackwell = tuner({90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18}, 50_GBps);

LinkKind nvlink(Bandwidth rate) {
  LinkKind kind;
  kind.name = "nvlink";
  kind.rate = rate;
  return kind;
}

using Pairs = std::vector<std::tuple<VertexId, VertexId, std::uint16_t>>;

NetworkGraph mesh_of(std::uint32_t devices, const Pairs& links, Bandwidth link) {
  NetworkGraph graph;
  graph.add({.name = "device", .kind = VertexKind::device, .count = devices});
  const auto kind = graph.add(nvlink(link));
  for (const auto& [a, b, width] : links) graph.connect(a, b, kind, width);
  graph.finish();
  return graph;
}

NetworkGraph switched(std::uint32_t devices, std::uint32_t switches, std::uint16_t width, Bandwidth link) {
  NetworkGraph graph;
  graph.add({.name = "device", .kind = VertexKind::device, .count = devices});
  const VertexId nvswitch = graph.add({.name = "nvswitch", .kind = VertexKind::network_switch, .count = switches});
  const auto kind = graph.add(nvlink(link));
  for (std::uint32_t d = 0; d < devices; ++d) {
    for (std::uint32_t s = 0; s < switches; ++s) graph.connect(d, nvswitch + s, kind, width);
  }
  graph.finish();
  return graph;
}

// DGX-1V: two quads, each all joined, and a cube between them; 6 links a device, some pairs by two.
const Pairs hybrid_cube{{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1}, {1, 5, 2}, {2, 3, 2},
                        {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};

// Each ring visits all once, and together they take no more of a link than it has.
void expect_fits(const RingPacking& packing, const Pairs& links, Bandwidth link, Bandwidth speed) {
  std::map<std::pair<int, int>, double> left;
  for (const auto& [a, b, width] : links) {
    left[{static_cast<int>(a), static_cast<int>(b)}] = left[{static_cast<int>(b), static_cast<int>(a)}] =
        link.value() * width;
  }
  for (const auto& ring : packing.rings) {
    auto sorted = ring;
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], static_cast<int>(i));
    for (std::size_t i = 0; i < ring.size(); ++i) {
      auto& room = left[{ring[i], ring[(i + 1) % ring.size()]}];
      room -= speed.value();
      EXPECT_GE(room, -1);
    }
  }
}

TEST(RingSearch, SwitchesGiveTheChannelsThatNcclReports) {
  const auto check = [](const NetworkGraph& graph, const TunerSpec& spec, std::int64_t channels, double rate) {
    const auto packing = pack_rings(graph, first(8), spec);
    EXPECT_EQ(packing.graph.channels, channels);
    EXPECT_NEAR(packing.graph.channel_rate.value(), rate, 1);
    return 2 * packing.graph.channels;  // blocks of threads
  };
  EXPECT_EQ(check(switched(8, 6, 2, 20_GBps), ampere, 12, 20e9), 24);
  EXPECT_EQ(check(switched(8, 1, 18, Bandwidth(20.6e9)), hopper, 12, 30e9), 24);
  EXPECT_EQ(check(switched(8, 2, 9, Bandwidth(40.1e9)), blackwell, 16, 45e9), 32);
}

TEST(RingSearch, TheHybridCubeMeshOfADgx1vIsUsedWhole) {
  const auto packing = pack_rings(mesh_of(8, hybrid_cube, 20_GBps), first(8), ampere);
  EXPECT_NEAR(packing.graph.bus().value(), 6 * 20e9, 1);  // the six links of each device
  EXPECT_EQ(packing.rings.size(), 6U);
  expect_fits(packing, hybrid_cube, 20_GBps, 20_GBps);
}

TEST(RingSearch, HalfACubeMeshIsAQuad) {
  const auto packing = pack_rings(mesh_of(8, hybrid_cube, 20_GBps), first(4), ampere);
  EXPECT_NEAR(packing.graph.bus().value(), 4 * 20e9, 1);  // 0 and 1 have four links in their quad
}

TEST(RingSearch, ABridgedPairHasAllItsLinksBothWays) {
  const auto packing = pack_rings(mesh_of(2, {{0, 1, 12}}, 20_GBps), first(2), ampere);
  EXPECT_NEAR(packing.graph.bus().value(), 240e9, 1);
  // Two pairs without links between them: no ring.
  EXPECT_EQ(pack_rings(mesh_of(4, {{0, 1, 12}, {2, 3, 12}}, 20_GBps), first(4), ampere).graph.channels, 0);
}

TEST(RingSearch, FourFullyMeshedDevicesUseEveryLink) {
  const Pairs links{{0, 1, 4}, {0, 2, 4}, {0, 3, 4}, {1, 2, 4}, {1, 3, 4}, {2, 3, 4}};
  const auto packing = pack_rings(mesh_of(4, links, 20_GBps), first(4), ampere);
  EXPECT_NEAR(packing.graph.bus().value(), 240e9, 1);
}

TEST(RingSearch, OneDeviceHasNoRing) {
  EXPECT_THROW(pack_rings(switched(8, 1, 18, 20_GBps), first(1), hopper), UserError);
}

}  // namespace
}  // namespace warploom
