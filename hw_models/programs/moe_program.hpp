// SPDX-License-Identifier: Apache-2.0
// A mixture of experts: routing, two grouped products with an activation between them, and the sum over experts.
#pragma once

#include "hw_models/programs/kernel_programs.hpp"

namespace warploom {

KernelPlan plan_moe(const Kernel& kernel, const DeviceSpec& device);

}  // namespace warploom
