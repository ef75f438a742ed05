// SPDX-License-Identifier: Apache-2.0
// Kernels that mostly move memory: what they need, and how long that takes.
//
// Equation: t(f) = fixed + latency (and the L2's for each load that others wait for) + max(bytes / (reached x HBM
// bandwidth) (or the L2's, where they are in it), bytes / (SMs in use x B x f), FLOPs / vector peak(f), exponentials /
// special function rate(f)), where B, bytes a clock and SM, is what the instructions of the implementation can move (a
// kernel with 16-byte loads is limited by HBM, one with 2-byte loads by its instructions), and a kernel with fewer
// blocks than SMs uses only those. Loops that wait for each load move bytes in flight / (latency + issue) an SM instead
// (Little's law). Blocks that go over a row several times add, as the root of the sum of squares, waves x passes x
// (issue x resident threads + steps x latency), and what of the rows in flight does not fit the L2 is read again.
// Assumes cold inputs (nothing of them in the L2) where the work does not say otherwise, and no reuse between blocks
// beyond what the family says. Source: B is fitted on single operators of served models; it comes out alike for A100
// and H100, as instructions should. Passes: layer norms and softmaxes of PyTorch on V100, T4, A100 and L4 (NeuSight).
#pragma once

#include <cstdint>
#include <optional>

#include "hw_models/device.hpp"
#include "sim/play/ports.hpp"

namespace warploom {

// Blocks that each go over one row (or tile) several times.
struct RowPasses {
  int threads = 256;  // of a block
  int passes = 1;
  std::int64_t steps = 1;  // loads of a thread, one after another, in a pass
  Bytes row{0};            // what a block reads
  Bytes held{0};           // what it reads and writes: in the L2 between its passes
  Bytes read_again{0};     // of the kernel, by later passes
  bool tries_l1 = false;   // later passes find the row in the L1, where the rows of all resident blocks fit it
};

struct StreamingWork {
  Bytes read{0};
  Bytes written{0};
  double vector_flops = 0;
  double exponentials = 0;
  double bytes_per_cycle_per_sm = 64;
  std::optional<Bytes> paced{};       // of the bytes: those that go at that pace, the others only at the memory's
  double bytes_in_flight_per_sm = 0;  // of loops that wait for each load; 0: as many as wanted
  int loads_in_a_row = 1;             // of a block, each on the data of the one before: indices and tables, in the L2
  std::int64_t blocks = 0;            // independent pieces; 0: as many as wanted
  double share_in_l2 = 0;             // of the bytes: found and left there (a benchmark that repeats one operation)
  std::optional<double> written_share_in_l2{};  // where it is another
  double memory_share = 1;                      // of the bandwidth that a long stream reaches
  std::optional<RowPasses> rows{};

  Bytes bytes() const { return read + written; }
};

KernelCost streaming_cost(const StreamingWork& work, const DeviceSpec& device);

}  // namespace warploom
