// SPDX-License-Identifier: Apache-2.0
// The host's side of a node: sockets with their memory, PCIe switches, storage cards, coherent links to the devices.
#pragma once

#include <optional>

#include "network/topologies/parts.hpp"
#include "sim/core/config.hpp"

namespace warploom {

struct StorageSpec {
  int count = 1;
  Bandwidth rate{0};
  static auto fields() {
    return field_list(field("count", &StorageSpec::count, "storage cards of a node").in(1, 1024),
                      field("rate", &StorageSpec::rate, "of one, one way").positive());
  }
};

struct HostSideSpec {
  int sockets = 1;
  int switches = 0;
  LinkSpec pcie;
  std::optional<LinkSpec> sockets_link;
  std::optional<LinkSpec> c2c;
  std::optional<StorageSpec> storage;
  static auto fields() {
    return field_list(
        field("sockets", &HostSideSpec::sockets, "processors, each with its memory").in(1, 64),
        field("pcie_switches", &HostSideSpec::switches,
              "PCIe switches of a node, evenly below the sockets; devices and cards hang on them in order. 0: on the "
              "sockets' own ports")
            .optional()
            .in(0, 256),
        field("pcie", &HostSideSpec::pcie, "one PCIe link: of a device, a card, a switch's way up"),
        field("between", &HostSideSpec::sockets_link, "links between any two sockets (UPI, xGMI)"),
        field("c2c", &HostSideSpec::c2c, "a device's coherent links into its socket, in PCIe's stead (Grace)"),
        field("storage", &HostSideSpec::storage, "storage cards"));
  }
  static void check(const HostSideSpec& spec, const ConfigValue& at, Diagnostics& diagnostics) {
    if (spec.sockets > 1 && !spec.sockets_link) {
      diagnostics.error(at.origin(), at.path_of("between"), "nothing joins the sockets",
                        "such as `between: {links: 3, rate: 20 GB/s}`");
    }
    if (spec.switches % spec.sockets != 0) {
      diagnostics.error(at.origin(), at.path_of("pcie_switches"), "the sockets do not share the PCIe switches evenly",
                        "use a multiple of `sockets`");
    }
  }
};

}  // namespace warploom
