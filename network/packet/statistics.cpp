// SPDX-License-Identifier: Apache-2.0
// Sums over lanes and flows.
#include "network/packet/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "network/packet/network.hpp"

namespace warploom {

namespace {

constexpr std::size_t most_completions = 4'000'000;
constexpr std::size_t most_slow = 10;

}  // namespace

void PacketNetwork::count_completion(const Connection& c) {
  ++totals_.connections;
  const auto duration = static_cast<double>(c.finished - c.started);
  totals_.completion_sum += duration;
  totals_.last_completion = std::max(totals_.last_completion, c.finished - c.started);
  if (completions_.size() < most_completions) completions_.push_back(static_cast<float>(duration * 1e-6));
  const Time time = Time::picoseconds(c.finished - c.started);
  if (slowest_.size() == most_slow && time <= slowest_.back().duration) return;
  SlowFlow flow;
  flow.from = graph_.name(c.from);
  flow.to = graph_.name(c.to);
  flow.bytes = Bytes(c.bytes);
  flow.duration = time;
  flow.throughput = duration > 0 ? static_cast<double>(c.bytes) / time.seconds() : 0;
  flow.resent = Bytes(c.resent_bytes);
  flow.marks = c.marks;
  flow.drops = c.drops;
  const auto place = std::ranges::upper_bound(slowest_, time, std::greater<>(), &SlowFlow::duration);
  slowest_.insert(place, std::move(flow));
  if (slowest_.size() > most_slow) slowest_.pop_back();
}

double PacketNetwork::rate(ConnectionId id) const {
  const Connection& c = connections_[id];
  const double gap = std::max(c.limit_gap, c.control_gap);
  return 1e12 * (gap > 0 ? 1 / gap : line_rate(id));
}

std::int64_t PacketNetwork::queued(EdgeId edge) const {
  std::int64_t sum = 0;
  for (std::uint32_t l = 0; l < lane_count_; ++l) sum += lanes_[edge * lane_count_ + l].queued;
  return sum;
}

QueueStatistics PacketNetwork::queue_statistics(LaneId id, double seconds) const {
  const Lane& lane = lanes_[id];
  const EdgeId edge = id / lane_count_;
  const Port& port = ports_[edge];
  QueueStatistics queue;
  queue.name = graph_.edge_name(edge);
  if (lane_count_ > 1) queue.name += fmt::format(", lane {}", id % lane_count_);
  queue.kind = graph_.kind(edge).name;
  queue.bytes = Bytes(port.payload);
  if (seconds > 0) {
    queue.throughput = static_cast<double>(port.payload) / seconds;
    queue.utilisation = queue.throughput / graph_.payload(edge).value();
    const double area = lane.area + static_cast<double>(lane.queued) * static_cast<double>(now_ - lane.changed);
    queue.mean_queued = Bytes(std::llround(area * 1e-12 / seconds));
  }
  queue.most_queued = Bytes(lane.most_queued);
  queue.marks = lane.marks;
  queue.drops = lane.drops;
  queue.pauses = lane.pauses;
  queue.paused = Time::picoseconds(lane.paused + (lane.is_paused ? now_ - lane.pause_start : 0));
  queue.stalls = lane.stalls;
  queue.stalled = Time::picoseconds(lane.stalled + (lane.stall_start >= 0 ? now_ - lane.stall_start : 0));
  queue.flows = most_flows_on_[edge];
  return queue;
}

PacketStatistics PacketNetwork::statistics(std::size_t most) const {
  PacketStatistics all;
  all.time = Time::picoseconds(now_ - first_start_);
  const double seconds = all.time.seconds();
  all.packet_hops = hops_;
  all.flows = totals_.connections;
  all.asked = Bytes(totals_.asked);
  all.delivered = Bytes(totals_.delivered);
  all.resent = Bytes(totals_.resent);
  all.notifications = totals_.notifications;
  all.collisions = totals_.collisions;
  std::vector<LaneId> order;
  for (LaneId id = 0; id < lanes_.size(); ++id) {
    const Port& port = ports_[id / lane_count_];
    if (port.packets == 0) continue;
    order.push_back(id);
    const QueueStatistics queue = queue_statistics(id, seconds);
    all.marks += queue.marks;
    all.drops += queue.drops;
    all.pauses += queue.pauses;
    all.paused += queue.paused;
    all.stalls += queue.stalls;
    all.stalled += queue.stalled;
    all.most_queued = std::max(all.most_queued, queue.most_queued);
    if (queue.utilisation > all.bottleneck_utilisation) {
      all.bottleneck_utilisation = queue.utilisation;
      all.bottleneck = queue.name;
    }
  }
  const auto fuller = [this](LaneId a, LaneId b) {
    const Lane& one = lanes_[a];
    const Lane& other = lanes_[b];
    if (one.most_queued != other.most_queued) return one.most_queued > other.most_queued;
    const auto bytes = ports_[a / lane_count_].payload;
    const auto others = ports_[b / lane_count_].payload;
    return bytes != others ? bytes > others : a < b;
  };
  most = std::min(most, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(most), fuller);
  for (std::size_t i = 0; i < most; ++i) all.queues.push_back(queue_statistics(order[i], seconds));
  all.slowest = slowest_;
  if (totals_.connections == 0) return all;
  all.mean_completion =
      Time::picoseconds(std::llround(totals_.completion_sum / static_cast<double>(totals_.connections)));
  all.last_completion = Time::picoseconds(totals_.last_completion);
  std::vector<float> sorted = completions_;
  const std::size_t tail = (sorted.size() * 99 + 99) / 100 - 1;
  std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(tail));
  all.tail_completion = Time::picoseconds(std::llround(static_cast<double>(sorted[tail]) * 1e6));
  return all;
}

}  // namespace warploom
