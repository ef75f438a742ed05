// SPDX-License-Identifier: Apache-2.0
// GEMM: C[m,n] (+)= A[m,k] B[k,n], `batch` of them; forward, input-gradient and weight-gradient products are all of
// this family.
#pragma once

#include <cstdint>

#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily;

struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  DataType input = DataType::bf16;   // of A and B
  DataType output = DataType::bf16;  // of C
  bool accumulate = false;           // C += A B: C is read too (fp32 main gradients)
  bool is_warm = false;              // operands may still be in the L2 (a benchmark that repeats one product)
};

Kernel gemm(const GemmShape& shape);
const KernelFamily& gemm_family();

}  // namespace warploom
