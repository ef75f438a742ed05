// SPDX-License-Identifier: Apache-2.0
// A network of any form, written out in the configuration: groups of vertices, kinds of links, what joins what.
//
// Equations: ways by the shortest path; bisection is the least cut found (graph/measure.hpp: an upper bound), diameter
// by search. An end of a link is `leaf 3`, `leaf 0-7`, `leaf *` or `leaf`; several on both sides are joined all to all,
// or one to one by `pairwise`. What planners ask: port: a device's links that lead to no card; card: its links but
// PCIe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "network/topologies/graph_topology.hpp"
#include "network/topologies/parts.hpp"

namespace warploom {

template <>
struct EnumNames<VertexKind> {
  static constexpr std::pair<VertexKind, std::string_view> values[] = {{VertexKind::device, "device"},
                                                                       {VertexKind::card, "card"},
                                                                       {VertexKind::network_switch, "switch"},
                                                                       {VertexKind::host, "host"},
                                                                       {VertexKind::storage, "storage"}};
};

struct VertexGroupSpec {
  std::string name;
  VertexKind kind = VertexKind::network_switch;
  std::int64_t count = 1;
  bool forwards = false;
  SwitchSpec type;
  static auto fields() {
    return field_list(
        field("name", &VertexGroupSpec::name, "what one is called, its number behind it: `leaf` for `leaf 3`"),
        field("kind", &VertexGroupSpec::kind, "what they are"),
        field("count", &VertexGroupSpec::count, "how many, numbered from 0").optional().in(1, 1'000'000),
        field("forwards", &VertexGroupSpec::forwards, "devices and storage: whether they pass on what is not theirs")
            .optional(),
        field("switch", &VertexGroupSpec::type, "ports, buffer, power and price of one").optional());
  }
};

struct GraphLinkSpec {
  std::string a;
  std::string b;
  std::string kind;
  std::int64_t links = 0;
  bool pairwise = false;
  static auto fields() {
    return field_list(
        field("a", &GraphLinkSpec::a, "one end: `leaf 3`, `leaf 0-7`, `leaf *`"),
        field("b", &GraphLinkSpec::b, "the other end"), field("kind", &GraphLinkSpec::kind, "one of `kinds`"),
        field("links", &GraphLinkSpec::links, "parallel links; default: the kind's").optional().in(1, 1024),
        field("pairwise", &GraphLinkSpec::pairwise, "join first to first, second to second, ...").optional());
  }
};

class FreeGraph final : public GraphTopology {
 public:
  struct Spec {
    std::vector<VertexGroupSpec> vertices;
    std::map<std::string, LinkSpec> kinds;
    std::vector<GraphLinkSpec> links;
    std::vector<std::string> ranks;
    std::int64_t node = 0;
    static auto fields() {
      return field_list(
          field("vertices", &Spec::vertices, "devices, cards, switches, hosts, in groups"),
          field("kinds", &Spec::kinds, "the kinds of links, by name"), field("links", &Spec::links, "what joins what"),
          field("ranks", &Spec::ranks, "devices in the order of their ranks; default: as they are listed").optional(),
          field("node", &Spec::node, "devices that planners take for a node; default: all")
              .optional()
              .in(1, 1'000'000));
    }
    static void check(const Spec& spec, const ConfigValue& at, Diagnostics& diagnostics);
  };
  FreeGraph(const Spec& spec, std::int64_t devices);
};

}  // namespace warploom
