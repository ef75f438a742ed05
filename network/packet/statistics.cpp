// SPDX-License-Identifier: Apache-2.0
// Sums over lanes and flows.
#include "network/packet/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "network/packet/network.hpp"

namespace warploom {

void LinkCounts::add(const LinkCounts& other) {
  most_queued = std::max(most_queued, other.most_queued);
  marks += other.marks;
  drops += other.drops;
  pauses += other.pauses;
  paused += other.paused;
  stalls += other.stalls;
  stalled += other.stalled;
}

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

// Several cables may join the same two ends.
std::string PacketNetwork::link_name(EdgeId edge) const {
  const auto beside = [&](EdgeId other) { return graph_.to(other) == graph_.to(edge); };
  const auto out = graph_.out(graph_.from(edge));
  const auto count = std::ranges::count_if(out, beside);
  if (count < 2) return graph_.edge_name(edge);
  const auto before = std::count_if(out.begin(), std::ranges::find(out, edge), beside);
  return fmt::format("{}, cable {} of {}", graph_.edge_name(edge), before + 1, count);
}

QueueStatistics PacketNetwork::queue_statistics(LaneId id, double seconds) const {
  const Lane& lane = lanes_[id];
  const EdgeId edge = id / lane_count_;
  const Port& port = ports_[edge];
  QueueStatistics queue;
  static_cast<LinkCounts&>(queue) = lane_counts(id);
  queue.flows = most_flows_on_[edge];
  queue.name = link_name(edge);
  if (lane_count_ > 1) queue.name += fmt::format(", lane {}", id % lane_count_);
  queue.kind = graph_.kind(edge).name;
  queue.bytes = Bytes(port.payload);
  if (seconds > 0) {
    queue.throughput = static_cast<double>(port.payload) / seconds;
    queue.utilisation = queue.throughput / graph_.payload(edge).value();
    const double area = lane.area + static_cast<double>(lane.queued) * static_cast<double>(now_ - lane.changed);
    queue.mean_queued = Bytes(std::llround(area * 1e-12 / seconds));
  }
  return queue;
}

// What the lane has counted by itself.
LinkCounts PacketNetwork::lane_counts(LaneId id) const {
  const Lane& lane = lanes_[id];
  LinkCounts queue;
  queue.most_queued = Bytes(lane.most_queued);
  queue.marks = lane.marks;
  queue.drops = lane.drops;
  queue.pauses = lane.pauses;
  queue.paused = Time::picoseconds(lane.paused + (lane.is_paused ? now_ - lane.pause_start : 0));
  queue.stalls = lane.stalls;
  queue.stalled = Time::picoseconds(lane.stalled + (lane.stall_start >= 0 ? now_ - lane.stall_start : 0));
  return queue;
}

// Sums by kind of link; the lanes that carried something.
std::vector<LaneId> PacketNetwork::add_classes(PacketStatistics& all, double seconds) const {
  std::vector<LaneId> used;
  std::map<std::string_view, LinkClassStatistics> classes;
  std::map<std::string_view, double> capacity;
  std::map<std::string_view, EdgeId> busiest;
  for (EdgeId edge = 0; edge < ports_.size(); ++edge) {
    const Port& port = ports_[edge];
    if (port.packets == 0) continue;  // nothing has come to it: what a full queue drops waits behind something sent
    const std::string_view kind = graph_.kind(edge).name;
    LinkClassStatistics& sums = classes[kind];
    ++sums.links;
    sums.bytes += Bytes(port.payload);
    const double rate = graph_.payload(edge).value();
    capacity[kind] += rate;
    const double load = seconds > 0 ? static_cast<double>(port.payload) / seconds / rate : 0;
    if (sums.links == 1 || load > sums.highest_load) {
      sums.highest_load = load;
      busiest[kind] = edge;
    }
    for (std::uint32_t l = 0; l < lane_count_; ++l) {
      sums.add(lane_counts(edge * lane_count_ + l));
      used.push_back(edge * lane_count_ + l);
    }
  }
  for (auto& [kind, sums] : classes) {
    sums.name = kind;
    sums.busiest = link_name(busiest[kind]);
    if (seconds > 0) sums.mean_load = static_cast<double>(sums.bytes.count()) / seconds / capacity[kind];
    all.classes.push_back(std::move(sums));
  }
  std::ranges::stable_sort(all.classes, std::greater<>(), &LinkClassStatistics::highest_load);
  return used;
}

// Each by the largest of its depth over the deepest queue's, its drops over the most, its pause over the longest and
// its wait for credits over the longest; then by drops and by what its link carried.
std::vector<LaneId> PacketNetwork::worst_queues(std::vector<LaneId> lanes, std::size_t most) const {
  LinkCounts worst;
  for (const LaneId id : lanes) {
    const LinkCounts one = lane_counts(id);
    worst.most_queued = std::max(worst.most_queued, one.most_queued);
    worst.drops = std::max(worst.drops, one.drops);
    worst.paused = std::max(worst.paused, one.paused);
    worst.stalled = std::max(worst.stalled, one.stalled);
  }
  struct Place {
    double share = 0;
    std::uint64_t drops = 0;
    std::int64_t bytes = 0;
    LaneId id = 0;
  };
  std::vector<Place> places;
  for (const LaneId id : lanes) {
    const LinkCounts one = lane_counts(id);
    double share = 0;
    if (worst.most_queued > Bytes::zero()) share = one.most_queued / worst.most_queued;
    if (worst.drops > 0) share = std::max(share, static_cast<double>(one.drops) / static_cast<double>(worst.drops));
    if (worst.paused > Time::zero()) share = std::max(share, one.paused / worst.paused);
    if (worst.stalled > Time::zero()) share = std::max(share, one.stalled / worst.stalled);
    places.push_back({share, one.drops, ports_[id / lane_count_].payload, id});
  }
  most = std::min(most, places.size());
  std::ranges::partial_sort(places, places.begin() + static_cast<std::ptrdiff_t>(most),
                            [](const Place& a, const Place& b) {
                              if (a.share != b.share) return a.share > b.share;
                              if (a.drops != b.drops) return a.drops > b.drops;
                              return a.bytes != b.bytes ? a.bytes > b.bytes : a.id < b.id;
                            });
  lanes.clear();
  for (std::size_t i = 0; i < most; ++i) lanes.push_back(places[i].id);
  return lanes;
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
  const std::vector<LaneId> used = add_classes(all, seconds);
  for (const LinkClassStatistics& one : all.classes) all.add(one);
  for (const LaneId id : worst_queues(used, most)) all.queues.push_back(queue_statistics(id, seconds));
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
