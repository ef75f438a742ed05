// SPDX-License-Identifier: Apache-2.0
// How a library cuts a GEMM into blocks: output tile and parts of k, by the rule of the libraries.
//
// Rule: fewest waves x max(products, operands) of a step, then the fewest parts of k, then the largest tile, as
// DeepGEMM documents its own choice (github.com/deepseek-ai/DeepGEMM, commit 54e2261); k is split where the blocks
// leave half of the SMs idle and k is long. The rule counts in the rates that the library was tuned for, not in those
// of the device at hand: a device with a faster cache gets the same kernel, faster.
#pragma once

#include "hw_models/device.hpp"
#include "hw_models/kernels/gemm.hpp"

namespace warploom {

inline constexpr std::int64_t gemm_step_bytes = 128;  // of one row of an operand: what libraries load at a time

// A GEMM cut into blocks.
struct GemmBlocking {
  GemmTile tile;
  double parts = 1;   // of k
  double steps = 0;   // of the main loop, in one block
  double blocks = 0;  // in all
};

// Of the product that is asked for; tiles that stick out compute more.
double gemm_flops(const GemmShape& shape);

// `parts` of k with this tile.
GemmBlocking gemm_blocking(const GemmTile& tile, double parts, const GemmShape& shape);

// The parts that a library cuts k into: what the shape says, else as many as fill the SMs once.
double gemm_parts(const GemmTile& tile, const GemmShape& shape, const DeviceSpec& device);

// What the library takes; where the shape names a tile, that one.
GemmBlocking choose_gemm_blocking(const GemmShape& shape, const DeviceSpec& device);

// Bytes read from device memory: tiles go in groups of columns so that a wave is near square; A is read once a group.
double gemm_operand_traffic(const GemmBlocking& blocking, const GemmShape& shape, const DeviceSpec& device);

}  // namespace warploom
