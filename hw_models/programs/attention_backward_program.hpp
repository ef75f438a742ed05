// SPDX-License-Identifier: Apache-2.0
// The gradient of fused attention: blocks of keys that step over tiles of queries, five products a tile.
//
// A kernel before clears the fp32 gradient of the queries and sums O dO by rows, one after converts that gradient.
// Sources: Dao-AILab/flash-attention, flash_bwd_kernel.h and hopper/mainloop_bwd_sm90_tma_gmma_ws.hpp.
#pragma once

#include <vector>

#include "hw_models/device.hpp"
#include "hw_models/kernels/attention.hpp"
#include "hw_models/programs/kernel_program.hpp"

namespace warploom {

std::vector<KernelProgram> attention_backward_programs(const AttentionShape& shape, const DeviceSpec& device);

}  // namespace warploom
