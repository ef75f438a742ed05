// SPDX-License-Identifier: Apache-2.0
// Calls with a root, member 0: reduce down a chain; gather and scatter as grouped messages.
//
// Equations: reduce as the pipelined broadcast backwards (ring_broadcast.hpp). Gather, scatter: n - 1 messages of B /
// n, all over the root's port and card: peer.hpp with n - 1 of them. Source: NCCL 2.30.7 src/collectives.cc
// (ncclGather, ncclScatter are sends and receives), src/device/reduce.h.
#pragma once

#include "network/collectives/collective.hpp"
#include "network/collectives/peer.hpp"

namespace warploom {

class RingReduce final : public Collective {
 public:
  CollectiveKind kind() const override { return CollectiveKind::reduce; }
  Algorithm algorithm() const override { return Algorithm::ring; }
  bool is_possible(const Setting& setting, Protocol protocol) const override;
  Plan plan(const Setting& setting, Protocol protocol) const override;
  Schedule schedule(int ranks) const override;
};

class DirectGather final : public DirectCollective {
 public:
  CollectiveKind kind() const override { return CollectiveKind::gather; }
  Schedule schedule(int ranks) const override;

 private:
  Messages messages(const Setting& setting) const override;
};

class DirectScatter final : public DirectCollective {
 public:
  CollectiveKind kind() const override { return CollectiveKind::scatter; }
  Schedule schedule(int ranks) const override;

 private:
  Messages messages(const Setting& setting) const override;
};

}  // namespace warploom
