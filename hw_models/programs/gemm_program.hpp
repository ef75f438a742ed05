// SPDX-License-Identifier: Apache-2.0
// GEMM as warp-specialised instruction streams: a pipeline of stages in shared memory between copies and products.
//
// One shape of it an instruction of the Tensor Cores:
//   mma      all warps copy (cp.async), load fragments from shared memory and multiply, in turns (CUTLASS 2,
//   multistage) wgmma    a producer warp copies by the TMA, one or two consumer warp groups multiply (CUTLASS 3,
//   warp-specialised) tcgen05  a producer warp, a warp that issues products into tensor memory, four warps for the
//   epilogue; persistent
//            with two accumulators, in pairs of SMs where the tile is tall enough (CUTLASS 4)
// Parts of k leave FP32 sums that a second program adds up. Sources: NVIDIA CUTLASS documentation; DeepGEMM@54e2261.
#pragma once

#include <vector>

#include "hw_models/device.hpp"
#include "hw_models/kernels/gemm_blocking.hpp"
#include "hw_models/programs/kernel_program.hpp"

namespace warploom {

// The product, and where k is cut the program that adds its parts.
std::vector<KernelProgram> gemm_programs(const GemmShape& shape, const DeviceSpec& device);
std::vector<KernelProgram> gemm_programs(const GemmShape& shape, const GemmBlocking& blocking,
                                         const DeviceSpec& device);
// By kernels with these instructions: those of single warps run on every device.
std::vector<KernelProgram> gemm_programs(const GemmShape& shape, const GemmBlocking& blocking, const DeviceSpec& device,
                                         TensorUnit unit);

}  // namespace warploom
