// SPDX-License-Identifier: Apache-2.0
// Packs rings depth first.
#include "network/collectives/ring_search.hpp"

#include <algorithm>
#include <map>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::size_t most_rings = 32;  // MAXCHANNELS / 2
constexpr int most_steps = 1 << 18;     // of the search at one speed

// What the devices have between them, in bytes a second.
struct Links {
  std::size_t count = 0;
  std::vector<double> direct;  // from i to j at i * count + j
  std::vector<double> out;     // into switches
  std::vector<double> in;
};

Links links_of(const NetworkGraph& graph, std::span<const Rank> devices) {
  Links links;
  links.count = devices.size();
  links.direct.assign(links.count * links.count, 0);
  links.out.assign(links.count, 0);
  links.in.assign(links.count, 0);
  std::map<VertexId, std::size_t> number;
  for (std::size_t i = 0; i < links.count; ++i) number[graph.device(devices[i])] = i;
  std::map<VertexId, int> users;  // of a switch, among the devices
  for (const auto& [vertex, i] : number) {
    for (const EdgeId edge : graph.out(vertex)) ++users[graph.to(edge)];
  }
  for (const auto& [vertex, i] : number) {
    for (const EdgeId edge : graph.out(vertex)) {
      const VertexId to = graph.to(edge);
      const double rate = graph.payload(edge).value();
      if (const auto other = number.find(to); other != number.end()) {
        links.direct[i * links.count + other->second] += rate;
      } else if (graph.group_of(to).kind == VertexKind::network_switch && users[to] > 1 &&
                 graph.kind(edge).protocol != LinkProtocol::pcie) {
        links.out[i] += rate;
        links.in[i] += rate;
      }
    }
  }
  return links;
}

class Packer {
 public:
  Packer(Links links, double speed) : links_(std::move(links)), speed_(speed * (1 - 1e-9)) {
    // No more rings than the device with least can take.
    bound_ = most_rings;
    for (std::size_t i = 0; i < links_.count; ++i) {
      double leaving = links_.out[i];
      for (std::size_t j = 0; j < links_.count; ++j) leaving += links_.direct[i * links_.count + j];
      bound_ = std::min(bound_, static_cast<std::size_t>(leaving / speed_));
    }
  }

  std::vector<std::vector<int>> pack() {
    if (bound_ > 0) next_ring();
    return best_;
  }

 private:
  bool is_done() const { return best_.size() >= bound_ || steps_ >= most_steps; }

  double& direct(int from, int to) {
    return links_.direct[static_cast<std::size_t>(from) * links_.count + static_cast<std::size_t>(to)];
  }
  double& out(int device) { return links_.out[static_cast<std::size_t>(device)]; }
  double& in(int device) { return links_.in[static_cast<std::size_t>(device)]; }

  double left(int from, int to) { return std::max(direct(from, to), std::min(out(from), in(to))); }

  // Whether it was taken off the own link.
  bool take(int from, int to) {
    if (direct(from, to) >= speed_) {
      direct(from, to) -= speed_;
      return true;
    }
    out(from) -= speed_;
    in(to) -= speed_;
    return false;
  }
  void give_back(int from, int to, bool was_direct) {
    if (was_direct) {
      direct(from, to) += speed_;
    } else {
      out(from) += speed_;
      in(to) += speed_;
    }
  }

  // Adds the ring if its links have room, and goes on.
  void try_ring(const std::vector<int>& ring) {
    std::vector<bool> taken;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const int to = ring[(i + 1) % ring.size()];
      if (left(ring[i], to) < speed_) break;
      taken.push_back(take(ring[i], to));
    }
    if (taken.size() == ring.size()) accept(ring);
    for (std::size_t i = 0; i < taken.size(); ++i) give_back(ring[i], ring[(i + 1) % ring.size()], taken[i]);
  }

  void accept(const std::vector<int>& ring) {
    rings_.push_back(ring);
    if (rings_.size() > best_.size()) best_ = rings_;
    if (!is_done()) {
      std::vector<int> mirror(ring);
      std::reverse(mirror.begin() + 1, mirror.end());
      const std::size_t before = best_.size();
      if (rings_.size() % 2 == 1) try_ring(mirror);
      if (!is_done() && best_.size() == before) next_ring();
    }
    rings_.pop_back();
  }

  void next_ring() {
    std::vector<int> path{0};
    std::vector<bool> visited(links_.count, false);
    visited[0] = true;
    extend(path, visited);
  }

  void extend(std::vector<int>& path, std::vector<bool>& visited) {
    if (is_done()) return;
    ++steps_;
    const int from = path.back();
    if (path.size() == links_.count) {
      if (left(from, 0) < speed_) return;
      const bool was_direct = take(from, 0);
      accept(path);
      give_back(from, 0, was_direct);
      return;
    }
    std::vector<int> candidates;
    for (int to = 0; to < static_cast<int>(links_.count); ++to) {
      if (!visited[static_cast<std::size_t>(to)] && left(from, to) >= speed_) candidates.push_back(to);
    }
    std::ranges::stable_sort(candidates, std::greater(), [&](int to) { return left(from, to); });
    for (const int to : candidates) {
      if (is_done()) return;
      const bool was_direct = take(from, to);
      path.push_back(to);
      visited[static_cast<std::size_t>(to)] = true;
      extend(path, visited);
      visited[static_cast<std::size_t>(to)] = false;
      path.pop_back();
      give_back(from, to, was_direct);
    }
  }

  Links links_;
  double speed_;
  std::size_t bound_ = 0;
  int steps_ = 0;
  std::vector<std::vector<int>> rings_;
  std::vector<std::vector<int>> best_;
};

}  // namespace

RingPacking pack_rings(const NetworkGraph& graph, std::span<const Rank> devices, const TunerSpec& tuner) {
  if (devices.size() < 2) throw UserError("a ring needs two devices", "name two or more of one node");
  const Links links = links_of(graph, devices);
  RingPacking best;
  best.graph = {0, Bandwidth(0)};
  for (const Bandwidth speed : tuner.speeds) {
    auto rings = Packer(links, speed.value()).pack();
    const auto count = static_cast<std::int64_t>(rings.size());
    if (speed.value() * static_cast<double>(count) <= best.graph.bus().value() * (1 + 1e-9)) continue;
    best = {{count, speed}, std::move(rings)};
  }
  best.graph = split_channels(best.graph, tuner);
  return best;
}

}  // namespace warploom
