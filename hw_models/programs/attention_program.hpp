// SPDX-License-Identifier: Apache-2.0
// Fused attention as warp-specialised instruction streams: tiles of queries that step over tiles of keys.
//
// One shape of it an instruction of the Tensor Cores, as the implementation that a device runs
// (AttentionConstants: its tiles, packed groups and parts of the keys):
//   mma      all warps copy, multiply and do the softmax in turns; blocks of one SM fill each other's gaps
//            (FlashAttention-2, FlashInfer, Triton)
//   wgmma    producer warps, and consumer warp groups whose softmax and products take turns by named barriers
//            (FlashAttention-3)
//   tcgen05  a warp that copies, one that issues products, two warp groups for the softmax of two tiles of queries and
//            one that corrects the results (FlashAttention-4, TRT-LLM)
// Around it what a serving engine's operation consists of: planning, the write to the cache, 8-bit queries, the sum of
// the parts. Instructions an element follow from the algorithm. Sources: Dao-AILab/flash-attention (csrc/flash_attn,
// hopper, flash_attn/cute), arXiv:2307.08691, arXiv:2407.08608; FlashInfer; vLLM's csrc/cache_kernels.cu.
#pragma once

#include <vector>

#include "hw_models/device.hpp"
#include "hw_models/kernels/attention.hpp"
#include "hw_models/programs/kernel_program.hpp"

namespace warploom {

// In the order in which they run.
std::vector<KernelProgram> attention_programs(const AttentionShape& shape, const DeviceSpec& device);

}  // namespace warploom
