// SPDX-License-Identifier: Apache-2.0
// NVLS tree: summed inside each node by its switch, over a double tree between the nodes' heads of one rail, and given
// to all inside each node by the switch.
//
// Equations, N nodes of k heads, c channels: both stages run at once, chunk by chunk: time = (1 + fill) t_step (at
// least base) + 2 floor(log2 N) network_hop + paths + (2 floor(log2 N) - 1) t_card + bytes / rate + held, rate NCCL's
// own (nccl_tuner.hpp), at most what the cards carry under Simple, half of that over more than two nodes: 461 GB/s of
// bus bandwidth over two nodes of H100 (measured: 468 to 480), 364 over four and more
// (365). t_step as in nvls_all_reduce.hpp, t_card = c k chunk / what the cards carry one way. held: a channel's next
// chunk waits until the last has gone up and come down, (chunks of a channel - 1) x what 2 (serial x network_hop +
// step) exceeds t_card by: nothing over InfiniBand, half of the time of 16 MiB over EFA. Chunks:
// transport.nvls_tree_chunk (over four nodes and more nvls_tree_wide_chunk), at most 256, 128, 64, 32 KiB below 32, 16,
// 4, 1 rounds of all channels and heads. Source: NCCL 2.30.7 src/device/all_reduce.h, src/graph/connect.cc,
// src/enqueue.cc.
#pragma once

#include "network/collectives/collective.hpp"

namespace warploom {

class NvlsTreeAllReduce final : public Collective {
 public:
  CollectiveKind kind() const override { return CollectiveKind::all_reduce; }
  Algorithm algorithm() const override { return Algorithm::nvls_tree; }
  bool is_possible(const Setting& setting, Protocol protocol) const override;
  Plan plan(const Setting& setting, Protocol protocol) const override;
  // Of nodes of up to 8 ranks: in-switch sums to the heads, heads' trees, in-switch multicast.
  Schedule schedule(int ranks) const override;
};

}  // namespace warploom
