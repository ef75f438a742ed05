// SPDX-License-Identifier: Apache-2.0
// NCCL and libraries made after it: the choice by its tuning model (nccl_tuner.hpp).
//
// Equations of what nccl_tuner.hpp leaves out, r the number of ranks, k of a node, N nodes, bus = channels x speed:
//   PAT      8.4 us + log2(N) network_hop / 3.5 + 2.8 us r ... + bytes / (0.75 bus): 14 us a hop (NET)
//   CollNet  latency of collnet.hpp; direct: bytes / (bus / f), f = max(k / channels, 1) halved towards 1, x 0.85;
//            chain: bytes / (bus / 2)
// Source: NCCL 2.30.7 src/graph/tuning.cc.
#pragma once

#include "network/collectives/families.hpp"

namespace warploom {

class NcclFamily final : public LibraryFamily {
 public:
  bool has(const Setting& setting, const Collective& collective) const override;
  bool offers(const Setting& setting, const Collective& collective, Protocol protocol) const override;
  Time estimate(const Setting& setting, const Collective& collective, Protocol protocol) const override;
};

}  // namespace warploom
