// SPDX-License-Identifier: Apache-2.0
// Programs of kernels that quantise activations: a scale a tensor, a row or a block of it.
#pragma once

#include "hw_models/programs/kernel_programs.hpp"

namespace warploom {

KernelPlan plan_quantize(const Kernel& kernel, const DeviceSpec& device);

}  // namespace warploom
