// SPDX-License-Identifier: Apache-2.0
// A cluster's network from its file: the shipped ones load, mistakes are reported where they are.
#include "network/network.hpp"

#include <gtest/gtest.h>

#include "sim/core/config.hpp"
#include "sim/core/engine.hpp"

namespace warploom {
namespace {

struct Made {
  Network network;
  Diagnostics diagnostics;
  std::string text() const { return format_diagnostics(diagnostics.all()); }
};

Made made(const std::string& name, std::int64_t devices, const std::vector<std::string>& overrides = {}) {
  const Library library({WARPLOOM_SOURCE_DIR "/configs"});
  const auto cluster = load_config(WARPLOOM_SOURCE_DIR "/configs/clusters/" + name + ".yaml", overrides, library);
  Made result;
  result.network = make_network(*cluster.find("network"), *cluster.find("library"), devices, result.diagnostics);
  return result;
}

TEST(Network, EveryShippedClusterLoadsAndPlans) {
  for (const std::string name : {"dgx_h100", "selene_a100", "meta_24k_h100"}) {
    const auto cluster = made(name, 3072);
    ASSERT_TRUE(cluster.diagnostics.all().empty()) << cluster.text();
    EXPECT_FALSE(cluster.network.assumptions.empty());
    Group nodes;
    nodes.members.digits = {{16, 8}};
    nodes.instances = {{0, {{8, 1}}}};
    const auto plan = cluster.network.planner->plan({CollectiveKind::reduce_scatter, 1_GB, DataType::bf16, 0}, nodes);
    EXPECT_EQ(plan.algorithm, "ring");
    EXPECT_EQ(plan.protocol, "simple");
    EXPECT_GT(plan.sms, 0);
    // Alone, a flow reaches what the plan says that it can.
    const auto& bundle = plan.steps[0].bundles[0];
    EXPECT_LE(bundle.flow_limit.value(), cluster.network.topology->tiered()->tiers()[1].payload().value());
  }
}

TEST(Network, NoValueOfAShippedClusterIsLeftUnread) {
  const Library library({WARPLOOM_SOURCE_DIR "/configs"});
  for (const std::string name : {"dgx_h100", "selene_a100", "meta_24k_h100"}) {
    const auto cluster = load_config(WARPLOOM_SOURCE_DIR "/configs/clusters/" + name + ".yaml", {}, library);
    Diagnostics diagnostics;
    make_network(*cluster.find("network"), *cluster.find("library"), 8, diagnostics);
    for (const auto& key : {"name", "source", "stands_for", "device", "host"}) {
      if (const auto value = cluster.find(key)) value->mark_all_read();
    }
    report_unread(cluster, diagnostics);
    EXPECT_TRUE(diagnostics.all().empty()) << format_diagnostics(diagnostics.all());
  }
}

TEST(Network, AllMistakesAreReportedWithTheirPlace) {
  const auto bad = made("dgx_h100", 8, {"network.nic.rate=-1 GB/s", "library.simple.hop=3", "library.sms=4"});
  EXPECT_EQ(bad.network.topology, nullptr);
  EXPECT_EQ(bad.network.planner, nullptr);
  EXPECT_EQ(bad.diagnostics.error_count(), 3U) << bad.text();
  EXPECT_NE(bad.text().find("network.nic.rate"), std::string::npos) << bad.text();
  EXPECT_NE(bad.text().find("library.simple.hop"), std::string::npos) << bad.text();
  EXPECT_NE(bad.text().find("library.sms"), std::string::npos) << bad.text();
}

TEST(Network, AJobLargerThanTheClusterIsToldWhatThereIs) {
  const auto large = made("meta_24k_h100", 30'000);
  EXPECT_EQ(large.network.topology, nullptr);
  EXPECT_NE(large.text().find("the job wants 30000 devices; the cluster has 24576"), std::string::npos) << large.text();
  EXPECT_NE(large.text().find("1 core, 8 pod, 1536 rack, 3072 node of 8 devices each"), std::string::npos)
      << large.text();
}

TEST(Network, EachRunHasItsOwnFabric) {
  const auto cluster = made("dgx_h100", 16);
  struct Listener : BundleListener {
    void on_bundle_done(std::uint64_t, bool) override {}
  } listener;
  Engine one;
  Engine other;
  EXPECT_NE(cluster.network.fabric(one, listener), cluster.network.fabric(other, listener));
}

}  // namespace
}  // namespace warploom
