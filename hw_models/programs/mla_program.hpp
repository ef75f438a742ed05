// SPDX-License-Identifier: Apache-2.0
// Latent attention as programs: what kernels/mla.hpp says it consists of, each part a program of its own family.
#pragma once

#include <vector>

#include "hw_models/device.hpp"
#include "hw_models/kernels/mla.hpp"
#include "hw_models/programs/kernel_program.hpp"

namespace warploom {

std::vector<KernelProgram> mla_programs(const MlaShape& shape, const DeviceSpec& device);

}  // namespace warploom
