// SPDX-License-Identifier: Apache-2.0
// How a library cuts an FP32 product on the vector lanes into blocks of threads.
#pragma once

#include <cmath>

#include "hw_models/device.hpp"
#include "hw_models/kernels/gemm.hpp"

namespace warploom {

// One block.
struct SimtBlock {
  GemmTile tile;
  double threads = 256;
  double parts = 1;     // of k
  bool sliced = false;  // four groups of threads share the sums

  double results() const { return static_cast<double>(tile.m) * tile.n; }
  double warps() const { return threads / 32; }
  double thread_results() const { return results() / threads * (sliced ? 4 : 1); }
  // (r + c) / (r c) of the most square r x c.
  double loads_a_result() const {
    const double r = std::exp2(std::floor(std::log2(thread_results()) / 2));
    const double c = thread_results() / r;
    return (r + c) / (r * c);
  }
};

// What limits multiply-adds on an SM, a clock.
struct SimtRates {
  double lanes = 64;
  double shared_bytes = 128;
  double l2_bytes = 32;
};

// Cycles of an SM for one multiply-add, its warps never short of work (simt_gemm.cpp).
double simt_cycles_of_product(const SimtBlock& block, const SimtRates& rates, const SimtGemmConstants& constants);

double simt_blocks(const SimtBlock& block, const GemmShape& shape);

// The block that the shape names, else the library's choice.
SimtBlock choose_simt_block(const GemmShape& shape, const DeviceSpec& device);

}  // namespace warploom
