// SPDX-License-Identifier: Apache-2.0
// The small kernels around a serving engine's attention.
#pragma once

#include "hw_models/device.hpp"
#include "hw_models/kernels/attention_tiling.hpp"
#include "hw_models/programs/kernel_program.hpp"

namespace warploom {

// New keys and values into the pages of the cache, converted where it is narrower (vLLM's reshape_and_cache).
KernelProgram cache_write_program(const AttentionShape& shape, const DeviceSpec& device);

// The same of latents.
KernelProgram latent_write_program(const AttentionShape& shape, const DeviceSpec& device);

// The batch's blocks and parts, found by one block (FlashAttention-3's prepare_varlen_num_blocks).
KernelProgram planning_program(const AttentionShape& shape, const DeviceSpec& device);

// Queries to 8 bits (vLLM's scaled_fp8_quant with a given scale).
KernelProgram query_narrowing_program(const AttentionShape& shape, DataType narrow, const DeviceSpec& device);

// Queries or results with heads and groups in another order (PyTorch's copy of a transposed tensor).
KernelProgram query_copy_program(const AttentionShape& shape, const DeviceSpec& device);

// The weighted sum of the parts' results.
KernelProgram combine_program(const AttentionShape& shape, const AttentionTiling& tiling, const DeviceSpec& device);

}  // namespace warploom
