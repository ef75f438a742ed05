// SPDX-License-Identifier: Apache-2.0
// The clusters that ship, against what is published of them: switches, cables, ports, bisection.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "network/topologies/graph_topology.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

using namespace literals;

// All devices.
std::shared_ptr<const Topology> cluster(const std::string& name, const std::vector<std::string>& overrides = {}) {
  const Library library({WARPLOOM_SOURCE_DIR "/configs"});
  const auto config = load_config(WARPLOOM_SOURCE_DIR "/configs/clusters/" + name + ".yaml", overrides, library);
  Diagnostics diagnostics;
  const auto one = topology_registry().make(*config.find("network"), diagnostics, 1);
  diagnostics.throw_if_any();
  return topology_registry().make(*config.find("network"), diagnostics, one->cluster_size());
}

struct Counts {
  std::map<std::string, std::int64_t> switches;  // with chips of those inside nodes
  std::map<std::string, std::int64_t> cables;
};

// `rail 3 leaf`: of a leaf.
std::string tier_of(const std::string& name) {
  return name.starts_with("rail ") ? name.substr(name.rfind(' ') + 1) : name;
}

Counts count(const NetworkGraph& graph) {
  Counts counts;
  for (const VertexGroup& group : graph.groups()) {
    if (group.kind == VertexKind::network_switch)
      counts.switches[tier_of(group.name)] += std::int64_t{group.count} * group.chips;
  }
  for (const GraphLink& link : graph.links()) counts.cables[graph.kinds()[link.kind].name] += link.width;
  return counts;
}

// RA-11333-001 (and the same table of DGX B200): 64 units of 32: 512 leaves, 512 spines, 256 cores, 16,384 cables
// between any two tiers; four NVSwitch chips a node of 18 links a device (5 + 4 + 4 + 5).
TEST(PublishedClusters, DgxH100SuperPod) {
  auto counts = count(cluster("dgx_h100")->graph());
  EXPECT_EQ(counts.switches["leaf"], 512);
  EXPECT_EQ(counts.switches["spine"], 512);
  EXPECT_EQ(counts.switches["core"], 256);
  EXPECT_EQ(counts.switches["nvswitch"], 2048 * 4);
  for (const char* tier : {"nic", "leaf", "spine"}) EXPECT_EQ(counts.cables[tier], 16384) << tier;
  EXPECT_EQ(counts.cables["nvlink"], 16384 * 18);
}

// 18 units with 8 leaves, 8 spines and 4 cores each, as the reference architecture's three-tier rows have them.
TEST(PublishedClusters, EosHas576NodesAndFullBisection) {
  const auto eos = cluster("eos_h100");
  EXPECT_EQ(eos->cluster_size(), 4608);
  auto counts = count(eos->graph());
  EXPECT_EQ(counts.switches["leaf"], 18 * 8);
  EXPECT_EQ(counts.switches["spine"], 18 * 8);
  EXPECT_EQ(counts.switches["core"], 18 * 4);
  EXPECT_EQ(eos->bisection(), 2304 * 50_GBps);
}

// RA-10207-001 table 3, 140 nodes: 56 leaves, 80 spines, 28 cores; Selene: four times that, 560 nodes.
TEST(PublishedClusters, SeleneIsFourBlocksOf140Nodes) {
  auto counts = count(cluster("selene_a100", {"network.tiers[2].of=1"})->graph());
  EXPECT_EQ(counts.switches["leaf"], 56);
  EXPECT_EQ(counts.switches["spine"], 80);
  EXPECT_EQ(counts.switches["core"], 28);
  EXPECT_EQ(counts.switches["nvswitch"], 140 * 6);
  for (const char* tier : {"nic", "leaf", "spine"}) EXPECT_EQ(counts.cables[tier], 1120) << tier;
  const auto selene = cluster("selene_a100");
  EXPECT_EQ(selene->cluster_size(), 4 * 1120);
  EXPECT_EQ(selene->bisection(), 2240 * 25_GBps);
}

