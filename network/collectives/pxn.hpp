// SPDX-License-Identifier: Apache-2.0
// PXN: a message crosses the network on its target's rail, entered by NVLink at the node's device on that rail.
//
// Equations, N nodes of k: all-to-all, every device passes to each of its node's others what N nodes want of that rail,
// N B / n, and sends to the N - 1 devices on its own rail k B / n each; both pipelined: the slower counts, and no
// message crosses rails. Send: over the own port, then over the card of the device that is on the target's rail.
// Latency: that of the message and a hop. Source: NCCL 2.12 release ("PXN", NVIDIA technical blog 2022),
// src/transport/net.cc, src/graph/paths.cc (ncclTopoGetIntermediateRank). Taken only when asked for.
#pragma once

#include "network/collectives/collective.hpp"

namespace warploom {

class PxnAllToAll final : public Collective {
 public:
  CollectiveKind kind() const override { return CollectiveKind::all_to_all; }
  Algorithm algorithm() const override { return Algorithm::pxn; }
  bool is_possible(const Setting& setting, Protocol protocol) const override;
  bool is_offered(const Setting& /*setting*/, Protocol /*protocol*/) const override { return false; }
  Plan plan(const Setting& setting, Protocol protocol) const override;
  Schedule schedule(int ranks) const override;
};

class PxnSend final : public Collective {
 public:
  CollectiveKind kind() const override { return CollectiveKind::send_recv; }
  Algorithm algorithm() const override { return Algorithm::pxn; }
  bool is_possible(const Setting& setting, Protocol protocol) const override;
  bool is_offered(const Setting& /*setting*/, Protocol /*protocol*/) const override { return false; }
  Plan plan(const Setting& setting, Protocol protocol) const override;
  Schedule schedule(int ranks) const override;
};

}  // namespace warploom
