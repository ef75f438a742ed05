// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of the NVLS tree.
#include "network/collectives/nvls_tree_all_reduce.hpp"

#include <algorithm>

#include "network/collectives/nccl_tuner.hpp"
#include "network/collectives/nvls_all_reduce.hpp"
#include "network/collectives/tree_all_reduce.hpp"

namespace warploom {

bool NvlsTreeAllReduce::is_possible(const Setting& setting, Protocol protocol) const {
  return setting.library.nvls.enabled && protocol == Protocol::simple && !setting.profile.in_node() &&
         setting.profile.least_in_node > 1;
}

Plan NvlsTreeAllReduce::plan(const Setting& setting, Protocol chosen) const {
  const ProtocolSpec& protocol = setting.library.simple;
  const NvlsPace pace = nvls_pace(setting, setting.profile.least_in_node);
  const auto heads = static_cast<double>(setting.profile.least_in_node);
  const double share = (heads + 1) / heads;  // of the buffer on a port
  const Bandwidth rate = std::min(
      tuner_estimate(setting, CollectiveKind::all_reduce, Algorithm::nvls_tree, chosen).rate, pace.port_rate / share);
  Plan plan;
  plan.sms = setting.library.nvls.channels;
  plan.hbm_bytes_per_wire_byte = 2;
  const Time latency = pace.step * (1 + setting.library.nvls.fill) + tree_hops(setting, protocol);
  plan.steps.push_back({latency,
                        {ports_bundle(setting, pace.port_bytes, rate * share),
                         tree_bundle(setting, setting.call.bytes, rate, protocol.wire_bytes)}});
  return plan;
}

// Nodes of the largest divisor up to 8; chunk h of tree t is the half slice of head h.
Schedule NvlsTreeAllReduce::schedule(int ranks) const {
  int in_node = 1;
  for (int size = 2; size <= 8; ++size) {
    if (ranks % size == 0) in_node = size;
  }
  const int nodes = ranks / in_node;
  const Schedule trees = TreeAllReduce().schedule(nodes);
  int last = 0;
  for (const auto& transfer : trees.transfers) last = std::max(last, transfer.step + 1);
  Schedule schedule{ranks, 2 * in_node, {}};
  for (int head = 0; head < in_node; ++head) {
    for (int tree = 0; tree < 2; ++tree) {
      const int chunk = 2 * head + tree;
      for (int node = 0; node < nodes; ++node) {
        for (int rank = 0; rank < in_node; ++rank) {
          if (rank == head) continue;
          const int base = node * in_node;
          schedule.transfers.push_back({0, base + rank, base + head, chunk, true});
          schedule.transfers.push_back({last + 1, base + head, base + rank, chunk, false});
        }
      }
    }
    for (const auto& transfer : trees.transfers) {
      schedule.transfers.push_back({transfer.step + 1, transfer.from * in_node + head, transfer.to * in_node + head,
                                    2 * head + transfer.chunk, transfer.reduce});
    }
  }
  return schedule;
}

}  // namespace warploom
