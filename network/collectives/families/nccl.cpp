// SPDX-License-Identifier: Apache-2.0
// NCCL's algorithms and choice.
#include "network/collectives/families/nccl.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "network/collectives/collnet.hpp"
#include "network/collectives/nccl_tuner.hpp"
#include "network/collectives/pace.hpp"
#include "network/collectives/round_plan.hpp"

namespace warploom {

bool NcclFamily::has(const Setting& setting, const Collective& collective) const {
  switch (collective.algorithm()) {
    case Algorithm::ring:
      return collective.rounds() == nullptr;  // in channels, not in lockstep
    case Algorithm::tree:
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
    case Algorithm::direct:
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
      return true;
    case Algorithm::hierarchical:
      return collective.kind() == CollectiveKind::all_reduce;
    case Algorithm::pat:
      return setting.library.pat;
    default:
      return false;
  }
}

namespace {

// Protocols among which the transport's plugin chooses; empty where the library does.
std::span<const Protocol> tuned_by_plugin(const Setting& setting, CollectiveKind kind) {
  const PluginTunerSpec& tuner = setting.library.transport.tuner;
  if (setting.profile.in_node()) return {};
  if (kind == CollectiveKind::all_reduce) return tuner.all_reduce;
  if (kind == CollectiveKind::all_gather) return tuner.all_gather;
  return kind == CollectiveKind::reduce_scatter ? std::span(tuner.reduce_scatter) : std::span<const Protocol>();
}

// Cards of a node at their speed, as the search finds them.
double network_bus(const Setting& setting) {
  return setting.topology.card().value() * setting.library.simple.network_efficiency * cards_of(setting);
}

Time pat_estimate(const Setting& setting) {
  constexpr double base = 8e-6;
  constexpr double network_hop = 14e-6;
  const double nodes = std::floor(std::log2(static_cast<double>(setting.profile.nodes)));
  const double latency = base + nodes * network_hop / 3.5 + 2.8e-6 * static_cast<double>(setting.ranks());
  const double rate = 0.75 * network_bus(setting);
  return Time::from_seconds(latency + static_cast<double>(setting.call.bytes.count()) / rate);
}

Time collnet_estimate(const Setting& setting, Algorithm algorithm) {
  double factor = 2;
  if (algorithm == Algorithm::collnet_direct) {
    factor = static_cast<double>(setting.profile.least_in_node) / std::max(cards_of(setting), 1.0);
    factor = (factor - (factor - 1) / 2) / 0.85;
  }
  const double rate = network_bus(setting) / factor;
  return collnet_latency(setting, algorithm) +
         Time::from_seconds(static_cast<double>(setting.call.bytes.count()) / rate);
}

}  // namespace

bool NcclFamily::offers(const Setting& setting, const Collective& collective, Protocol protocol) const {
  const auto tuned = tuned_by_plugin(setting, collective.kind());
  const bool is_left_out = !tuned.empty() && std::ranges::find(tuned, protocol) == tuned.end();
  return !is_left_out && has(setting, collective) && collective.is_offered(setting, protocol);
}

Time NcclFamily::estimate(const Setting& setting, const Collective& collective, Protocol protocol) const {
  switch (collective.algorithm()) {
    case Algorithm::ring:
    case Algorithm::tree:
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
      return tuned_by_plugin(setting, collective.kind()).empty()
                 ? library_estimate(setting, collective.algorithm(), protocol)
                 : time_alone(collective.plan(setting, protocol));
    case Algorithm::pat:
      return pat_estimate(setting);
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
      return collnet_estimate(setting, collective.algorithm());
    default:
      return Time::zero();
  }
}

}  // namespace warploom
