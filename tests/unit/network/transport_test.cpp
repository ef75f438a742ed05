// SPDX-License-Identifier: Apache-2.0
// Networks that are not InfiniBand: what their messages' latency does to each algorithm.
#include <gtest/gtest.h>

#include <vector>

#include "network/collective_estimate.hpp"
#include "network/collectives/nccl_tuner.hpp"
#include "tests/unit/network/cluster_fixture.hpp"

namespace warploom {
namespace {

using namespace literals;

Time time_of(const std::string& cluster, std::int64_t devices, CollectiveKind kind, Bytes bytes, const char* algorithm,
             const char* protocol, const std::string& latency) {
  const Network network = test::cluster(cluster, devices, {"library.transport.latency=" + latency});
  return estimate_chosen(network, {kind, bytes, DataType::bf16, 0}, first_ranks(devices), {algorithm, protocol})
      .duration;
}

// The difference that 10 us of latency make.
Time cost_of_latency(std::int64_t devices, CollectiveKind kind, Bytes bytes, const char* algorithm,
                     const char* protocol) {
  const auto time = [&](const std::string& latency) {
    return time_of("dgx_h100", devices, kind, bytes, algorithm, protocol, latency);
  };
  return time("20 us") - time("10 us");
}

TEST(Transport, EveryHopBetweenNodesPaysItsLatency) {
  // The longest way around a ring crosses N times a pass, trees climb and descend log2 N levels; nothing crosses inside
  // a node.
  EXPECT_EQ(cost_of_latency(16, CollectiveKind::all_gather, 1_KiB, "ring", "ll"), 20_us);
  EXPECT_EQ(cost_of_latency(32, CollectiveKind::all_gather, 1_KiB, "ring", "ll"), 40_us);
  EXPECT_EQ(cost_of_latency(32, CollectiveKind::broadcast, 1_KiB, "ring", "ll"), 30_us);  // a chain
  EXPECT_EQ(cost_of_latency(32, CollectiveKind::all_reduce, 1_KiB, "ring", "ll"), 80_us);
  EXPECT_EQ(cost_of_latency(32, CollectiveKind::all_reduce, 1_KiB, "tree", "ll"), 40_us);
  EXPECT_EQ(cost_of_latency(128, CollectiveKind::all_reduce, 1_KiB, "tree", "ll"), 80_us);
  EXPECT_EQ(cost_of_latency(16, CollectiveKind::all_to_all, 16_KiB, "direct", "ll"), 10_us);
  EXPECT_EQ(cost_of_latency(8, CollectiveKind::all_reduce, 1_KiB, "ring", "ll"), Time::zero());
}

TEST(Transport, ASimpleTreeWaitsForEveryChunkButTheFirst) {
  // 4 MiB in 16 channels are 8 chunks of 32 KiB each, of which a hop of 1 ms holds 7 back for 0.8 of it.
  const auto time = [](const std::string& latency) {
    return time_of("dgx_h100", 16, CollectiveKind::all_reduce, 4_MiB, "tree", "simple", latency);
  };
  const double slope = (time("2 ms") - time("1 ms")) / 1_ms;
  EXPECT_NEAR(slope, 2 + 7 * 0.8, 1e-6);
}

// enqueue.cc: 64 KiB over four nodes and more, unless the chunk is set.
TEST(Transport, AnNvlsTreeOfFourNodesTakesSmallerChunks) {
  const auto time = [](std::int64_t devices, const std::string& chunk) {
    const Network network = test::cluster("dgx_h100", devices, {"library.transport.nvls_tree_wide_chunk=" + chunk});
    return estimate_chosen(network, {CollectiveKind::all_reduce, 1_GiB, DataType::bf16, 0}, first_ranks(devices),
                           {"nvls_tree", "simple"})
        .duration;
  };
  EXPECT_EQ(time(16, "64 KiB"), time(16, "128 KiB"));
  EXPECT_NE(time(32, "64 KiB"), time(32, "128 KiB"));
  EXPECT_EQ(time(32, "128 KiB"), time(32, "512 KiB"));  // never more than the tree of two nodes takes
}

TEST(Transport, WhatThePluginReportsMovesTheChoiceAndNotTheTime) {
  const std::vector<std::string> reports{"library.transport.reported_latency=75 us"};
  const Call call{CollectiveKind::all_reduce, 256_KiB, DataType::bf16, 0};
  const auto plain = test::cluster("dgx_h100", 128, {});
  const auto told = test::cluster("dgx_h100", 128, reports);
  const Group group = first_ranks(128);
  for (const auto& [algorithm, protocol] : {std::pair{"ring", "ll"}, {"tree", "ll128"}, {"nvls_tree", "simple"}}) {
    EXPECT_EQ(estimate_chosen(told, call, group, {algorithm, protocol}).duration,
              estimate_chosen(plain, call, group, {algorithm, protocol}).duration);
  }
  const auto estimate = [&](const Network& network, std::string_view algorithm) {
    Time least = Time::max();
    for (const auto& option : network.planner->options(call, group)) {
      if (name(option.algorithm) == algorithm && option.protocol == Protocol::ll) least = option.library_estimate;
    }
    return least;
  };
  EXPECT_EQ(estimate(told, "ring") - estimate(plain, "ring"), 75_us * 30);
  EXPECT_EQ(estimate(told, "tree") - estimate(plain, "tree"), 75_us * 8);
}

TEST(Transport, SmallCallsOverTheCloudsTakeWhatWasPublished) {
  // Published times of 8 to 64 B (the sources stand in the clusters' files): within a tenth, where two runs on a3_mega
  // do not agree with each other, within a fifth.
  struct Case {
    const char* cluster;
    CollectiveKind kind;
    Time published;
  };
  for (const auto& [cluster, kind, published] : {Case{"aws_p4d", CollectiveKind::all_reduce, 161_us},
                                                 {"aws_p5", CollectiveKind::all_reduce, 69_us},
                                                 {"aws_p6_b200", CollectiveKind::all_reduce, 54.5_us},
                                                 {"gcp_a3_mega", CollectiveKind::all_gather, 85_us},
                                                 {"gcp_a3_mega", CollectiveKind::all_reduce, 123_us}}) {
    const Network network = test::cluster(cluster, 16, {});
    const Time time = estimate_chosen(network, {kind, Bytes(64), DataType::bf16, 0}, first_ranks(16), {}).duration;
    EXPECT_NEAR(time / published, 1, std::string_view(cluster).ends_with("a3_mega") ? 0.2 : 0.1) << cluster;
  }
}

// 100 km and back take 1 ms, in which a channel sends its eight slots and then waits for the first answer.
TEST(Transport, OverALongLinkAConnectionMovesItsSlotsARoundTrip) {
  const Network network = test::cluster("two_sites_h100", 2048, {});
  const auto group = [](std::vector<Stride> digits) {
    Group made;
    made.members.digits = std::move(digits);
    made.instances = {{0, {}}};
    return made;
  };
  const Group pair = group({{2, 1024}});
  const Group nodes = group({{8, 1}, {2, 1024}});
  const double round_trip = 2 * network.topology->latency(0, 1024).seconds();
  const auto trips = [&](CollectiveKind kind, const Group& ranks, Bytes bytes, const char* algorithm) {
    const Call call{kind, bytes, DataType::bf16, 0};
    return estimate_chosen(network, call, ranks, {algorithm, "simple"}).duration.seconds() / round_trip;
  };
  const LibrarySpec& library = network.planner->library();
  // A message: two channels of eight slots of a chunk each.
  const auto send = [&](Bytes bytes) { return trips(CollectiveKind::send_recv, pair, bytes, "direct"); };
  EXPECT_NEAR(send(2_GiB) - send(1_GiB), 1_GiB / (library.peer.network_chunk * 8 * 2), 0.1);
  // What the slots hold goes at once.
  EXPECT_LT(send(1_MiB), 0.7);
  EXPECT_GT(send(8_MiB), 3.5);
  // A ring's channels have a buffer of two chunks; the cards of a node would carry more.
  const auto gather = [&](Bytes bytes) { return trips(CollectiveKind::all_gather, nodes, bytes, "ring"); };
  EXPECT_NEAR(gather(2_GiB) - gather(1_GiB), 1_GiB * 15 / 16 / (library.simple.chunk * 2 * library.network_channels),
              0.2);
}

}  // namespace
}  // namespace warploom
