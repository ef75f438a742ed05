// SPDX-License-Identifier: Apache-2.0
// The arithmetic of NCCL's tuning.cc, with its constants.
#include "network/collectives/nccl_tuner.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "network/collectives/channels.hpp"
#include "network/collectives/pace.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

using PerProtocol = std::array<double, 3>;  // LL, LL128, Simple

// Microseconds.
constexpr PerProtocol tree_base{6.8, 14, 8.4};
constexpr PerProtocol ring_base{6.6, 14, 8.4};
struct Hops {
  PerProtocol tree, ring;
};
constexpr Hops nvlink_hops{{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}};
constexpr Hops pcie_hops{{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}};
constexpr Hops network_hops{{5.0, 8.5, 14}, {2.7, 4.0, 14}};
constexpr double nvls_hop = 25;
constexpr double nvls_tree_network_hop = 20.9;
constexpr PerProtocol network_overhead{1, 1, 3};  // of a step inside a node once there are several, at least

// Trees by size, from 64 B by powers of two.
constexpr std::array<std::array<double, 24>, 3> tree_correction{
    {{1.0, 1.0, 1.0, 1.0, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1.0, 1.0, 1.0, 1.0, 1.0},
     {1.0, 1.0, 1.0, 1.0, 1.0, .9, .8, .8, .8, .7, .6, .6, .6, .5, .6, .6, .7, .7, .8, .9, .9, .92, .92, .92},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .98}}};

double log2_floor(std::int64_t n) {
  return n > 1 ? static_cast<double>(std::bit_width(static_cast<std::uint64_t>(n)) - 1) : 0.0;
}

// The graph as the library would find it for this group.
struct Graph {
  double bus = 0;       // of rings: bytes a second, all channels
  double tree_bus = 0;  // over two nodes a tree crosses a card once where a ring does twice
  double channels = 1;
};

class Model {
 public:
  Model(const Setting& setting, CollectiveKind kind, Algorithm algorithm, Protocol protocol)
      : setting_(setting),
        tuner_(setting.library.tuner),
        kind_(kind),
        algorithm_(algorithm),
        protocol_(protocol),
        p_(static_cast<std::size_t>(protocol)),
        ranks_(static_cast<double>(setting.ranks())),
        nodes_(setting.profile.nodes),
        in_node_(std::max<std::int64_t>(setting.ranks() / nodes_, 1)) {
    const Bandwidth port = setting.topology.port();
    const RingGraph rings = search_rings(port, setting.library);
    graph_ = {rings.bus().value(), rings.bus().value(), static_cast<double>(rings.channels)};
    if (nodes_ > 1) {
      const double cards = card_rate() * cards_of(setting);
      graph_.bus = std::min(cards, rings.bus().value());
      graph_.tree_bus =
          std::min(cards * (nodes_ == 2 && tuner_.link == TunedLink::nvlink ? 2 : 1), rings.bus().value());
      graph_.channels = cards_of(setting) * tuner_.card_channels;
    }
  }

  TunerEstimate estimate() const {
    TunerEstimate result;
    result.latency = Time::from_seconds(latency_us() * 1e-6);
    const double steps = ring_steps();
    const bool counts_steps = algorithm_ == Algorithm::ring || is_nvls();
    const bool is_chain = kind_ == CollectiveKind::broadcast;
    result.rate = Bandwidth(bus_rate() * (is_chain ? 1.0 : counts_steps ? ranks_ / steps : 0.5));
    return result;
  }

 private:
  bool is_nvls() const { return algorithm_ == Algorithm::nvls || algorithm_ == Algorithm::nvls_tree; }
  double ring_steps() const { return (kind_ == CollectiveKind::all_reduce ? 2 : 1) * (ranks_ - 1); }

  double card_rate() const { return setting_.topology.card().value() * setting_.library.simple.network_efficiency; }

  // One node, two nodes, more; no list, no bound.
  double most(const std::vector<Bandwidth>& list) const {
    const auto found = TunerSpec::at_nodes(list, nodes_);
    return found ? found->value() : INFINITY;
  }

