// SPDX-License-Identifier: Apache-2.0
// Each controller against formulas and figures of its paper.
#include <gtest/gtest.h>

#include <cmath>

#include "network/packet/control/swift.hpp"
#include "tests/unit/network/packet_fixture.hpp"

namespace warploom {
namespace {

using namespace literals;
using test::PacketBench;
using test::star;
using test::wire;

// Mean of a queue, sampled each `step` from `from` to `to`.
double mean_queue(PacketBench& bench, EdgeId edge, Time from, Time to, Time step) {
  double sum = 0;
  int count = 0;
  for (Time time = from; time < to; time = time + step, ++count) {
    bench.run_until(time);
    sum += static_cast<double>(bench.network.queued(edge));
  }
  return sum / count;
}

// Set-up of DCQCN's fluid model: 40 Gb/s, packets of 1 kB, parameters of the paper.
PacketSpec dcqcn_of_paper() {
  PacketSpec spec;
  spec.ethernet.mtu = 1000_B;
  spec.ethernet.header = 0_B;
  spec.ethernet.congestion_control = CongestionControl::dcqcn;
  spec.ethernet.ecn = {true, 5_kB, 200_kB, 0.01, Bandwidth{0}};
  return spec;
}

// Zhu, Ghobadi, Misra and Padhye, "ECN or Delay: lessons learnt from analysis of DCQCN and TIMELY", CoNEXT 2016 (doi
// 10.1145/2999572.2999593), section 3: the only fixed point of the fluid model has fair rates C / N and, to first
// order, p = cbrt(R_AI N^2 / (tau' C^2) (1 / B + N / (T C))^2), all in packets; the queue is what RED marks with p.
TEST(Dcqcn, SettlesAtThePublishedFixedPoint) {
  for (const std::uint32_t n : {3U, 8U, 10U}) {
    const NetworkGraph graph = star(n + 1, wire(LinkProtocol::ethernet, 5_GBps, 1_us));
    const PacketSpec spec = dcqcn_of_paper();
    PacketBench bench(graph, spec);
    for (std::uint32_t i = 0; i < n; ++i) bench.at(0_ns, bench.flow(i, n, 1_GB));
    const EdgeId down = 2 * n + 1;
    bench.run_until(100_ms);
    std::vector<double> received(n);
    for (ConnectionId i = 0; i < n; ++i) received[i] = -static_cast<double>(bench.network.state(i).received);
    const double queue = mean_queue(bench, down, 100_ms, 250_ms, 10_us);
    const double c = 5e9 / 1000;
    const double increase = 40e6 / 8 / 1000;
    const double tau = 55e-6;
    const double each = 1 / 1e4 + n / (55e-6 * c);
    const double p = std::cbrt(increase * n * n / (tau * c * c) * each * each);
    const double expected = 5e3 + p / 0.01 * 195e3;
    EXPECT_NEAR(queue, expected, 0.1 * expected) << n;
    double sum = 0;
    for (ConnectionId i = 0; i < n; ++i) sum += received[i] += static_cast<double>(bench.network.state(i).received);
    EXPECT_NEAR(sum / 0.15, 5e9, 0.02 * 5e9) << n;
    for (const double one : received) EXPECT_NEAR(one, sum / n, 0.1 * sum / n) << n;
  }
}

// Three senders behind one 40 Gb/s uplink of the receiver's switch, the fourth beside the receiver: vertices 0 to 2, 3,
// receiver 4.
NetworkGraph unfair() {
  NetworkGraph graph;
  graph.add({"device", VertexKind::device, 0, 5, false});
  const VertexId far = graph.add({"switch", VertexKind::network_switch, 0, 2});
  const auto cable = graph.add(wire(LinkProtocol::ethernet, 5_GBps, 1_us));
  for (VertexId i = 0; i < 3; ++i) graph.connect(i, far, cable);
  graph.connect(far, far + 1, cable);
  graph.connect(3, far + 1, cable);
  graph.connect(4, far + 1, cable);
  graph.finish();
  return graph;
}

// Gb/s of each sender, of 1 kB packets, between `from` and `to`.
std::vector<double> throughputs(PacketBench& bench, std::uint32_t senders, Time from, Time to) {
  bench.run_until(from);
  std::vector<double> rates;
  for (ConnectionId i = 0; i < senders; ++i) rates.push_back(-static_cast<double>(bench.network.state(i).received));
  bench.run_until(to);
  for (ConnectionId i = 0; i < senders; ++i) {
    rates[i] += static_cast<double>(bench.network.state(i).received);
    rates[i] *= 8e-9 / (to - from).seconds();
  }
  return rates;
}

// Zhu et al., DCQCN, SIGCOMM 2015, figure 3: four hosts write to one over 40 Gb/s, flow control alone. It is fair to
// ports: where the three far hosts' flows share an uplink, H4 beside the receiver gets 20 Gb/s and they a third of
// that each. Figure 8: with DCQCN all four get 10 Gb/s.
TEST(Dcqcn, MakesFairWhatPausesAloneAreNot) {
  const NetworkGraph graph = unfair();
  PacketSpec spec = dcqcn_of_paper();
  for (const bool is_controlled : {false, true}) {
    spec.ethernet.congestion_control = is_controlled ? CongestionControl::dcqcn : CongestionControl::none;
    PacketBench bench(graph, spec);
    for (VertexId i = 0; i < 4; ++i) bench.at(0_ns, bench.flow(i, 4, 2_GB));
    const auto rates = is_controlled ? throughputs(bench, 4, 100_ms, 250_ms) : throughputs(bench, 4, 20_ms, 50_ms);
    EXPECT_NEAR(rates[3], is_controlled ? 10 : 20, is_controlled ? 1 : 2);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(rates[i], is_controlled ? 10 : 20.0 / 3, is_controlled ? 1 : 0.67);
  }
}

// Li et al., HPCC, SIGCOMM 2019, section 5.4 and figure 14: 16 hosts to 1 in a rack, 100 Gb/s, base round trip 4 us, so
// that the rule of thumb W_AI = W_init (1 - eta) / N is 156 B. With 150 B all 16 have the same share of a full link and
// hardly a queue; with 25 B the link is at eta; 300 B leave a queue. The steady state of algorithm 1 says how much:
// U = eta + N W_AI / (B T), queue (U - 1) B T.
TEST(Hpcc, SharesAnIncastFairlyByTheRuleOfThumb) {
  const std::uint32_t n = 16;
  const Bandwidth line{100e9 / 8};
  // Two links of 1 us each way less what a packet takes to be sent twice.
  const NetworkGraph graph = star(n + 1, wire(LinkProtocol::ethernet, line, Time::picoseconds(916'000)));
  const double held = line.value() * 4e-6;
  for (const std::int64_t rise : {25, 150, 300}) {
    PacketSpec spec;
    spec.ethernet.mtu = 1000_B;
    spec.ethernet.header = 42_B;
    spec.ethernet.congestion_control = CongestionControl::hpcc;
    spec.ethernet.hpcc.additive_increase = Bytes(rise);
    PacketBench bench(graph, spec);
    for (std::uint32_t i = 0; i < n; ++i) bench.at(0_ns, bench.flow(i, n, 1_GB));
    const auto rates = throughputs(bench, n, 2_ms, 10_ms);
    double sum = 0;
    for (const double rate : rates) sum += rate * 1.042;
    const double used = 0.95 + n * static_cast<double>(rise) / held;
    EXPECT_NEAR(sum, 100 * std::min(used, 1.0), 5) << rise;
    const double queue = mean_queue(bench, 2 * n + 1, 10_ms, 12_ms, 1_us);
    const double expected = std::max(used - 1, 0.0) * held;
    // Packets of 16 hosts that meet stand in line for a moment, too: two of them.
    EXPECT_NEAR(queue, expected, rise == 300 ? 1042 : 2084) << rise;
    if (rise < 150) continue;
    for (const double rate : rates) EXPECT_NEAR(rate * 1.042, sum / n, 0.1 * sum / n) << rise;
  }
}

// Li et al., HPCC, SIGCOMM 2019, section 3.3 and figure 9: utilisation settles at eta = 95% and the queue near zero.
TEST(Hpcc, KeepsALinkAtItsTargetWithHardlyAQueue) {
  for (const std::uint32_t n : {1U, 2U, 8U}) {
    const NetworkGraph graph = star(n + 1, wire(LinkProtocol::ethernet, Bandwidth{100e9 / 8}, 1_us));
    PacketSpec spec;
    spec.ethernet.mtu = 1000_B;
    spec.ethernet.header = 42_B;
    spec.ethernet.congestion_control = CongestionControl::hpcc;
    PacketBench bench(graph, spec);
    for (std::uint32_t i = 0; i < n; ++i) bench.at(0_ns, bench.flow(i, n, 1_GB));
    const EdgeId down = 2 * n + 1;
    bench.run_until(1_ms);
    std::int64_t before = 0;
    for (ConnectionId i = 0; i < n; ++i) before += bench.network.state(i).received;
    const double queue = mean_queue(bench, down, 1_ms, 5_ms, 1_us);
    std::int64_t after = 0;
    for (ConnectionId i = 0; i < n; ++i) after += bench.network.state(i).received;
    const double wire_rate = static_cast<double>(after - before) * 1.042 / 4e-3;
    EXPECT_NEAR(wire_rate / 12.5e9, 0.95, 0.03) << n;
    EXPECT_LT(queue, 0.1 * 12.5e9 * 4e-6) << n;  // of what the round trip holds
    double least = 1e30;
    double most = 0;
    for (ConnectionId i = 0; i < n; ++i) {
      least = std::min(least, static_cast<double>(bench.network.state(i).received));
      most = std::max(most, static_cast<double>(bench.network.state(i).received));
    }
    EXPECT_LT(most / least, 1.3) << n;
  }
}

// Kumar et al., Swift, SIGCOMM 2020, section 3: the round trip settles at the target delay.
TEST(Swift, HoldsTheRoundTripAtItsTarget) {
  for (const std::uint32_t n : {2U, 8U}) {
    const NetworkGraph graph = star(n + 1, wire(LinkProtocol::ethernet, Bandwidth{100e9 / 8}, 1_us));
    PacketSpec spec;
    spec.ethernet.congestion_control = CongestionControl::swift;
    spec.ethernet.ecn.enabled = false;
    spec.ethernet.swift.flow_scaling_range = 0_us;
    PacketBench bench(graph, spec);
    for (std::uint32_t i = 0; i < n; ++i) bench.at(0_ns, bench.flow(i, n, 1_GB));
    const double queue = mean_queue(bench, 2 * n + 1, 2_ms, 8_ms, 1_us);
    const double packet = 4178.0 / 12.5e9;
    const double alone = 4e-6 + 2 * packet + 2 * 64.0 / 12.5e9;
    const double target = 25e-6 + 2e-6;
    EXPECT_NEAR(queue / 12.5e9 + alone, target, 0.1 * target) << n;
  }
}

// The same, section 5.1 and figure 17: 10 machines with 10 flows each write to one over 50 Gb/s, scaling of the target
// by flow and topology off, base target from 15 to 70 us: the achieved round trip follows the target, and the link is
// full from about 25 us on. The paper prints neither packet size nor additive increase; all flows
// together rise by 100 of the latter a round trip, which is 9 us of the link for half a packet of 1 kB.
TEST(Swift, FollowsTheTargetOfAnIncastOfAHundredFlows) {
  const std::uint32_t machines = 10;
  const Bandwidth line{50e9 / 8};
  const NetworkGraph graph = star(machines + 1, wire(LinkProtocol::ethernet, line, 2_us));
  for (const Time target : {25_us, 40_us, 70_us}) {
    PacketSpec spec;
    spec.ethernet.congestion_control = CongestionControl::swift;
    spec.ethernet.ecn.enabled = false;
    spec.ethernet.mtu = 1000_B;
    spec.ethernet.header = 82_B;
    spec.ethernet.swift.additive_increase = 0.5;
    spec.ethernet.swift.base_target = target;
    spec.ethernet.swift.hop_target = 0_us;
    spec.ethernet.swift.flow_scaling_range = 0_us;
    PacketBench bench(graph, spec);
    for (std::uint32_t i = 0; i < 10 * machines; ++i)
      bench.at(0_ns, bench.flow(i % machines, machines, 100_MB, i / machines));
    bench.run_until(5_ms);
    const double before = static_cast<double>(bench.network.statistics().delivered.count());
    const double queue = mean_queue(bench, 2 * machines + 1, 5_ms, 15_ms, 1_us);
    const double after = static_cast<double>(bench.network.statistics().delivered.count());
    const double packet = 1082.0 / line.value();
    const double alone = 8e-6 + 2 * packet + 2 * 64.0 / line.value();
    EXPECT_NEAR(queue / line.value() + alone, target.seconds(), 0.1 * target.seconds());
    EXPECT_GT((after - before) * 1.082 / 10e-3, 0.95 * line.value());
  }
}

// The same, appendix of the paper: target = base + hops h + a / sqrt(w) + b, clamped to [0, range].
TEST(Swift, ScalesItsTargetWithTheFlow) {
  struct Nobody : CongestionHost {
    Connection one;
    Connection& connection(ConnectionId) override { return one; }
    double line_rate(ConnectionId) const override { return 1; }
    void set_timer(ConnectionId, int, std::int64_t) override {}
    void wake(ConnectionId) override {}
  } nobody;
  const SwiftSpec spec;
  const Swift swift(spec, nobody);
  EXPECT_NEAR(swift.target(100, 3), 28e6, 1);
  EXPECT_NEAR(swift.target(1000, 3), 28e6, 1);
  EXPECT_NEAR(swift.target(0.1, 3), 128e6, 1);
  EXPECT_NEAR(swift.target(0.01, 0), 125e6, 1);
}

TEST(CongestionTable, SlowsSendersUntilTheQueueIsBelowItsThreshold) {
  const std::uint32_t n = 8;
  const NetworkGraph graph = star(n + 1, wire(LinkProtocol::infiniband, 50_GBps, 500_ns));
  PacketSpec spec;
  double with[2];
  for (const bool enabled : {false, true}) {
    spec.infiniband.congestion_control.enabled = enabled;
    PacketBench bench(graph, spec);
    for (std::uint32_t i = 0; i < n; ++i) bench.at(0_ns, bench.flow(i, n, 100_MB));
    with[enabled ? 1 : 0] = mean_queue(bench, 2 * n + 1, 1_ms, 5_ms, 5_us);
  }
  EXPECT_LT(with[1], 0.6 * with[0]);
}

}  // namespace
}  // namespace warploom