// arXiv:2407.21783 section 3.3.1: racks of 16 devices, 192 a pod, 8 pods of 3,072, 1:7 between them.
TEST(PublishedClusters, Meta24KHas1536RacksAndASeventhOfTheBisection) {
  const auto meta = cluster("meta_24k_h100");
  const NetworkGraph graph = meta->graph();
  auto counts = count(graph);
  EXPECT_EQ(counts.switches["rack"], 8 * 192);
  EXPECT_EQ(counts.cables["nic"], 24576);
  EXPECT_EQ(counts.cables["rack"], 24576);  // full bisection inside a pod
  double up = 0;
  for (EdgeId edge = 0; edge < graph.edge_count(); edge += 2) {
    if (graph.kind(edge).name == "pod") up += (graph.kind(edge).rate * graph.link(edge).width).value();
  }
  EXPECT_NEAR(up, 24576 * 50e9 / 7, 1e-6 * up);
  EXPECT_NEAR(meta->bisection().value(), up / 2, 1e-6 * up);
}

// Switches of the shipped clusters have the ports of their data sheets, and use no more.
TEST(PublishedClusters, NoSwitchHasMorePortsThanItsRadix) {
  for (const char* name :
       {"dgx_h100", "dgx_a100", "dgx_b200", "dgx_b300", "dgx_h800", "eos_h100", "selene_a100", "h800_multi_plane",
        "megascale_ampere", "meta_24k_h100", "two_sites_h100", "gb200_nvl72", "gb200_superpod", "gb300_nvl72"}) {
    const NetworkGraph graph = cluster(name)->graph();
    std::vector<std::int64_t> ports(graph.vertex_count());
    for (const GraphLink& link : graph.links()) ports[link.a] += link.width, ports[link.b] += link.width;
    for (const VertexGroup& group : graph.groups()) {
      if (group.kind != VertexKind::network_switch || group.count == 0) continue;
      if (group.name.ends_with("nvswitch") || group.name.ends_with("gateway")) continue;
      EXPECT_GT(group.radix, 0) << name << " " << group.name;
      const auto first = ports.begin() + group.first;
      EXPECT_LE(*std::max_element(first, first + group.count), group.radix) << name << " " << group.name;
    }
  }
}

// What their instances have; switches and cables of their networks are not published.
TEST(PublishedClusters, CloudsHaveTheirCardsAndNoSwitchesOfAProduct) {
  struct Row {
    const char* name;
    int cards;
    Bandwidth rate;
  };
  for (const Row& row :
       {Row{"aws_p4d", 4, 12.5_GBps}, Row{"aws_p5", 32, 12.5_GBps}, Row{"aws_p5en", 16, 25_GBps},
        Row{"aws_p6_b200", 8, 50_GBps}, Row{"gcp_a3_high", 4, 25_GBps}, Row{"gcp_a3_mega", 8, 25_GBps}}) {
    const auto cloud = cluster(row.name);
    const NetworkGraph graph = cloud->graph();
    for (const VertexGroup& group : graph.groups()) {
      if (group.name == "card") {
        EXPECT_EQ(group.count, cloud->cluster_size() / 8 * row.cards) << row.name;
      }
      if (group.kind != VertexKind::network_switch || group.name == "nvswitch") continue;
      EXPECT_EQ(group.radix, 0) << row.name;
      EXPECT_EQ(group.power, Power(0)) << row.name;
    }
    for (const LinkKind& kind : graph.kinds()) {
      if (kind.name == "nic") {
        EXPECT_EQ(kind.rate, row.rate) << row.name;
      }
      EXPECT_EQ(kind.power, Power(0)) << row.name;
    }
  }
}

