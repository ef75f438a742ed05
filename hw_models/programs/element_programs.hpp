// SPDX-License-Identifier: Apache-2.0
// Programs of kernels that read, compute and write element by element.
#pragma once

#include "hw_models/programs/kernel_programs.hpp"

namespace warploom {

KernelPlan plan_element_wise(const Kernel& kernel, const DeviceSpec& device);
KernelPlan plan_cast(const Kernel& kernel, const DeviceSpec& device);
KernelPlan plan_activation(const Kernel& kernel, const DeviceSpec& device);
KernelPlan plan_rotary(const Kernel& kernel, const DeviceSpec& device);
KernelPlan plan_embedding(const Kernel& kernel, const DeviceSpec& device);
KernelPlan plan_dropout(const Kernel& kernel, const DeviceSpec& device);
KernelPlan plan_unscale(const Kernel& kernel, const DeviceSpec& device);
KernelPlan plan_optimizer_update(const Kernel& kernel, const DeviceSpec& device);

}  // namespace warploom
