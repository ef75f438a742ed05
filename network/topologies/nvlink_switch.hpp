// SPDX-License-Identifier: Apache-2.0
// One node alone: every device has a port into a switch that does not block (HGX boards, NVL72 racks).
//
// Equation: any two devices exchange rate x links each way, whatever the others do. Assumes a single-stage switch
// plane; several switch chips with links from every device to each of them act as one. Source: NVIDIA DGX H100 and
// GB200 NVL72 architecture overviews (NVL72: 72 devices x 18 links x 2 x 50 GB/s = 129.6 TB/s).
#pragma once

#include "network/topologies/switch_tree.hpp"

namespace warploom {

class NvlinkSwitch final : public SwitchTree {
 public:
  struct Spec {
    NodeSpec node;
    static auto fields() { return field_list(field("node", &Spec::node, "the devices and their switch")); }
  };
  NvlinkSwitch(const Spec& spec, std::int64_t devices)
      : SwitchTree("nvlink_switch", spec.node, nullptr, {}, 1, devices) {}
};

}  // namespace warploom
