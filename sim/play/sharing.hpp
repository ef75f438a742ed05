// SPDX-License-Identifier: Apache-2.0
// How kernels and running communication share one device: SMs first come to communication, HBM bandwidth is max-min
// fair.
//
// Equations. A collective holds its SMs (resident thread blocks) while it runs; kernels divide what is left in
// proportion to their demand: speed <= min(1, (1 - sum c_j) / sum d_i). At that speed kernel i asks h_i of the HBM
// bandwidth and call j g_j; if the sum exceeds 1 the bandwidth is divided max-min fair (water-filling), and what gets
// less slows down alike. Assumes that bandwidth is the only thing that memory traffic shares (no L2 thrashing, no
// row-buffer conflicts).
#pragma once

#include <span>

namespace warploom {

struct KernelDemand {
  double sm_share = 0;   // of all SMs, to run at full speed
  double hbm_share = 0;  // of the HBM bandwidth, at full speed
  double speed = 1;      // answer: 1 = as fast as alone
};

struct CallDemand {
  double sm_share = 0;   // held
  double hbm_share = 0;  // wanted, at the fastest that its flows can go
  double granted = 0;    // answer: share of the HBM bandwidth it may use (= hbm_share when not limited)
};

// Fills `speed` and `granted`.
void share_device(std::span<KernelDemand> kernels, std::span<CallDemand> calls);

}  // namespace warploom