// NVIDIA GB200 NVL72: 18 chips, 72 x 18 links; 8 racks a unit, 64-port leaves.
TEST(PublishedClusters, Gb200SuperPodHasEighteenChipsARackAndUsesAllPorts) {
  const auto pod = cluster("gb200_superpod");
  const NetworkGraph graph = pod->graph();
  auto counts = count(graph);
  const std::int64_t racks = pod->cluster_size() / 72;
  EXPECT_EQ(counts.switches["nvswitch"], racks * 18);
  EXPECT_EQ(counts.cables["nvlink"], racks * 72 * 18);
  EXPECT_EQ(counts.switches["leaf"], racks / 8 * 18);
  for (VertexId v = 0; v < graph.vertex_count(); ++v) {
    ASSERT_TRUE(graph.group_of(v).name != "leaf" || graph.out(v).size() == 64U);
  }
  EXPECT_EQ(counts.switches["spine"], racks / 8 * 18);
  EXPECT_EQ(counts.switches["core"], racks / 8 * 9);
  EXPECT_EQ(pod->bisection(), pod->injection() / 2);
}

// arXiv:2505.09343 table 3: 768 switches for 16,384 devices, 64 ports each; a plane a card.
TEST(PublishedClusters, DeepSeeksPlanesNeverMeetOutsideTheNodes) {
  const auto h800 = cluster("h800_multi_plane");
  EXPECT_EQ(h800->cluster_size(), 2048);
  const NetworkGraph graph = h800->graph();
  auto counts = count(graph);
  EXPECT_EQ(counts.switches["leaf"], 8 * 8);
  EXPECT_EQ(counts.switches["spine"], 8 * 4);
  const auto full = count(cluster("h800_multi_plane", {"network.tiers[1].of=64"})->graph());
  EXPECT_EQ(full.switches.at("leaf") + full.switches.at("spine"), 768);
  EXPECT_EQ(full.cables.at("leaf"), 16384);
  const auto path = h800->router(graph)->hashed_path({graph.device(0), graph.device(8 * 200 + 3), 0}, 1);
  int nvlink = 0;
  for (const EdgeId edge : path) nvlink += graph.kind(edge).name == "nvlink" ? 1 : 0;
  EXPECT_EQ(nvlink, 2);
}

// arXiv:2506.12708 section 3: 336 first-tier and 112 second-tier switches, 16 x 28 GB/s up from each first-tier switch,
// 392 GB/s a NPU, full bisection, and 400 Gb/s of RDMA beside it; 0.7 us more between nodes for a read there and back.
TEST(PublishedClusters, CloudMatrix384) {
  const auto matrix = cluster("cloudmatrix384");
  const NetworkGraph graph = matrix->graph();
  auto counts = count(graph);
  EXPECT_EQ(counts.switches["l1"], 48 * 7);
  EXPECT_EQ(counts.switches["l2"], 7 * 16);
  EXPECT_EQ(counts.cables["l1"], 48 * 7 * 16);
  EXPECT_EQ(matrix->injection(), 384 * (392_GBps + 50_GBps));  // UnifiedBus and RDMA
  EXPECT_DOUBLE_EQ(matrix->bisection().value(), 192 * (392e9 + 50e9));
  EXPECT_EQ(counts.cables["nic"], 384);
  EXPECT_EQ(2 * (matrix->latency(0, 8) - matrix->latency(0, 1)), 700_ns);
}

TEST(PublishedClusters, TwoSitesAreJoinedByTheirLongLinks) {
  const auto sites = cluster("two_sites_h100");
  EXPECT_EQ(sites->cluster_size(), 2048);
  EXPECT_EQ(sites->bisection(), 64 * 50_GBps);
  auto counts = count(sites->graph());
  EXPECT_EQ(counts.switches["site 0 spine"], 2 * 16);  // RA-11333-001 table 3, four units; half of each for long links
  EXPECT_EQ(counts.switches["site 1 leaf"], 32);
  EXPECT_GE(sites->latency(0, 1024), 500_us);
}

TEST(PublishedClusters, Dgx1HasSixLinksADevice) {
  const auto node = cluster("dgx1_v100");
  EXPECT_EQ(count(node->graph()).cables["nvlink"], 8 * 6 / 2);
  EXPECT_EQ(node->latency(0, 7), Time::zero());
}

}  // namespace
}  // namespace warploom
