// SPDX-License-Identifier: Apache-2.0
// HCCL's algorithms and choice.
#include "network/collectives/families/hccl.hpp"

#include "network/collectives/round_plan.hpp"
#include "network/collectives/rounds/round_algorithms.hpp"

namespace warploom {

namespace {

bool is_reduction_or_gathering(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter ||
         kind == CollectiveKind::all_gather;
}

// Of the library's own, in rounds; the rings of NCCL run in channels.
bool is_own(const Collective& collective) {
  if (!is_reduction_or_gathering(collective.kind()) && collective.kind() != CollectiveKind::all_to_all) return true;
  return collective.rounds() != nullptr || collective.algorithm() == Algorithm::pipeline;
}

}  // namespace

bool HcclFamily::has(const Setting& /*setting*/, const Collective& collective) const {
  switch (collective.algorithm()) {
    case Algorithm::ring:
    case Algorithm::mesh:
    case Algorithm::halving_doubling:
    case Algorithm::nhr:
    case Algorithm::bruck:
    case Algorithm::pairwise:
    case Algorithm::pipeline:
      return is_own(collective);
    case Algorithm::direct:
      return collective.kind() != CollectiveKind::all_to_all;
    default:
      return false;
  }
}

bool HcclFamily::offers(const Setting& setting, const Collective& collective, Protocol protocol) const {
  if (protocol != Protocol::simple || !has(setting, collective)) return false;
  const bool in_node = setting.profile.in_node();
  const Algorithm algorithm = collective.algorithm();
  if (collective.kind() == CollectiveKind::all_to_all)
    return algorithm == (in_node ? Algorithm::mesh : Algorithm::pairwise);
  if (!is_reduction_or_gathering(collective.kind())) return true;
  if (!in_node) return algorithm != Algorithm::mesh;
  const LevelAlgorithm node = setting.library.levels.node;
  return node == LevelAlgorithm::none || algorithm == round_algorithm(node).algorithm();
}

Time HcclFamily::estimate(const Setting& setting, const Collective& collective, Protocol protocol) const {
  return time_alone(collective.plan(setting, protocol));
}

}  // namespace warploom