  double bus_rate() const {
    const double bus = graph_.bus;
    if (is_nvls()) return nvls_rate();
    if (algorithm_ == Algorithm::ring) {
      if (protocol_ == Protocol::ll) return std::min(most(tuner_.ll), bus / 2);
      if (protocol_ == Protocol::ll128) return std::min(0.92 * bus, graph_.channels * most(tuner_.ring_ll128_channel));
      return bus;
    }
    double rate = std::min(0.92 * graph_.tree_bus, graph_.channels * most(tuner_.tree_channel));
    if (protocol_ == Protocol::ll) rate = std::min(rate / 3.8, most(tuner_.ll));
    if (protocol_ == Protocol::ll128) {
      rate = std::min(rate * (nodes_ == 1 ? 7.0 / 9 : 120.0 / 128), graph_.channels * most(tuner_.tree_ll128_channel));
    }
    return rate * tuner_.tree_factor;
  }

  // A channel a head; its speed is what the search finds with (n + 1) loads on a port.
  double nvls_rate() const {
    const auto heads = static_cast<double>(in_node_);
    const double most_speed = setting_.topology.port().value() / (heads + 1);
    double speed = tuner_.speeds.empty() ? most_speed : 0;
    for (const Bandwidth tried : tuner_.speeds) {
      if (tried.value() <= most_speed * (1 + 1e-6)) speed = std::max(speed, tried.value());
    }
    if (speed == 0) speed = most_speed;  // more heads than the slowest of the list has room for
    const double intra = speed * tuner_.nvls_efficiency * (heads - 1) / heads * 2;
    if (nodes_ == 1) return intra * heads;
    const double inter = card_rate() * (nodes_ == 2 ? 2 : 1);
    return std::min({intra, inter, most(tuner_.nvls_tree_channel)}) * heads;
  }

  double latency_us() const {
    const Hops& node = tuner_.link == TunedLink::nvlink ? nvlink_hops : pcie_hops;
    const double levels = log2_floor(nodes_);
    if (algorithm_ == Algorithm::nvls) return nvls_hop;
    const TransportSpec& transport = setting_.library.transport;
    const bool is_twice = protocol_ == Protocol::simple && transport.flushes;
    const double reported = transport.reported_latency.microseconds() * (is_twice ? 2 : 1);
    if (algorithm_ == Algorithm::nvls_tree) return nvls_hop + 2 * levels * (nvls_tree_network_hop + reported);
    const auto others = static_cast<double>(in_node_ - 1);
    if (algorithm_ == Algorithm::tree) {
      const double hop = in_node_ == 1 ? network_hops.tree[p_] : inside(node.tree[p_]);
      return tree_base[p_] + 2 * (others * hop + levels * (network_hops.tree[p_] + reported));
    }
    const double passes = kind_ == CollectiveKind::all_reduce ? 2 : 1;
    const double inter = passes * static_cast<double>(nodes_ - 1);
    return ring_base[p_] + (ring_steps() - inter) * inside(node.ring[p_]) + inter * (network_hops.ring[p_] + reported);
  }

  double inside(double hop) const { return nodes_ > 1 ? std::max(hop, network_overhead[p_]) : hop; }

  const Setting& setting_;
  const TunerSpec& tuner_;
  CollectiveKind kind_;
  Algorithm algorithm_;
  Protocol protocol_;
  std::size_t p_;
  double ranks_;
  std::int64_t nodes_;
  std::int64_t in_node_;
  Graph graph_;
};

}  // namespace

TunerEstimate tuner_estimate(const Setting& setting, CollectiveKind kind, Algorithm algorithm, Protocol protocol) {
  WARPLOOM_CHECK(algorithm != Algorithm::direct, "the tuner does not know direct calls");
  return Model(setting, kind, algorithm, protocol).estimate();
}

Time library_estimate(const Setting& setting, Algorithm algorithm, Protocol protocol) {
  const CollectiveKind kind = setting.call.kind;
  TunerEstimate estimate = tuner_estimate(setting, kind, algorithm, protocol);
  const std::int64_t bytes = setting.call.bytes.count();
  if (algorithm == Algorithm::tree) {
    const auto size = static_cast<std::size_t>(log2_floor(bytes / 64));
    const auto& correction = tree_correction[static_cast<std::size_t>(protocol)];
    if (size < correction.size()) estimate.rate = estimate.rate * correction[size];
  }
  // The plateau of a long ring.
  if (algorithm == Algorithm::ring && protocol == Protocol::simple && !setting.profile.in_node() &&
      kind == CollectiveKind::all_reduce &&
      bytes / (static_cast<std::int64_t>(setting.library.network_channels) * setting.ranks()) >= 64) {
    estimate.latency = estimate.latency * 1.4;
  }
  return estimate.total(setting.call.bytes);
}

}  // namespace warploom
