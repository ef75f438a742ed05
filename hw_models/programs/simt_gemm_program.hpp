// SPDX-License-Identifier: Apache-2.0
// FP32 products on the vector lanes: outer products of values staged in shared memory.
#pragma once

#include "hw_models/device.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/programs/kernel_program.hpp"

namespace warploom {

// With the shape's tile and threads, or the library's choice (kernels/simt_blocking.hpp).
KernelProgram simt_gemm_program(const GemmShape& shape, const DeviceSpec& device);

}  // namespace warploom
