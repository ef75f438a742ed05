// SPDX-License-Identifier: Apache-2.0
// Which device of the cluster each rank of the job is: by hosts, by devices, or from a rank file.
//
// Equations: `hosts`: rank r is device r mod n of the host r / n in the list, n devices a node; `devices`: rank r is
// the r-th of the list; `file`: the same, an entry a line, `#` starts a comment. An entry is a number or a range,
// `8-15`. Planners take a node's devices for consecutive ranks, so that n of them must share a node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/config.hpp"

namespace warploom {

struct PlacementSpec {
  std::vector<std::string> hosts;
  std::vector<std::string> devices;
  std::string file;
  static auto fields() {
    return field_list(
        field("hosts", &PlacementSpec::hosts, "nodes in the order of the job's ranks, such as [4, 5, 0-3]").optional(),
        field("devices", &PlacementSpec::devices, "devices in the order of the job's ranks").optional(),
        field("file", &PlacementSpec::file, "the same from a file, a device or range a line").optional());
  }
};

// The device of each rank, of a cluster of `size` devices in nodes of `node`. `folder`: where a relative file lies.
// Throws UserError.
std::vector<std::int64_t> placed(const PlacementSpec& spec, std::int64_t size, std::int64_t node,
                                 const std::string& folder);

}  // namespace warploom
