// SPDX-License-Identifier: Apache-2.0
// Plain Clos: all cards of a rack's nodes meet at its switch, racks meet in a pod, pods at a core, each tier
// oversubscribed as it says.
//
// Equation: switch_tree.hpp with one switch a unit. Source: Al-Fares et al., "A scalable, commodity data center network
// architecture", SIGCOMM 2008; Meta's training clusters: arXiv:2407.21783 section 3.3.1.
#pragma once

#include "network/topologies/switch_tree.hpp"

namespace warploom {

class FatTree final : public SwitchTree {
 public:
  using Spec = SwitchTreeSpec;
  FatTree(const Spec& spec, std::int64_t devices)
      : SwitchTree("fat_tree", spec.node, &spec.nic, spec.tiers, 1, devices) {}
};

}  // namespace warploom
