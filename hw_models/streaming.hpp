// SPDX-License-Identifier: Apache-2.0
// Kernels that mostly move memory: what they need, and how long that takes.
//
// Equation: t(f) = fixed + latency + max(bytes / (reached x HBM bandwidth) (or the L2's, where they
// are in it), bytes / (SMs in use x B x f), FLOPs /
// vector peak(f), exponentials / special function rate(f)), where B, bytes a clock and SM, is what the instructions of
// the implementation can move (a kernel with 16-byte loads is limited by HBM, one with 2-byte loads by its
// instructions), and a kernel with fewer blocks than SMs uses only those. Assumes cold inputs (nothing of them in the
// L2) and no reuse between blocks beyond what the family says. Source: B is fitted on single operators of served
// models; it comes out alike for A100 and H100, as instructions should.
#pragma once

#include <cstdint>

#include "hw_models/device.hpp"
#include "sim/play/ports.hpp"

namespace warploom {

struct StreamingWork {
  Bytes read{0};
  Bytes written{0};
  double vector_flops = 0;
  double exponentials = 0;
  double bytes_per_cycle_per_sm = 64;
  std::int64_t blocks = 0;  // independent pieces; 0: as many as wanted
  double share_in_l2 = 0;   // of the bytes: found and left there (a benchmark that repeats one operation)

  Bytes bytes() const { return read + written; }
};

KernelCost streaming_cost(const StreamingWork& work, const DeviceSpec& device);

}  // namespace warploom
