// SPDX-License-Identifier: Apache-2.0
// Which kernel a GEMM gets, in words: who decided, what else there was, and why not that.
#pragma once

#include "hw_models/device.hpp"
#include "hw_models/kernels.hpp"
#include "hw_models/kernels/gemm.hpp"

namespace warploom {

inline constexpr std::size_t most_gemm_candidates = 10;

KernelChoice gemm_kernel_choice(const GemmShape& shape, const DeviceSpec& device);

}  // namespace warploom
