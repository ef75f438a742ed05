// SPDX-License-Identifier: Apache-2.0
// Programs of kernels that normalise or look up rows: blocks a row, sums over it between their passes.
#pragma once

#include "hw_models/programs/kernel_programs.hpp"

namespace warploom {

KernelPlan plan_norm(const Kernel& kernel, const DeviceSpec& device);
KernelPlan plan_softmax(const Kernel& kernel, const DeviceSpec& device);
KernelPlan plan_cross_entropy(const Kernel& kernel, const DeviceSpec& device);

}  // namespace warploom
