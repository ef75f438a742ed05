// SPDX-License-Identifier: Apache-2.0
// Products of quantised operands by serving engines' own kernels: CUTLASS 2 (SM89), CUTLASS 3 with two warp groups that
// take turns (Hopper), pairs of SMs with a cluster's shared reads (Blackwell), DeepGEMM's promotion of sums to FP32.
//
// Which tile and which cluster: hw_models/kernels/serving_gemm_kernel.hpp.
#pragma once

#include <vector>

#include "hw_models/device.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/serving_gemm_kernel.hpp"
#include "hw_models/programs/kernel_program.hpp"

namespace warploom {

// The product and what the engine runs in front of it in a benchmark: DeepGEMM on Blackwell takes the weights' scales
// as bytes of exponents, which a benchmark that hands it FP32 has packed anew each time.
std::vector<KernelProgram> serving_gemm_programs(const GemmShape& shape, const DeviceSpec& device);

// Only the product, by a kernel of one's own. `tiles`: of all, `cold`: what the L2 lacks.
KernelProgram serving_product(const ServingGemmKernel& kernel, const GemmShape& shape, const DeviceSpec& device);

}  // namespace warploom
