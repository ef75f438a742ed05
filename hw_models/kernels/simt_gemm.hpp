// SPDX-License-Identifier: Apache-2.0
// FP32 products on the vector lanes (cuBLAS's sgemm kernels); equations in simt_gemm.cpp.
#pragma once

#include "hw_models/device.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "sim/play/ports.hpp"

namespace warploom {

KernelCost simt_gemm_cost(const GemmShape& shape, const DeviceSpec& device);

}  // namespace warploom
