// SPDX-License-Identifier: Apache-2.0
// Clusters say which device's node they stand for.
#include "workloads/cluster_lookup.hpp"

#include <gtest/gtest.h>

#include "sim/core/config_value.hpp"
#include "sim/core/errors.hpp"

namespace warploom {
namespace {

const Library& library() {
  static const Library shipped({WARPLOOM_SOURCE_DIR "/configs"});
  return shipped;
}

TEST(ClusterLookup, ANodeIsThereForEveryDeviceThatHasATable) {
  const ClusterLookup lookup(library());
  for (const char* device : {"a100_sxm", "a100_sxm_40gb", "h100_sxm", "h200_sxm", "h800_sxm", "h20", "b200_sxm",
                             "b300_sxm", "gb200", "gb300", "l40s", "a40", "v100_sxm_32gb", "a100_pcie_80gb"}) {
    EXPECT_NO_THROW(lookup.cluster_of(device)) << device;
  }
  EXPECT_EQ(lookup.cluster_of("H100_SXM"), "clusters/dgx_h100");
  EXPECT_EQ(lookup.cluster_of("h100_pairwise_nvlink"), "clusters/h100_pairwise_nvlink");
  EXPECT_THROW(lookup.cluster_of("abacus"), UserError);
}

// The first of them is the device that the cluster is made of; clouds stand for their machine types alone.
TEST(ClusterLookup, WhatAClusterStandsForBeginsWithItsDeviceOrIsANetworkThatTablesName) {
  const ClusterLookup lookup(library());
  for (const auto& entry : library().entries()) {
    if (!entry.name.starts_with("clusters/")) continue;
    const auto config = load_config(entry.name, {}, library());
    if (!config.find("stands_for")) continue;
    const std::string& first = lookup.stands_for(entry.name)[0];
    EXPECT_EQ(lookup.cluster_of(first), entry.name);
    const bool is_network = entry.name.starts_with("clusters/aws_") || entry.name.starts_with("clusters/gcp_") ||
                            entry.name == "clusters/h100_degraded_pair";
    EXPECT_EQ(library().find("devices/" + first).empty(), is_network) << entry.name;
    if (is_network) continue;
    const auto device = load_config("devices/" + first, {}, library());
    EXPECT_EQ(config.find("device")->find("name")->text(), device.find("name")->text()) << entry.name;
  }
}

}  // namespace
}  // namespace warploom
