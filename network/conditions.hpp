// SPDX-License-Identifier: Apache-2.0
// What befalls a network of any kind: faults, degraded links, load of others, where the job's ranks are, how flows are
// routed.
//
// Equations: a link's rate x the share that is left (0: down; ways lead around it), x (1 - background). A network with
// conditions is its graph: it no longer folds by tiers. Background does not change ways. Where a fault leaves a device
// no way of switches (its card or its leaf is down), it goes through devices beside it and out over their cards,
// evenly, as NCCL does by PXN or over another card; devices elsewhere keep their ways.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "network/graph/routing_policy.hpp"
#include "network/placement.hpp"
#include "network/topology.hpp"
#include "sim/core/config.hpp"

namespace warploom {

// All links between two sets of vertices, or of a kind, or of a vertex.
struct LinksSpec {
  std::string a;
  std::string b;
  std::string kind;
  double share = 0;
};

struct FaultSpec : LinksSpec {
  std::string vertex;
  std::int64_t links = 0;
  static auto fields() {
    return field_list(
        field("vertex", &FaultSpec::vertex, "a switch, card or host that is down: `spine 3`").optional(),
        field("a", &FaultSpec::a, "or links that are down: one end, `leaf 0`").optional(),
        field("b", &FaultSpec::b, "their other end, `spine *`").optional(),
        field("links", &FaultSpec::links, "how many of them, the first; default: all").optional().in(1, 1'000'000));
  }
  static void check(const FaultSpec& spec, const ConfigValue& at, Diagnostics& diagnostics);
};

struct ShareSpec : LinksSpec {
  static auto fields() {
    return field_list(field("kind", &ShareSpec::kind, "all links of a kind: `spine`").optional(),
                      field("a", &ShareSpec::a, "or those between two ends: `leaf 0`").optional(),
                      field("b", &ShareSpec::b, "the other end, `spine *`").optional(),
                      field("share", &ShareSpec::share, "of their rate").in(0, 1));
  }
  static void check(const ShareSpec& spec, const ConfigValue& at, Diagnostics& diagnostics);
};

struct Conditions {
  std::vector<FaultSpec> faults;
  std::vector<ShareSpec> degraded;
  std::vector<ShareSpec> background;
  std::optional<PlacementSpec> placement;
  std::optional<RoutingSpec> routing;
  bool any() const {
    return !faults.empty() || !degraded.empty() || !background.empty() || placement.has_value() || routing.has_value();
  }
  static auto fields() {
    return field_list(
        field("faults", &Conditions::faults, "switches and links that are down").optional(),
        field("degraded", &Conditions::degraded, "links with a share of their rate left").optional(),
        field("background", &Conditions::background, "links of whose rate others take a share").optional(),
        field("placement", &Conditions::placement, "which device each rank of the job is"),
        field("routing", &Conditions::routing, "how flows choose among equal ways"));
  }
};

// The topology of a `network:` value with its conditions; all devices (of the placement, if there is one) for
// `devices` 0. Null after a mistake, which goes to the diagnostics.
std::shared_ptr<const Topology> make_topology(const ConfigValue& network, std::int64_t devices,
                                              Diagnostics& diagnostics);

}  // namespace warploom
