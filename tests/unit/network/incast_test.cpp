// SPDX-License-Identifier: Apache-2.0
// Many senders into one device, as the library's calls have them: queue, marks, pauses, and who is slowed down.
#include <gtest/gtest.h>

#include "network/collective_estimate.hpp"
#include "network/collectives/peer.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/network/cluster_fixture.hpp"
#include "tests/unit/network/network_fixture.hpp"
#include "tests/unit/network/packet_fixture.hpp"

namespace warploom {
namespace {

using namespace literals;
using test::cluster;
using test::PacketBench;
using test::plain;
using test::star;
using test::wire;

constexpr std::int64_t senders = 8;
constexpr Bytes message = 16_MB;

// The first device of each of nine servers sends to that of the first, over RoCE.
CollectiveEstimate gather(const std::vector<std::string>& overrides) {
  const Network network = cluster("meta_24k_h100", 8 * (senders + 1), overrides);
  const Call call{CollectiveKind::gather, message * (senders + 1), DataType::bf16, 0};
  return estimate_chosen(network, call, test::group({{senders + 1, 8}}, {}));
}

const std::string control = "network.fabric.ethernet.congestion_control=";

// Of the queue into the receiver.
QueueStatistics into_root(const PacketStatistics& packets) {
  for (const QueueStatistics& queue : packets.queues) {
    if (queue.name == "rack 0 -> card 0") return queue;
  }
  return {};
}

TEST(Incast, AGatherOverRoceQueuesIsMarkedAndPausesAndTakesWhatTheReceiversLinkNeeds) {
  const auto estimate = gather({"network.fabric.kind=packet", control + "none"});
  const PacketStatistics& packets = *estimate.packets;
  const QueueStatistics queue = into_root(packets);
  const EcnSpec ecn;
  EXPECT_GT(queue.most_queued, ecn.kmax * 16);  // of a 400 Gb/s link
  EXPECT_GT(queue.marks, 0U);
  EXPECT_GT(packets.pauses, 0U);
  EXPECT_EQ(packets.drops, 0U);
  const Bandwidth card = cluster("meta_24k_h100", 8).topology->card();
  const Time needed = message * senders / card;
  EXPECT_NEAR(packets.time / needed, 1, 0.02);
  // The fluid fabric finds the receiver's fair shares by itself.
  const auto fluid = gather({});
  EXPECT_NEAR(estimate.duration / fluid.duration, 1, 0.02);
  EXPECT_EQ(estimate.bottleneck.name, "nic");
  EXPECT_NEAR(estimate.bottleneck.load, needed / estimate.duration, 0.01);
}

TEST(Incast, DcqcnKeepsTheQueueBelowThatOfFlowControlAlone) {
  const auto alone = gather({"network.fabric.kind=packet", control + "none"});
  const auto controlled = gather({"network.fabric.kind=packet", control + "dcqcn"});
  EXPECT_LT(into_root(*controlled.packets).mean_queued, into_root(*alone.packets).mean_queued);
  EXPECT_LT(controlled.packets->paused, alone.packets->paused);
  EXPECT_GT(controlled.packets->notifications, 0U);
  for (const char* other : {"hpcc", "swift"}) {
    const auto kept = gather({"network.fabric.kind=packet", control + other});
    EXPECT_LT(into_root(*kept.packets).mean_queued * 2, into_root(*alone.packets).mean_queued) << other;
    EXPECT_EQ(kept.packets->delivered, message * senders) << other;
  }
}

TEST(Incast, OfAGatherEachSenderIsAsFastAsItsOwnChannels) {
  // 32 channels, halved while a channel has more than four messages of the group's nine ranks: 13.4 GB/s each; between
  // nodes the card binds, inside the port or the channels.
  for (const std::int64_t nodes : {1, 8}) {
    const Network network = cluster("dgx_h100", 8 * nodes);
    const Call call{CollectiveKind::gather, 64_MiB * 8, DataType::bf16, 0};
    const Group group = nodes == 1 ? test::group({{8, 1}}, {}) : test::group({{8, 8}}, {});
    const Plan plan = network.planner->plan(call, group);
    const LibrarySpec& library = network.planner->library();
    const Bandwidth channels = library.peer.simple.channel_rate * (library.peer.channels / 2);
    const Bandwidth port = network.topology->port() * library.simple.efficiency;
    const Bandwidth card = network.topology->card() * library.simple.network_efficiency;
    const Bandwidth inside = std::min(channels, port);
    EXPECT_NEAR(plan.steps[0].bundles[0].flow_limit.value(), (nodes == 1 ? inside : std::min(inside, card)).value(),
                1e-3);
  }
}

TEST(Incast, WhatAFullQueueDropsIsItsOwnAndPutsItFirst) {
  const auto estimate = gather({"network.fabric.kind=packet", control + "none",
                                "network.fabric.ethernet.pause.enabled=false", "network.fabric.ethernet.buffer=1 MB"});
  const PacketStatistics& packets = *estimate.packets;
  EXPECT_GT(packets.drops, 0U);
  EXPECT_EQ(packets.delivered, message * senders);
  EXPECT_EQ(packets.queues.at(0).name, "rack 0 -> card 0");
  EXPECT_EQ(packets.queues.at(0).drops, packets.drops);
}

TEST(Incast, OfCallsAtOnceTheStatisticsAreOfAll) {
  const Network network = cluster("meta_24k_h100", 24, {"network.fabric.kind=packet", control + "none"});
  const auto send_from = [](Rank rank) {
    const Call call{CollectiveKind::send_recv, message, DataType::bf16, 0};
    return ConcurrentCall{call, test::group({{2, -rank}}, {}, rank), {}};
  };
  const auto both = estimate_concurrent(network, std::vector{send_from(8), send_from(16)});
  const PacketStatistics& alone = *both.alone[0].packets;
  const PacketStatistics& together = *both.packets;
  EXPECT_EQ(alone.delivered, message);
  EXPECT_EQ(together.delivered, message * 2);
  EXPECT_EQ(together.flows, alone.flows + both.alone[1].packets->flows);
  EXPECT_GT(into_root(together).most_queued, into_root(alone).most_queued * 10);
  const Time needed = message * 2 / network.topology->card();
  EXPECT_EQ(both.bottleneck.name, "nic");
  EXPECT_NEAR(both.bottleneck.load, needed / both.end, 0.01);
  EXPECT_EQ(together.congestion_control, "none over Ethernet, with pauses");
  EXPECT_NE(together.routing.find("spray"), std::string::npos);
}

// Two messages of one device share 20 GB/s: when the short one is done the other has all of it.
TEST(Incast, MessagesOfADeviceShareWhatItCanSend) {
  const NetworkGraph graph = star(4, wire(LinkProtocol::infiniband, 50_GBps, 0_ns));
  for (const bool shares : {false, true}) {
    PacketBench bench(graph, plain());
    const TransferId transfer = bench.network.open();
    for (const VertexId to : {1U, 2U}) {
      PacketFlow flow = bench.flow(0, to, to == 1 ? 10_MB : 30_MB);
      flow.limit = 10_GBps;
      flow.shares_limit = shares;
      bench.network.add(transfer, flow);
    }
    bench.network.start(transfer);
    bench.run();
    const Time expected = shares ? 40_MB / 20_GBps : 30_MB / 10_GBps;
    EXPECT_NEAR(bench.ends.at(transfer) / expected, 1, 0.01) << shares;
  }
}

// A device's messages to many: limits of all add up, and what it forwards is not held back by them.
TEST(Incast, WhatADeviceForwardsDoesNotWaitForItsOwnPace) {
  NetworkGraph graph;
  graph.add({"device", VertexKind::device, 0, 3, true});
  const auto cable = graph.add(wire(LinkProtocol::nvlink, 50_GBps, 0_ns));
  graph.connect(0, 1, cable);
  graph.connect(1, 2, cable);
  graph.finish();
  PacketBench bench(graph, plain());
  const TransferId own = bench.network.open();
  PacketFlow slow = bench.flow(1, 2, 1_MB);
  slow.limit = 1_GBps;
  slow.shares_limit = true;
  bench.network.add(own, slow);
  bench.network.start(own);
  const TransferId through = bench.at(0_ns, bench.flow(0, 2, 20_MB));
  bench.run();
  EXPECT_NEAR(bench.ends.at(own) / (1_MB / 1_GBps), 1, 0.02);
  EXPECT_LT(bench.ends.at(through), 20_MB / 50_GBps * 1.2);
}

}  // namespace
}  // namespace warploom
