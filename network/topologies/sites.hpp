// SPDX-License-Identifier: Apache-2.0
// Clusters at several sites, joined by a few long links.
//
// Equations: the sites' networks as they are, ranks one site after the other; at each site a gateway hangs with `links`
// cables on every switch of the group `at` (its roots by default); any two gateways are joined by `links` long links,
// so that the bisection of two sites is links x rate. Light in fibre takes 5 us a kilometre, c / 1.47 (ITU-T G.652).
// The sites' nodes must be equal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "network/topologies/graph_topology.hpp"
#include "network/topologies/parts.hpp"

namespace warploom {

struct SiteSpec {
  ConfigValue network;
  std::int64_t devices = 0;
  static auto fields() {
    return field_list(
        field("network", &SiteSpec::network, "the site's own network: {kind: ...}"),
        field("devices", &SiteSpec::devices, "how many of its devices; default: all").optional().in(1, 10'000'000));
  }
};

struct GatewaySpec {
  std::string at;
  std::int64_t links = 1;
  CableSpec cable;
  static auto fields() {
    return field_list(
        field("at", &GatewaySpec::at, "the switches that it hangs on, such as `spine`; default: the site's roots")
            .optional(),
        field("links", &GatewaySpec::links, "cables to each of them").optional().in(1, 1024),
        field("cable", &GatewaySpec::cable, "rate, medium, protocol, power and price; rate by default the long links'")
            .optional());
  }
};

class Sites final : public GraphTopology {
 public:
  struct Spec {
    std::vector<SiteSpec> sites;
    LinkSpec link;
    GatewaySpec gateway;
    static auto fields() {
      return field_list(field("sites", &Spec::sites, "two or more"),
                        field("link", &Spec::link, "the long links between any two sites: count, rate, latency"),
                        field("gateway", &Spec::gateway, "how a site's switches reach the long links").optional());
    }
    static void check(const Spec& spec, const ConfigValue& at, Diagnostics& diagnostics);
  };
  Sites(const Spec& spec, std::int64_t devices);
};

}  // namespace warploom
