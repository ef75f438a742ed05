// SPDX-License-Identifier: Apache-2.0
// What a kernel runs on a device: its programs, one after another. kernel_programs.cpp lists the families that have
// any.
#pragma once

#include <vector>

#include "hw_models/device.hpp"
#include "hw_models/programs/kernel_program.hpp"
#include "sim/work/kernel.hpp"

namespace warploom {

struct KernelPlan {
  std::vector<KernelProgram> programs;
  bool is_warm = false;  // as a benchmark repeats it
};

// Whether the detailed model has a program for kernels of the family.
bool has_programs(std::string_view family);

// Throws UserError for a family without programs, and for a kernel that the device cannot run.
KernelPlan kernel_plan(const Kernel& kernel, const DeviceSpec& device);

}  // namespace warploom
