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

// Zhu et al., "ECN or Delay", CoNEXT 2016, theorem 1: the only fixed point has fair rates C / N and
// p = cbrt(R_AI N^2 / (tau' C^2) (1 / B + N / (T C))^2), all in packets; the queue is what RED marks with p.
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
