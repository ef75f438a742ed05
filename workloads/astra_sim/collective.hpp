// SPDX-License-Identifier: Apache-2.0
// ASTRA-sim's collectives: how one is cut into chunks and phases over dimensions, what its analytical back ends take
// for it, and the same as a plan that our fabrics play.
//
// With c bytes of a chunk, N members of a dimension, m = c (all-gather) or c / N, e the endpoint delay, r = 3 floor(m /
// memory GB/s) the reduction of a message, B bytes/ns, hop = floor(latency + m / B):
//   ring    chunk = K S + R r + (K + 1) e; K = 2 (N - 1) all-reduce, N - 1 all-gather and reduce-scatter, N (N - 1) / 2
//           all-to-all; R = N - 1 where it reduces; S = hop on Ring and FullyConnected, floor(2 latency + m / B) on
//           Switch (congestion-unaware), 2 hop (aware)
//   direct  all-reduce 2 S + r + 3 e, reduce-scatter S + r + 2 e, others S + 2 e; S = hop on FullyConnected; unaware:
//           floor(2 latency + m / B) on Switch, floor(N / 2 latency + m / B) on Ring; aware: Switch (N - 2) floor(m /
//           B)
//           + 2 hop
// Chunks follow each other, `active` at a time. Over dimensions: baseline runs the collective along each in turn;
// localBWAware cuts an all-reduce into reduce-scatters up, an all-reduce along the last, all-gathers down. Groups that
// are not all ranks: a ring of their members in ascending order. Sources: astra-sim Sys.cc, Ring.cc, AllToAll.cc,
// CommunicatorGroup.cc (518bd51); forms checked against its binaries (384 of 384 ring, 271 of 272 direct).
//
// As a plan: a ring is one coupled bundle of K m bytes a link behind its K latencies; direct, its rounds of all pairs;
// halving-doubling, its exchanges; a binary tree, its levels. Links are shared fairly with whatever else runs, and
// nothing is rounded to whole ns. Chunks of several phases run as a pipeline whose places change together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/play/ports.hpp"
#include "workloads/astra_sim/inputs.hpp"
#include "workloads/astra_sim/topology.hpp"

namespace warploom {

// The analytical back ends, or the plan played on links that everything shares.
enum class AstraBackend : std::uint8_t { shared_links, unaware, aware };

// The members of a call, as far as its algorithm asks.
struct AstraMembers {
  std::vector<Rank> ranks;              // ascending
  bool is_by_dimension = false;         // all ranks (along some dimensions): one phase a dimension
  std::vector<AstraDigit> digits = {};  // of `ranks` as a box; empty where it is none
};

struct AstraPhase {
  AstraCollective kind = AstraCollective::all_reduce;
  AstraImplementation how;
  int digit = -1;            // of the members; -1: all of them
  std::int64_t members = 1;  // N
  std::int64_t bytes = 0;    // c
};

class AstraCollectives {
 public:
  AstraCollectives(const AstraSystem& system, const AstraNetwork& network, std::shared_ptr<const Topology> topology,
                   AstraBackend backend)
      : system_(system), network_(network), topology_(std::move(topology)), backend_(backend) {}

  // Of a chunk of `bytes`.
  std::vector<AstraPhase> phases(AstraCollective kind, std::int64_t bytes, const AstraMembers& members) const;
  // What the analytical back ends say.
  std::int64_t nanoseconds(AstraCollective kind, std::int64_t bytes, const AstraMembers& members) const;
  // `group` is the members as a group of the program; that of the whole network where they are no box.
  Plan plan(AstraCollective kind, std::int64_t bytes, const AstraMembers& members, GroupId group) const;

  Plan rooted_plan(CollectiveKind kind, std::int64_t bytes, const AstraMembers& members, GroupId group) const;

  std::int64_t send_nanoseconds(std::int64_t bytes, Rank from, Rank to) const;
  Plan send_plan(std::int64_t bytes, Rank from, Rank to, GroupId group) const;

 private:
  struct Link {
    double latency_ns = 0;  // of a whole way
    double hops = 1;
    double bytes_per_ns = 0;
    AstraBlock block = AstraBlock::ring;
  };
  Link link_of(const AstraPhase& phase, const AstraMembers& members) const;
  std::int64_t phase_nanoseconds(const AstraPhase& phase, const AstraMembers& members) const;
  std::vector<PlanStep> phase_steps(const AstraPhase& phase, const AstraMembers& members, GroupId group) const;
  std::int64_t chunk_bytes(AstraCollective kind, std::int64_t bytes, const AstraMembers& members) const;
  static void require_size(std::int64_t bytes, const AstraMembers& members);
  std::int64_t reduction_ns(std::int64_t bytes) const;

  const AstraSystem& system_;
  const AstraNetwork& network_;
  std::shared_ptr<const Topology> topology_;
  AstraBackend backend_;
};

}  // namespace warploom
