// SPDX-License-Identifier: Apache-2.0
// A scale-up domain of several tiers: devices hang with their own links on switches, those on further ones; in planes.
// Multi-rack NVLink domains, UnifiedBus supernodes; one or several of them, joined by their devices' network cards.
//
// Equations: tree_wiring.hpp with the devices as ends; a device has `links` links into each of `planes` trees that
// never meet. `domains` equal domains; with `scale_out` each device reaches its cards over PCIe, and the cards hang on
// any network between nodes (of `node` devices). Inside a domain the scale-up links are the shorter way, so that the
// cards carry what leaves it. Source: CloudMatrix384, arXiv:2506.12708 section 3.2 (7 planes of 48 L1 and 16 L2
// switches; the RDMA plane); NVIDIA NVL576 (two tiers of NVLink switches).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "network/topologies/node_network.hpp"
#include "network/topologies/tree_between.hpp"

namespace warploom {

// The devices' network cards and what joins them.
struct ScaleOutSpec {
  NicSpec nic;
  ConfigValue between;
  static auto fields() {
    return field_list(field("nic", &ScaleOutSpec::nic, "the network cards of `node` devices"),
                      field("between", &ScaleOutSpec::between,
                            "what joins the cards: {kind: fat_tree, rail_fat_tree, rail_only, ...}"));
  }
  static void check(const ScaleOutSpec& spec, const ConfigValue& /*at*/, Diagnostics& diagnostics) {
    between_registry().make(spec.between, diagnostics);
  }
};

class ScaleUpTree final : public GraphTopology {
 public:
  struct Spec : TreeBetweenSpec {
    LinkSpec link;
    int planes = 1;
    std::int64_t node = 0;
    std::int64_t domains = 1;
    std::optional<ScaleOutSpec> scale_out;
    static auto fields() {
      return field_list(
          field("link", &Spec::link, "a device's links into one plane"),
          field("planes", &Spec::planes, "equal trees that never meet").optional().in(1, 1024),
          field("node", &Spec::node, "devices that planners take for a node; default: all of a domain")
              .optional()
              .in(1, 1'000'000),
          field("tiers", &Spec::tiers, "switches (the first: `of` devices), to the root"),
          field("domains", &Spec::domains, "equal domains; several are joined by their `scale_out`")
              .optional()
              .in(1, 100'000),
          field("scale_out", &Spec::scale_out, "network cards beside the scale-up links (an RDMA plane)"));
    }
    static void check(const Spec& spec, const ConfigValue& at, Diagnostics& diagnostics);
  };
  ScaleUpTree(const Spec& spec, std::int64_t devices);
};

}  // namespace warploom
