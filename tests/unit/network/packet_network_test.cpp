// SPDX-License-Identifier: Apache-2.0
// Packets against closed forms: serialisation, pipelines, shares, incast, credits, pauses, losses, deadlock.
#include "network/packet/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include <cmath>

#include "tests/unit/network/packet_fixture.hpp"

namespace warploom {
namespace {

using namespace literals;
using test::dumbbell;
using test::PacketBench;
using test::plain;
using test::star;
using test::wire;

// Of a packet of the Ethernet defaults on a line of `rate`.
Time packet_time(const PacketSpec& spec, Bandwidth rate, std::int64_t payload = 4096) {
  return (Bytes(payload) + spec.ethernet.header) / rate;
}

TEST(PacketNetwork, StoreAndForwardTakesAPacketTimeAHopAndOneEachFurtherPacket) {
  const NetworkGraph graph = star(2, wire(LinkProtocol::ethernet, 50_GBps, 500_ns));
  const PacketSpec spec = plain();
  for (const std::int64_t packets : {1, 2, 100}) {
    PacketBench bench(graph, spec);
    bench.at(3_us, bench.flow(0, 1, Bytes(4096 * packets)));
    bench.run();
    const Time expected = 3_us + 500_ns * 2 + packet_time(spec, 50_GBps) * (packets + 1);
    EXPECT_EQ(bench.ends[0], expected) << packets;
  }
}

TEST(PacketNetwork, TheLastPacketIsAsLongAsWhatIsLeft) {
  const NetworkGraph graph = star(2, wire(LinkProtocol::ethernet, 50_GBps, 0_ns));
  const PacketSpec spec = plain();
  PacketBench bench(graph, spec);
  bench.at(0_ns, bench.flow(0, 1, Bytes(4096 + 18)));
  bench.run();
  EXPECT_EQ(bench.ends[0], packet_time(spec, 50_GBps) * 2 + packet_time(spec, 50_GBps, 18));
}

TEST(PacketNetwork, FullPacketsGetTheLinksPayloadRate) {
  LinkKind kind = wire(LinkProtocol::infiniband, 50_GBps, 0_ns);
  kind.efficiency = 0.9;
  const NetworkGraph graph = star(2, kind);
  PacketBench bench(graph, plain());
  bench.at(0_ns, bench.flow(0, 1, Bytes(4096 * 1000)));
  bench.run();
  EXPECT_NEAR(bench.ends[0].seconds(), 4096 * 1001 / 45e9, 1e-12 * 2000);
}

TEST(PacketNetwork, NvlinkPayloadIsSixteenFlitsOfSeventeen) {
  const NetworkGraph graph = star(2, wire(LinkProtocol::nvlink, 425_GBps, 0_ns));
  PacketSpec spec = plain();
  spec.nvlink.train = 1;
  PacketBench bench(graph, spec);
  bench.at(0_ns, bench.flow(0, 1, Bytes(256 * 10'000)));
  bench.run();
  EXPECT_NEAR(256 * 10'001 / bench.ends[0].seconds(), 425e9 * 16 / 17, 425e9 * 1e-3);
}

TEST(PacketNetwork, FlowsShareALinkEvenlyAndEndTogether) {
  for (const auto protocol : {LinkProtocol::ethernet, LinkProtocol::infiniband, LinkProtocol::nvlink}) {
    for (const std::uint32_t n : {1U, 2U, 5U}) {
      const LinkKind kind = wire(protocol, 50_GBps, 500_ns);
      const NetworkGraph graph = dumbbell(n, kind, kind);
      PacketBench bench(graph, plain());
      for (std::uint32_t i = 0; i < n; ++i) bench.at(0_ns, bench.flow(i, n + i, 8192_B * 512));
      bench.run();
      const double header = protocol == LinkProtocol::nvlink     ? 16.0 / 256
                            : protocol == LinkProtocol::ethernet ? 82.0 / 4096
                                                                 : 30.0 / 4096;
      const double alone = n * 8192.0 * 512 * (1 + header) / 50e9;
      for (std::uint32_t i = 0; i < n; ++i) {
        EXPECT_NEAR(bench.ends[i].seconds(), alone, alone * 0.01 + 2e-6) << static_cast<int>(protocol) << " " << n;
      }
    }
  }
}

TEST(PacketNetwork, IncastEndsWhenTheReceiversLinkHasCarriedEverything) {
  const std::uint32_t n = 16;
  for (const auto protocol : {LinkProtocol::ethernet, LinkProtocol::infiniband}) {
    const NetworkGraph graph = star(n + 1, wire(protocol, 50_GBps, 500_ns));
    const PacketSpec spec = plain();
    PacketBench bench(graph, spec);
    for (std::uint32_t i = 0; i < n; ++i) bench.at(0_ns, bench.flow(i, n, Bytes(4096 * 256)));
    bench.run();
    const Bytes header = protocol == LinkProtocol::ethernet ? spec.ethernet.header : spec.infiniband.header;
    const Time each = (4096_B + header) / 50_GBps;
    // The first packet crosses a link, then the receiver's link never rests.
    const Time expected = each * (n * 256 + 1) + 500_ns * 2;
    Time last;
    for (std::uint32_t i = 0; i < n; ++i) last = std::max(last, bench.ends[i]);
    EXPECT_EQ(last, expected) << static_cast<int>(protocol);
    EXPECT_EQ(bench.network.statistics().delivered, Bytes(4096 * 256 * n));
    EXPECT_EQ(bench.network.statistics().classes.at(0).busiest, "switch 0 -> device 16");
  }
}

TEST(PacketNetwork, AFlowGoesAtItsLimit) {
  const NetworkGraph graph = star(2, wire(LinkProtocol::ethernet, 50_GBps, 0_ns));
  PacketBench bench(graph, plain());
  PacketFlow flow = bench.flow(0, 1, Bytes(4096 * 1000));
  flow.limit = 10_GBps;
  bench.at(0_ns, flow);
  bench.run();
  EXPECT_NEAR(bench.ends[0].seconds(), 4096 * 999 / 10e9 + 2 * 4178 / 50e9, 1e-12 * 2000);
}

TEST(PacketNetwork, FewCreditsGiveABufferARoundTrip) {
  // A packet's place is free again when it has left the switch: two packet times and two latencies after its start.
  const NetworkGraph graph = star(2, wire(LinkProtocol::infiniband, 50_GBps, 2_us));
  PacketSpec spec = plain();
  for (const std::int64_t credits : {1, 2, 8, 16}) {
    spec.infiniband.buffer = (spec.infiniband.mtu + spec.infiniband.header) * credits;
    PacketBench bench(graph, spec);
    bench.at(0_ns, bench.flow(0, 1, Bytes(4096 * 4096)));
    bench.run();
    const Time packet = (spec.infiniband.mtu + spec.infiniband.header) / 50_GBps;
    const double round = (packet * 2 + 4_us).seconds();
    EXPECT_NEAR(4096 * 4096 / bench.ends[0].seconds(), static_cast<double>(credits) * 4096 / round,
                0.01 * static_cast<double>(credits) * 4096 / round)
        << credits;
    EXPECT_GT(bench.network.statistics().stalled, Time::zero());
  }
}

TEST(PacketNetwork, CreditsOfTwoRoundTripsNeverStallALoneFlow) {
  const NetworkGraph graph = star(2, wire(LinkProtocol::infiniband, 50_GBps, 2_us));
  PacketBench bench(graph, plain());
  bench.at(0_ns, bench.flow(0, 1, Bytes(4096 * 1000)));
  bench.run();
  EXPECT_EQ(bench.network.statistics().stalls, 0U);
}

// Three senders at one switch feed one receiver over a trunk: the pause goes back to all of them, and past the trunk
// it reaches who only crosses it.
TEST(PacketNetwork, PausesSpreadUpstreamAndHoldBackWhoOnlyCrosses) {
  const LinkKind kind = wire(LinkProtocol::ethernet, 50_GBps, 500_ns);
  LinkKind trunk = wire(LinkProtocol::ethernet, 100_GBps, 500_ns);
  const NetworkGraph graph = dumbbell(3, kind, trunk);
  PacketSpec spec = plain();
  spec.ethernet.buffer = 2_MB;
  PacketBench bench(graph, spec);
  // Two flows to device 3 and one victim to device 4: 100 GB/s of trunk, 50 GB/s at device 3.
  bench.at(0_ns, bench.flow(0, 3, 20_MB));
  bench.at(0_ns, bench.flow(1, 3, 20_MB));
  bench.at(0_ns, bench.flow(2, 4, 20_MB));
  bench.run();
  const auto statistics = bench.network.statistics(20);
  EXPECT_EQ(statistics.drops, 0U);
  EXPECT_EQ(statistics.delivered, 60_MB);
  std::uint64_t on_trunk = 0;
  std::uint64_t on_senders = 0;
  for (const auto& queue : statistics.queues) {
    if (queue.name == "switch 0 -> switch 1") on_trunk += queue.pauses;
    if (queue.name.starts_with("device")) on_senders += queue.pauses;
  }
  EXPECT_GT(on_trunk, 0U);
  EXPECT_GT(on_senders, 0U);
  // Shares of the trunk are equal, a third each while paused to what device 3 takes twice: 25 GB/s, half of its line.
  const double victim = 20e6 / bench.ends[2].seconds();
  EXPECT_NEAR(victim, 25e9, 2.5e9);
}

TEST(PacketNetwork, TheSharedBufferHoldsAlphaOfWhatIsFreeBeforeItPauses) {
  // One port: T = alpha (S - T), so that the first pause comes at S alpha / (1 + alpha), and headroom takes the rest.
  const LinkKind fast = wire(LinkProtocol::ethernet, 50_GBps, 500_ns);
  NetworkGraph graph;
  graph.add({"device", VertexKind::device, 0, 2, false});
  graph.add({"switch", VertexKind::network_switch, 0, 1});
  const auto quick = graph.add(fast);
  const auto slow = graph.add(wire(LinkProtocol::ethernet, 5_GBps, 500_ns));
  graph.connect(0, 2, quick);
  graph.connect(1, 2, slow);
  graph.finish();
  PacketSpec spec = plain();
  spec.ethernet.buffer = 1_MB;
  spec.ethernet.pause.alpha = 0.5;
  spec.ethernet.pause.headroom = 100_kB;
  PacketBench bench(graph, spec);
  bench.at(0_ns, bench.flow(0, 1, 4_MB));
  bench.run();
  const double shared = (1e6 - 2 * 100e3) * 0.5 / 1.5;
  // What arrives while the pause travels: the link's round trip and the packet on the way.
  const double later = 50e9 * 1e-6 + 4178;
  const auto statistics = bench.network.statistics();
  EXPECT_NEAR(static_cast<double>(statistics.most_queued.count()), shared + later * 0.9, 0.05 * shared);
  EXPECT_EQ(statistics.drops, 0U);
}

TEST(PacketNetwork, LostPacketsAreSentAgainAndEveryByteArrivesOnce) {
  const NetworkGraph graph = star(2, wire(LinkProtocol::ethernet, 50_GBps, 500_ns));
  Bytes resent[2];
  for (const auto recovery : {LossRecovery::go_back_n, LossRecovery::selective_repeat}) {
    PacketSpec spec = plain();
    spec.ethernet.loss = 0.01;
    spec.ethernet.recovery = recovery;
    spec.ethernet.retransmission_timeout = 50_us;
    PacketBench bench(graph, spec);
    bench.at(0_ns, bench.flow(0, 1, Bytes(4096 * 2000 + 17)));
    bench.run();
    const auto statistics = bench.network.statistics();
    EXPECT_EQ(statistics.delivered, Bytes(4096 * 2000 + 17));
    EXPECT_GT(statistics.drops, 20U);
    resent[static_cast<int>(recovery)] = statistics.resent;
  }
  // Selective repeat sends what was lost: two links of 1%. Go-back-N all that was on its way as well: a round trip of
  // 2 us holds 24 packets.
  EXPECT_NEAR(static_cast<double>(resent[1].count()), 0.02 * 4096 * 2000, 0.5 * 0.02 * 4096 * 2000);
  EXPECT_GT(resent[0].count(), 5 * resent[1].count());
}

TEST(PacketNetwork, WithoutPausesAFullSwitchDropsAndTimersRepair) {
  const NetworkGraph graph = star(9, wire(LinkProtocol::ethernet, 50_GBps, 500_ns));
  PacketSpec spec = plain();
  spec.ethernet.pause.enabled = false;
  spec.ethernet.pause.alpha = 1;
  spec.ethernet.buffer = 200_kB;
  spec.ethernet.recovery = LossRecovery::selective_repeat;
  spec.ethernet.retransmission_timeout = 100_us;
  PacketBench bench(graph, spec);
  for (std::uint32_t i = 0; i < 8; ++i) bench.at(0_ns, bench.flow(i, 8, 1_MB));
  bench.run();
  const auto statistics = bench.network.statistics();
  EXPECT_EQ(statistics.delivered, 8_MB);
  EXPECT_GT(statistics.drops, 0U);
  EXPECT_GE(statistics.resent.count() / 4096, static_cast<std::int64_t>(statistics.drops) / 2);
}

// Four switches in a circle, each with a device that sends two links round.
NetworkGraph circle(LinkProtocol protocol) {
  NetworkGraph graph;
  graph.add({"device", VertexKind::device, 0, 4, false});
  graph.add({"switch", VertexKind::network_switch, 0, 4});
  const auto kind = graph.add(wire(protocol, 50_GBps, 500_ns));
  for (VertexId i = 0; i < 4; ++i) graph.connect(4 + i, 4 + (i + 1) % 4, kind);
  for (VertexId i = 0; i < 4; ++i) graph.connect(i, 4 + i, kind);
  graph.finish();
  return graph;
}

std::string deadlock_of(LinkProtocol protocol, PacketSpec spec) {
  const NetworkGraph graph = circle(protocol);
  spec.watch = 100_us;
  RoutingSpec routing;
  routing.policy = RoutingPolicy::ecmp;
  for (std::uint64_t seed = 1; seed < 40; ++seed) {
    routing.seed = seed;
    PacketBench bench(graph, spec, routing);
    for (VertexId i = 0; i < 4; ++i) {
      for (std::uint32_t channel = 0; channel < 4; ++channel) {
        bench.at(0_ns, bench.flow(i, (i + 2) % 4, 4_MB, channel));
      }
    }
    try {
      bench.run();
    } catch (const UserError& error) {
      return error.what();
    }
    EXPECT_EQ(bench.network.statistics().delivered, 64_MB);
  }
  return "";
}

TEST(PacketNetwork, ACircleOfCreditsIsFoundAndNamed) {
  PacketSpec spec = plain();
  spec.infiniband.buffer = 16_kB;
  const std::string text = deadlock_of(LinkProtocol::infiniband, spec);
  EXPECT_NE(text.find("deadlock"), std::string::npos);
  EXPECT_NE(text.find("without credits"), std::string::npos);
  EXPECT_NE(text.find("`switch 0 -> switch "), std::string::npos) << text;
}

TEST(PacketNetwork, ACircleOfPausesIsFoundAndNamed) {
  PacketSpec spec = plain();
  spec.ethernet.buffer = 400_kB;
  const std::string text = deadlock_of(LinkProtocol::ethernet, spec);
  EXPECT_NE(text.find("paused"), std::string::npos) << text;
}

TEST(PacketNetwork, LanesByHopBreakTheCircle) {
  PacketSpec spec = plain();
  spec.infiniband.buffer = 16_kB;
  spec.lanes = 4;
  spec.lane_choice = LaneChoice::by_hop;
  EXPECT_EQ(deadlock_of(LinkProtocol::infiniband, spec), "");
}

TEST(PacketNetwork, SameSeedSameRun) {
  const NetworkGraph graph = star(9, wire(LinkProtocol::ethernet, 50_GBps, 500_ns));
  Time last[2];
  std::uint64_t marks[2];
  for (int i = 0; i < 2; ++i) {
    PacketBench bench(graph, {});
    for (std::uint32_t d = 0; d < 8; ++d) bench.at(0_ns, bench.flow(d, 8, 4_MB));
    bench.run();
    for (const Time end : bench.ends) last[i] = std::max(last[i], end);
    marks[i] = bench.network.statistics().marks;
  }
  EXPECT_EQ(last[0], last[1]);
  EXPECT_EQ(marks[0], marks[1]);
}

TEST(PacketNetwork, PlaysThatTakeHoursAreRefused) {
  const NetworkGraph graph = star(2, wire(LinkProtocol::ethernet, 50_GBps, 500_ns));
  PacketSpec spec = plain();
  spec.most_hops = 1000;
  PacketBench bench(graph, spec);
  EXPECT_NO_THROW(bench.at(0_ns, bench.flow(0, 1, Bytes(4096 * 400))));  // two links
  EXPECT_THROW(bench.at(0_ns, bench.flow(0, 1, Bytes(4096 * 101))), UserError);
}

// Two cables between the switches: each has a name, and a class of link has the sums of both.
TEST(PacketNetwork, StatisticsTellCablesApartAndSumUpClasses) {
  NetworkGraph graph;
  graph.add({"device", VertexKind::device, 0, 4, false});
  const VertexId first = graph.add({"switch", VertexKind::network_switch, 0, 2});
  const auto cable = graph.add(wire(LinkProtocol::ethernet, 50_GBps, 500_ns));
  LinkKind trunk = wire(LinkProtocol::ethernet, 50_GBps, 500_ns);
  trunk.name = "trunk";
  const auto uplink = graph.add(trunk);
  for (VertexId i = 0; i < 4; ++i) graph.connect(i, first + i / 2, cable);
  graph.connect(first, first + 1, uplink);
  graph.connect(first, first + 1, uplink);
  graph.finish();
  PacketBench bench(graph, plain());
  for (const VertexId i : {0U, 1U}) bench.at(0_ns, bench.flow(i, 2 + i, 8_MB));
  bench.run();
  const PacketStatistics all = bench.network.statistics(100);
  const auto named = [&](const char* name) {
    return std::ranges::count(all.queues, std::string(name), &QueueStatistics::name);
  };
  EXPECT_EQ(named("switch 0 -> switch 1, cable 1 of 2"), 1);
  EXPECT_EQ(named("switch 0 -> switch 1, cable 2 of 2"), 1);
  EXPECT_EQ(named("device 0 -> switch 0"), 1);
  ASSERT_EQ(all.classes.size(), 2U);
  for (const LinkClassStatistics& one : all.classes) {
    EXPECT_EQ(one.links, one.name == "trunk" ? 2U : 4U);
    EXPECT_EQ(one.bytes, one.name == "trunk" ? 16_MB : 32_MB);
    EXPECT_GE(one.highest_load, one.mean_load);
  }
}

// A queue that is never deep but was paused longest stands above deeper ones that nobody held back.
TEST(PacketNetwork, TheWorstQueuesAreThoseOfTheLongestPauseToo) {
  const std::uint32_t n = 12;
  const NetworkGraph graph = star(n + 1, wire(LinkProtocol::ethernet, 50_GBps, 500_ns));
  PacketSpec spec = plain();
  spec.ethernet.buffer = 2_MB;
  PacketBench bench(graph, spec);
  for (std::uint32_t i = 0; i < n; ++i) bench.at(0_ns, bench.flow(i, n, 4_MB));
  bench.run();
  const PacketStatistics all = bench.network.statistics(3);
  ASSERT_EQ(all.queues.size(), 3U);
  const auto paused = [](const QueueStatistics& queue) { return queue.paused > 0_ns; };
  EXPECT_TRUE(std::ranges::any_of(all.queues, paused));
  EXPECT_TRUE(std::ranges::any_of(all.queues, [&](const auto& queue) { return queue.most_queued == all.most_queued; }));
}

TEST(PacketNetwork, SmallBuffersAreRefusedByName) {
  NetworkGraph graph;
  graph.add({"device", VertexKind::device, 0, 2, false});
  VertexGroup middle{"leaf", VertexKind::network_switch, 0, 1};
  middle.buffer = 5_kB;
  graph.add(middle);
  const auto kind = graph.add(wire(LinkProtocol::ethernet, 50_GBps, 500_ns));
  graph.connect(0, 2, kind);
  graph.connect(1, 2, kind);
  graph.finish();
  try {
    PacketBench bench(graph, plain());
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("`leaf 0`"), std::string::npos) << error.what();
  }
}

TEST(PacketSpec, RefusesWhatCannotBe) {
  const auto refused = [](const std::string& text) -> std::string {
    try {
      static_cast<void>(read<PacketSpec>(parse_config_text(text, "net.yaml")));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(
      refused("ethernet: {ecn: {kmin: 500 kB, kmax: 400 kB}}\n").find("net.yaml:1:24: error: `ethernet.ecn.kmin`"),
      std::string::npos);
  EXPECT_NE(refused("ethernet: {buffer: 1 kB}\n").find("does not hold a packet"), std::string::npos);
  EXPECT_NE(refused("infiniband: {buffer: 1 kB}\n").find("does not hold a packet"), std::string::npos);
  EXPECT_NE(refused("nvlink: {buffer: 1 kB}\n").find("does not hold a train"), std::string::npos);
  EXPECT_NE(refused("routing: random\n").find("ecmp"), std::string::npos);
}

}  // namespace
}  // namespace warploom
