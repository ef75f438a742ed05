// SPDX-License-Identifier: Apache-2.0
// All-reduce inside NVSwitch (NVLS, in-switch reduction and multicast): rank h is the head of slice h; it reads the
// slice as the switch sums it over all ranks, and writes the sum once, for the switch to give to all.
//
// Equations, n heads, c channels: a step of a channel moves a chunk for every head; a port carries c x chunk x (n + 1)
// each way (its own share of n slices out, and the sum in: 1 + 1/n of the buffer in all).
//   t_step = step + c x chunk x (n + 1) / (efficiency x port),   loops = ceil(bytes / (c n chunk)),
//   time = (loops + fill) x t_step, less what the last loop's chunk falls short of a whole one on the port; at least
//   base.
// Chunks shrink with the buffer: 64, 32, 16 KiB below 64, 8, 2 rounds of all channels and heads (each test uses the
// chunk so far). Source: NCCL 2.30.7 src/enqueue.cc (calcCollChunking), src/transport/nvls.cc, src/device/all_reduce.h.
// Step, efficiency and fill are fitted (configs/libraries); efficiency also holds H800, whose 8 links it was not fitted
// to (SimAI has 215 GB/s there, the equation 216).
#pragma once

#include "network/collectives/collective.hpp"

namespace warploom {

// One step inside a node.
struct NvlsPace {
  std::int64_t loops = 1;
  Time missing;  // of the last loop
  Time step;
  Bandwidth port_rate{0};
  Bytes port_bytes{0};  // of the whole call
};
// What a port carries of NVLS.
Bandwidth nvls_port_rate(const Setting& setting);

// A step of chunks of so many bytes, `heads` in a node.
Time nvls_step(const Setting& setting, std::int64_t heads, double chunk);

// With `heads` in a node.
NvlsPace nvls_pace(const Setting& setting, std::int64_t heads);

class NvlsAllReduce final : public Collective {
 public:
  CollectiveKind kind() const override { return CollectiveKind::all_reduce; }
  Algorithm algorithm() const override { return Algorithm::nvls; }
  bool is_possible(const Setting& setting, Protocol protocol) const override;
  Plan plan(const Setting& setting, Protocol protocol) const override;
  Schedule schedule(int ranks) const override;
};

}  // namespace warploom
