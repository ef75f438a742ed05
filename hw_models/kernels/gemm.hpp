// SPDX-License-Identifier: Apache-2.0
// GEMM: C[m,n] (+)= A[m,k] B[k,n], `batch` of them; forward, input-gradient and weight-gradient products are all of
// this family.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/core/units.hpp"
#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily;

struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  DataType input = DataType::bf16;   // of A, and of B where `weight` is none
  DataType output = DataType::bf16;  // of C
  bool accumulate = false;           // C += A B: C is read too (fp32 main gradients)
  bool split_accumulator = false;  // partial sums of 8-bit products are promoted to FP32 on the way (slower on Hopper)
  bool is_warm = false;            // operands may still be in the L2 (a benchmark that repeats one product)
  bool is_transposed = false;      // B lies n x k, as the weights of a linear layer do
  bool is_serving = false;         // by a serving engine's kernel for 8 and 4 bits, not by the vendor's library
  bool is_sliced = false;          // four groups of a block's threads share the sums of its tile (FP32 kernels)
  bool is_stream_k = false;        // the last waves' work is cut evenly along k, whatever the tiles
  bool is_deterministic = false;   // batch-invariant: the same tile and order of sums whatever m is; k is not cut
  bool is_sparse = false;          // B has 2:4 structured sparsity: two of four values in a row are stored
  std::int64_t tile_m = 0;         // of one block; 0, as for the next five: what the library chooses
  std::int64_t tile_n = 0;
  std::int64_t split_k = 0;
  std::int64_t threads = 0;          // of one block; FP32 on the vector lanes only
  std::int64_t stages = 0;           // of the pipeline in shared memory
  std::int64_t cluster = 0;          // blocks that share reads of operands
  std::optional<DataType> weight{};  // of B in memory; products are of the wider type, B converted on its way
};

DataType weight_type(const GemmShape& shape);
// Bits that B takes in memory an element, those that sparsity leaves out included.
double weight_bits(const GemmShape& shape);
Bytes gemm_weight_bytes(const GemmShape& shape);
DataType product_type(const GemmShape& shape);

Kernel gemm(const GemmShape& shape);
GemmShape gemm_shape(const Kernel& kernel);
const KernelFamily& gemm_family();

}  // namespace warploom
