// SPDX-License-Identifier: Apache-2.0
// Ways of packets: one a queue pair, or several among which its packets are spread.
//
// Equation: the choices along a way are digits of its number, the first choice the fastest, each added to the digits
// before it and to the flow's hash where it is made: numbers 0 to c - 1 are the c ways of equal cost, as many of them
// as there are links at the first choice use each of those once, and what they choose later differs, too. So a flow
// that is sprayed over up to `spray_paths` of them loads the links of every tier about alike. A device with several
// links towards the destination has a queue pair for each.
#include <fmt/format.h>

#include <algorithm>

#include "network/graph/all_path.hpp"
#include "network/graph/mix.hpp"
#include "network/packet/framing.hpp"
#include "network/packet/network.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::uint32_t most_pairs = 1024;            // of a flow
constexpr std::size_t most_path_links = 500'000'000;  // 2 GB

}  // namespace

std::size_t PacketNetwork::PathHash::operator()(const PathKey& key) const {
  return static_cast<std::size_t>(mix((static_cast<std::uint64_t>(key.from) << 32 | key.to) ^
                                      (static_cast<std::uint64_t>(key.channel) * 0x9E3779B97F4A7C15ULL)));
}

const PacketNetwork::Path& PacketNetwork::path_of(VertexId from, VertexId to, std::uint32_t channel) {
  const auto [known, is_new] = known_paths_.try_emplace({from, to, channel});
  if (is_new) known->second = make_path(from, to, channel);
  return known->second;
}

// Queue pairs of a flow: as many as are asked for; where it is spread, the same number for each link out of its device;
// over all ways, short and longer, one each.
std::uint32_t PacketNetwork::queue_pairs_of(VertexId from, VertexId to, std::uint32_t channel) {
  const auto asked = static_cast<std::uint32_t>(routing_.queue_pairs);
  if (routing_.paths == PacketPaths::ecmp) return asked;
  const auto [known, is_new] = known_pairs_.try_emplace({from, to, channel}, asked);
  if (!is_new) return known->second;
  if (auto* all = dynamic_cast<AllPathRouter*>(router_.get())) {
    const auto ways = all->paths(from, to);
    const std::size_t count = std::min(ways.size(), static_cast<std::size_t>(routing_.most_paths));
    const std::uint64_t start = count < ways.size() ? hash_of({from, to, channel}, from, routing_.seed) : 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto pair = static_cast<std::uint32_t>(i);
      // Where only some can be used, every flow takes others.
      const std::size_t which = (static_cast<std::size_t>(start % ways.size()) + i * ways.size() / count) % ways.size();
      known_paths_[{from, to, channel * most_pairs + pair}] = write_path({ways[which]});
    }
    return known->second = static_cast<std::uint32_t>(count);
  }
  std::vector<EdgeId> links;
  router_->next(from, to, links);
  const auto first = static_cast<std::uint32_t>(std::min<std::size_t>(links.size(), most_pairs));
  return known->second = std::min((asked + first - 1) / first * first, most_pairs / first * first);
}

PacketNetwork::Path PacketNetwork::make_path(VertexId from, VertexId to, std::uint32_t channel) {
  const FlowKey flow{from, to, channel};
  if (routing_.paths == PacketPaths::ecmp) return write_path({router_->hashed_path(flow, routing_.seed)});
  return write_path(ways_of(flow));
}

// Ways of one length that leave by the link of the queue pair.
std::vector<std::vector<EdgeId>> PacketNetwork::ways_of(const FlowKey& flow) {
  std::size_t all = 1;
  std::size_t fan = 1;  // links at the first choice
  std::vector<std::vector<EdgeId>> ways{numbered_way(flow, 0, all, fan)};
  std::size_t most = std::min(all, static_cast<std::size_t>(routing_.most_paths));
  if (most < all && fan <= most) most = most / fan * fan;
  for (std::size_t i = 1; i < most; ++i) {
    auto way = numbered_way(flow, most < fan ? i * fan / most : i, all, fan);
    if (way.size() == ways[0].size() && std::ranges::find(ways, way) == ways.end()) ways.push_back(std::move(way));
  }
  return ways;
}

std::vector<EdgeId> PacketNetwork::numbered_way(const FlowKey& flow, std::size_t number, std::size_t& all,
                                                std::size_t& fan) {
  constexpr std::size_t many = 1 << 20;
  const FlowKey whole{flow.from, flow.to, flow.channel / most_pairs};
  std::vector<EdgeId> way;
  std::vector<EdgeId> links;
  std::size_t before = 0;  // digits so far
  all = fan = 1;
  for (VertexId at = flow.from; at != flow.to; at = graph_.to(way.back())) {
    router_->next(at, flow.to, links);
    const std::size_t count = links.size();
    if (at == flow.from) {
      way.push_back(links[(hash_of(whole, at, routing_.seed) + flow.channel % most_pairs) % count]);
      continue;
    }
    const std::size_t digit = number % count;
    way.push_back(links[(hash_of(flow, at, routing_.seed) % count + digit + before) % count]);
    before += digit;
    number /= count;
    if (fan == 1) fan = count;
    all = std::min(all * count, many);
  }
  return way;
}

PacketNetwork::Path PacketNetwork::write_path(const std::vector<std::vector<EdgeId>>& ways) {
  const std::vector<EdgeId>& edges = ways.front();
  Path path;
  path.place = static_cast<std::uint32_t>(paths_.size());
  path.length = static_cast<std::uint32_t>(edges.size());
  path.count = static_cast<std::uint32_t>(ways.size());
  bool has_infiniband = false;
  bool has_nvlink = true;
  for (const EdgeId edge : edges) {
    const LinkProtocol protocol = graph_.kind(edge).protocol;
    path.is_ethernet = path.is_ethernet || protocol == LinkProtocol::ethernet;
    has_infiniband = has_infiniband || protocol == LinkProtocol::infiniband || protocol == LinkProtocol::unified_bus;
    has_nvlink = has_nvlink && (protocol == LinkProtocol::nvlink || protocol == LinkProtocol::pcie);
    path.back_delay += ports_[edge].pause_delay;
  }
  path.is_infiniband = has_infiniband && !path.is_ethernet;
  const LinkProtocol framed = path.is_ethernet ? LinkProtocol::ethernet
                              : has_nvlink     ? LinkProtocol::nvlink
                                               : LinkProtocol::infiniband;
  const Framing framing = framing_of(framed, spec_);
  path.unit = static_cast<std::uint32_t>(framing.unit * framing.train);
  if (paths_.size() + ways.size() * (edges.size() + 1) > most_path_links) {
    throw UserError(fmt::format("the ways of all flows have more than {} links", most_path_links),
                    "lower `network.fabric.spray_paths`, or use fewer ranks or the fluid fabric");
  }
  for (const auto& way : ways) {
    paths_.insert(paths_.end(), way.begin(), way.end());
    paths_.push_back(nothing);
  }
  return path;
}

// Its hash has put the flow on a link in use although another of equal cost is free.
void PacketNetwork::note_collision(const PacketFlow& flow, const Path& path) {
  if (path.count > 1) return;
  std::vector<EdgeId> links;
  for (std::uint32_t i = 0; i < path.length; ++i) {
    const EdgeId edge = paths_[path.place + i];
    if (flows_on_[edge] == 0 || graph_.group_of(graph_.from(edge)).kind != VertexKind::network_switch) continue;
    router_->next(graph_.from(edge), flow.to, links);
    if (std::ranges::any_of(links, [this](EdgeId other) { return flows_on_[other] == 0; })) {
      ++totals_.collisions;
      return;
    }
  }
}

}  // namespace warploom
