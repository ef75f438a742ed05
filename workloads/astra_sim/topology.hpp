// SPDX-License-Identifier: Apache-2.0
// An ASTRA-sim network as one of ours, written out: links that messages share, instead of hops that they do not.
//
// Each dimension joins the NPUs that differ in its digit alone (the first dimension's digit varies fastest: rank 47 of
// [2, 8, 4] is [1, 7, 2]): Ring, its neighbours; FullyConnected, every pair; Switch, each NPU to a switch that does not
// block. A link is full duplex, `bandwidth` GiB/s and `latency` ns each way. NPUs pass on what is not theirs, on
// shortest ways.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "network/topology.hpp"
#include "workloads/astra_sim/inputs.hpp"

namespace warploom {

std::shared_ptr<const Topology> astra_topology(const AstraNetwork& network);

// Ranks as a box of the network: all combinations of some values, evenly spaced, of each digit.
struct AstraDigit {
  std::size_t dimension = 0;
  std::int64_t count = 1;   // values that it takes, above 1
  std::int64_t stride = 1;  // ranks from one to the next
};
// Nothing where they are none. `ranks` ascend.
std::optional<std::vector<AstraDigit>> astra_box(const AstraNetwork& network, std::span<const Rank> ranks);

}  // namespace warploom
