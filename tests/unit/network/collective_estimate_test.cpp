// SPDX-License-Identifier: Apache-2.0
// A collective alone: its time, what was chosen, and the rest.
#include "network/collective_estimate.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/core/errors.hpp"
#include "sim/core/library.hpp"
#include "tests/unit/network/cluster_fixture.hpp"

namespace warploom {
namespace {

using test::cluster;

std::string choice(const Network& network, CollectiveKind kind, std::int64_t ranks, Bytes bytes) {
  const auto estimate = estimate_chosen(network, {kind, bytes, DataType::bf16, 0}, first_ranks(ranks));
  return estimate.algorithm + "/" + estimate.protocol;
}

// NCCL logs Ring/LL up to 1 MiB and NVLS/Simple from 2 MiB for 8 x H100; measured all-reduces switch from 5 ranks on
// H100. On B200 the step in measured times lies between 2 and 4 MiB.
TEST(CollectiveEstimate, ChoosesAsNcclDoesInANode) {
  using enum CollectiveKind;
  const Network h100 = cluster("dgx_h100", 8);
  EXPECT_EQ(choice(h100, all_reduce, 8, 1_MiB), "ring/ll");
  EXPECT_EQ(choice(h100, all_reduce, 8, 2_MiB), "nvls/simple");
  EXPECT_EQ(choice(h100, all_reduce, 4, 512_MiB), "ring/simple");
  EXPECT_EQ(choice(h100, all_reduce, 5, 512_MiB), "nvls/simple");
  EXPECT_EQ(choice(h100, all_reduce, 2, 512_MiB), "ring/simple");
  const Network b200 = cluster("dgx_b200", 8);
  EXPECT_EQ(choice(b200, all_reduce, 8, 2_MiB), "ring/ll");
  EXPECT_EQ(choice(b200, all_reduce, 8, 4_MiB), "nvls/simple");
  EXPECT_EQ(choice(b200, all_gather, 4, 4_MiB), "ring/ll");
  EXPECT_EQ(choice(b200, all_gather, 4, 8_MiB), "ring/simple");
  const Network a100 = cluster("dgx_a100", 8);
  EXPECT_EQ(choice(a100, all_gather, 4, 1_MiB), "ring/ll");
  EXPECT_EQ(choice(a100, all_gather, 4, 2_MiB), "ring/simple");
  EXPECT_EQ(choice(a100, all_gather, 8, 4_MiB), "ring/ll128");
  EXPECT_EQ(choice(a100, all_gather, 8, 16_MiB), "ring/simple");
}

TEST(CollectiveEstimate, TheVersionDecidesWhetherLl128IsChosenOnBlackwell) {
  const auto of = [](const char* version) {
    return choice(cluster("dgx_b200", 8, {std::string("library.version=") + version}), CollectiveKind::all_reduce, 4,
                  8_MiB);
  };
  EXPECT_EQ(of("2.28.9"), "ring/ll128");
  EXPECT_EQ(of("2.29.2"), "ring/simple");
}

TEST(CollectiveEstimate, ChoosesAcrossNodesAsMeasured) {
  using enum CollectiveKind;
  const Network nodes = cluster("dgx_h100", 16);
  EXPECT_EQ(choice(nodes, all_reduce, 16, Bytes(8)), "tree/ll");  // AWS p5en: Tree/LL up to 192 KiB
  EXPECT_EQ(choice(nodes, all_reduce, 16, 2_MiB), "tree/ll128");  // Tree/LL128, which AWS's plug-in keeps to 12.5 MiB
  EXPECT_EQ(choice(nodes, all_reduce, 16, 4_GiB), "nvls_tree/simple");  // NVLSTree/Simple from 29 MiB
  EXPECT_EQ(choice(nodes, all_gather, 16, 1_GiB), "ring/simple");
}

// On AWS a tuner of the plugin's makers chooses from what they measured (aws-ofi-nccl src/tuner/nccl_ofi_regions.cpp):
// on p5 without LL, on p5en with it up to 192 KiB; our own times say the same.
TEST(CollectiveEstimate, ThePluginsTunerChoosesWhatIsQuickest) {
  using enum CollectiveKind;
  const Network p5 = cluster("aws_p5", 64);
  EXPECT_EQ(choice(p5, all_reduce, 64, 4_KiB), "tree/ll128");
  EXPECT_EQ(choice(p5, all_reduce, 64, 32_MiB), "tree/ll128");
  EXPECT_EQ(choice(p5, all_reduce, 64, 1_GiB), "ring/ll128");
  EXPECT_EQ(choice(p5, all_gather, 64, 4_KiB), "ring/ll");  // there it leaves the choice to NCCL
  const Network p5en = cluster("aws_p5en", 64);
  EXPECT_EQ(choice(p5en, all_reduce, 64, 128_KiB), "tree/ll");
  EXPECT_EQ(choice(p5en, all_reduce, 64, 32_MiB), "tree/ll128");
  EXPECT_EQ(choice(p5en, all_reduce, 64, 512_MiB), "ring/ll128");
  EXPECT_EQ(choice(p5en, all_gather, 64, 16_MiB), "ring/ll128");
  EXPECT_EQ(choice(p5en, all_gather, 64, 4_GiB), "ring/simple");
  EXPECT_EQ(choice(p5en, all_reduce, 8, 1_MiB), "ring/ll");  // inside a node NCCL chooses
}

TEST(CollectiveEstimate, AMessageBeyondTheEagerOneWaitsForItsReceiverOnce) {
  const auto longer = [](Bytes bytes, const char* algorithm) {
    const auto time = [&](const char* handshake) {
      const Network network = cluster(
          "dgx_h100", 32, {"library.transport.eager=8 KiB", std::string("library.transport.handshake=") + handshake});
      return estimate_chosen(network, {CollectiveKind::all_reduce, bytes, DataType::bf16, 0}, first_ranks(32),
                             {algorithm, "ll128"})
          .duration;
    };
    return (time("40 us") - time("0 us")).seconds() * 1e6;
  };
  EXPECT_NEAR(longer(4_KiB, "tree"), 0, 1e-6);
  EXPECT_NEAR(longer(1_MiB, "tree"), 40, 1e-6);   // 64 KiB a channel
  EXPECT_NEAR(longer(1_MiB, "ring"), 0, 1e-6);    // 2 KiB a channel and step
  EXPECT_NEAR(longer(16_MiB, "ring"), 40, 1e-6);  // 32 KiB
}

// nccl-tests' table for 8 x H100: 360 to 368 GB/s of ring, 473 to 483 of NVLS; two nodes 461 to 487, 16 nodes 370.
TEST(CollectiveEstimate, LargeCallsReachThePublishedBusBandwidth) {
  using enum CollectiveKind;
  const auto bus = [](const Network& network, std::int64_t ranks, const CollectiveChoice& wanted) {
    return estimate_chosen(network, {all_reduce, 16_GiB, DataType::fp32, 0}, first_ranks(ranks), wanted)
               .bus_bandwidth.value() /
           1e9;
  };
  const Network node = cluster("dgx_h100", 8);
  EXPECT_NEAR(bus(node, 8, {"ring", "simple"}), 368, 368 * 0.04);
  EXPECT_NEAR(bus(node, 8, {}), 480, 480 * 0.03);
  EXPECT_NEAR(bus(cluster("dgx_h100", 16), 16, {}), 471, 471 * 0.03);
  EXPECT_NEAR(bus(cluster("dgx_h200", 128), 128, {}), 370, 370 * 0.03);
  EXPECT_NEAR(bus(cluster("dgx_h800", 8), 8, {}), 215, 215 * 0.06);  // SimAI calbusbw.h
}

double slope(const Network& network, CollectiveKind kind, std::int64_t ranks, Bytes bytes) {
  const auto time = [&](Bytes size) {
    return estimate_chosen(network, {kind, size, DataType::bf16, 0}, first_ranks(ranks)).duration;
  };
  return (bytes / (time(bytes * 2) - time(bytes))).value();
}

// Where channels bind, a rank's own part takes their time, too: 4 and 8 B200 take as long for a byte, though each sends
// 3/4 and 7/8 of it.
TEST(CollectiveEstimate, AllToAllsCopyTheirOwnPart) {
  const Network b200 = cluster("dgx_b200", 8);
  const double of_four = slope(b200, CollectiveKind::all_to_all, 4, 256_MiB);
  const double of_eight = slope(b200, CollectiveKind::all_to_all, 8, 256_MiB);
  EXPECT_NEAR(of_four / of_eight, 1, 0.01);
  EXPECT_NEAR(of_eight, 32 * 19.7e9, 0.02 * of_eight);
}

// What the first parts of eight messages cost is nothing beside the cards' time: 1,016 of 1,024 parts leave the node.
TEST(CollectiveEstimate, AnAllToAllOfManyRanksIsBoundByTheCards) {
  const Network h100 = cluster("dgx_h100", 1024);
  const auto estimate =
      estimate_chosen(h100, {CollectiveKind::all_to_all, 1_GiB, DataType::bf16, 0}, first_ranks(1024));
  const double cards = (1_GiB).count() * (1016.0 / 1024) / (48.5e9 * 0.94);
  EXPECT_GT(estimate.duration.seconds(), cards);
  EXPECT_LT(estimate.duration.seconds(), 1.1 * cards);
}

TEST(CollectiveEstimate, LlBetweenNodesReachesWhatItsTableSays) {
  const Network h100 = cluster("dgx_h100", 64);
  const auto estimate =
      estimate_chosen(h100, {CollectiveKind::all_gather, 1_GiB, DataType::bf16, 0}, first_ranks(64), {"ring", "ll"});
  EXPECT_NEAR(estimate.bus_bandwidth.value(), 35e9, 0.03 * 35e9);
}

// A ring in the order of the ranks would go over PCIe twice; the library's six go over links alone: 120 GB/s.
TEST(CollectiveEstimate, RingsFollowTheLinksOfAMesh) {
  const Network dgx1 = cluster("dgx1_v100", 8);
  const auto estimate = estimate_chosen(dgx1, {CollectiveKind::all_reduce, 256_MiB, DataType::bf16, 0}, first_ranks(8));
  EXPECT_GT(estimate.bus_bandwidth.value(), 0.85 * 120e9);
  EXPECT_LT(estimate.bus_bandwidth.value(), 120e9);
  EXPECT_EQ(estimate.bottleneck.name, "nvlink");
}

TEST(CollectiveEstimate, NothingIsReducedInASwitchThatIsNotThere) {
  const Network dgx1 = cluster("dgx1_v100", 8, {"library={use: libraries/nccl_hopper}"});
  for (const auto& option :
       dgx1.planner->options({CollectiveKind::all_reduce, 64_MiB, DataType::bf16, 0}, first_ranks(8))) {
    EXPECT_NE(option.algorithm, Algorithm::nvls);
    EXPECT_NE(option.algorithm, Algorithm::tree);
  }
}

// What once hung or failed: plans along axes, chains over several devices a node, parts of no byte.
TEST(CollectiveEstimate, PacketsPlayWhatTheFluidFabricPlays) {
  const Network fluid = cluster("dgx_h100", 16);
  const Network packets = cluster("dgx_h100", 16, {"network.fabric.kind=packet"});
  struct Case {
    CollectiveKind kind;
    Bytes bytes;
    const char* algorithm;
  };
  for (const Case& one :
       {Case{CollectiveKind::all_to_all, 1_MiB, "hierarchical"}, Case{CollectiveKind::broadcast, 1_MiB, ""},
        Case{CollectiveKind::all_reduce, 8_B, "ring"}, Case{CollectiveKind::all_reduce, 1_MiB, "ring"}}) {
    const Call call{one.kind, one.bytes, DataType::bf16, 0};
    const auto expected = estimate_chosen(fluid, call, first_ranks(16), {one.algorithm, ""});
    const auto played = estimate_chosen(packets, call, first_ranks(16), {one.algorithm, ""});
    EXPECT_NEAR(played.duration.seconds(), expected.duration.seconds(), 0.25 * expected.duration.seconds())
        << name(one.kind) << " " << one.algorithm;
    EXPECT_TRUE(played.packets);
  }
}

TEST(CollectiveEstimate, ListsCandidatesWithTheChosenOneAmongThem) {
  const Network node = cluster("dgx_h100", 8);
  const auto estimate =
      estimate_collective(node, {CollectiveKind::all_reduce, 256_MiB, DataType::bf16, 0}, first_ranks(8));
  ASSERT_EQ(estimate.candidates.size(), 7U);  // ring and tree under three protocols, NVLS
  EXPECT_TRUE(estimate.candidates[0].is_chosen);
  EXPECT_EQ(std::ranges::count_if(estimate.candidates, &CollectiveCandidate::is_chosen), 1);
  for (std::size_t i = 1; i < estimate.candidates.size(); ++i) {
    EXPECT_LE(estimate.candidates[i - 1].library_estimate, estimate.candidates[i].library_estimate);
    EXPECT_GT(estimate.candidates[i].duration, Time::zero());
  }
}

TEST(CollectiveEstimate, AWishThatCannotBeIsTheUsersMistake) {
  const Network node = cluster("dgx_a100", 8);
  const Call call{CollectiveKind::all_reduce, 1_MiB, DataType::bf16, 0};
  EXPECT_EQ(estimate_chosen(node, call, first_ranks(8), {"tree", "ll"}).algorithm, "tree");
  EXPECT_THROW(estimate_chosen(node, call, first_ranks(8), {"nvls", ""}), UserError);
  EXPECT_THROW(estimate_chosen(node, call, first_ranks(8), {"", "ll129"}), UserError);
  EXPECT_THROW(estimate_chosen(node, call, first_ranks(9), {}), UserError);
}

TEST(CollectiveEstimate, OneRankTakesNoTime) {
  const Network node = cluster("dgx_h100", 8);
  const auto estimate =
      estimate_collective(node, {CollectiveKind::all_gather, 1_GiB, DataType::bf16, 0}, first_ranks(1));
  EXPECT_EQ(estimate.duration, Time::zero());
  EXPECT_EQ(estimate.algorithm, "none");
}

TEST(CollectiveEstimate, AZeroByteCallTakesItsLatency) {
  const Network node = cluster("dgx_h100", 8);
  for (const auto kind : {CollectiveKind::all_reduce, CollectiveKind::all_to_all, CollectiveKind::broadcast}) {
    const auto estimate = estimate_collective(node, {kind, Bytes(0), DataType::bf16, 0}, first_ranks(8));
    EXPECT_GT(estimate.duration, 4_us);
  }
}

TEST(CollectiveEstimate, MoreBytesNeverTakeLessTimeUnderOneAlgorithmAndProtocol) {
  const Network node = cluster("dgx_h100", 8);
  for (const char* protocol : {"ll", "ll128", "simple"}) {
    Time before = Time::zero();
    for (std::int64_t bytes = 256; bytes <= std::int64_t{1} << 34; bytes = bytes * 5 / 3) {
      const auto took = estimate_chosen(node, {CollectiveKind::all_gather, Bytes(bytes), DataType::bf16, 0},
                                        first_ranks(8), {"ring", protocol})
                            .duration;
      EXPECT_GE(took + 1_ns, before) << protocol << " " << bytes;
      before = took;
    }
  }
}

TEST(CollectiveEstimate, EveryShippedClusterPlansEveryCall) {
  const Library library({WARPLOOM_SOURCE_DIR "/configs"});
  for (const auto& entry : library.entries()) {
    if (!entry.name.starts_with("clusters/")) continue;
    SCOPED_TRACE(entry.name);
    const auto config = load_config(entry.name, {}, library);
    Diagnostics diagnostics;
    const Network network = make_network(*config.find("network"), *config.find("library"), 4, diagnostics);
    diagnostics.throw_if_any();
    for (const char* kind : {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"}) {
      for (const std::int64_t ranks : {2, 3, 4}) {
        for (const Bytes bytes : {Bytes(4), 1_MB, 1_GB}) {
          const auto estimate =
              estimate_chosen(network, {*collective_kind(kind), bytes, DataType::bf16, 0}, first_ranks(ranks));
          EXPECT_GT(estimate.duration, 2_us) << kind << " of " << ranks;
          EXPECT_LT(estimate.duration, 10_s) << kind << " of " << ranks;
        }
      }
    }
  }
}

}  // namespace
}  // namespace warploom
