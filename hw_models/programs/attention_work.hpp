// SPDX-License-Identifier: Apache-2.0
// What the forward programs of attention are built from: tiles and their bytes, streams, and blocks in order.
#pragma once

#include <cstdint>
#include <string_view>

#include "hw_models/device.hpp"
#include "hw_models/kernels/attention_tiling.hpp"
#include "hw_models/programs/code.hpp"
#include "hw_models/programs/kernel_program.hpp"

namespace warploom {

struct AttentionWork {
  // Streams of its programs.
  enum { queries, keys, values, results, pages };

  const AttentionShape& shape;
  const DeviceSpec& device;
  AttentionTiling tiling;
  std::int64_t rows = 0;  // of a block
  std::int64_t columns = 0;
  std::int64_t d = 0;            // elements of a key
  std::int64_t v = 0;            // of a value
  std::int64_t key_bytes = 0;    // of a tile, in memory
  std::int64_t value_bytes = 0;  // none where a value is part of its key
  std::int64_t query_bytes = 0;  // of a block's rows
  std::int64_t result_bytes = 0;
  int product_bytes = 2;  // of an operand's element
  bool is_paged = false;  // keys by pages of the serving engine's cache, row by row

  // 8-bit keys that are multiplied as 16-bit ones.
  bool converts() const { return narrows(shape) && bits(tiling.product) > bits(*shape.kv_type); }
  std::int64_t depth() const { return 32 / product_bytes; }  // k of a product: 32 bytes
  // Bytes of a tile in shared memory.
  std::int64_t key_room() const { return columns * d * stored_bytes(); }
  std::int64_t value_room() const { return shape.values_in_keys ? 0 : columns * v * stored_bytes(); }
  std::int64_t stored_bytes() const { return bits(kv_type(shape)) / 8; }
};

// What a train of the same operation finds in the L2. One of two partitions holds a copy of what its own SMs read, and
// the next time others read it: half of both together is of use. (Decoding of 20 to 40 MB reads at the memory's rate on
// A100, H100 and B200, at the L2's on L40S.)
double found_in_l2(const AttentionShape& shape, const DeviceSpec& device);

AttentionWork attention_work(const AttentionShape& shape, const DeviceSpec& device, const AttentionTiling& tiling);

// Without roles and rings. `turns_beside`: steps of a block that are not turns of its main loop.
KernelProgram attention_base(const AttentionWork& work, std::string_view how, std::int64_t turns_beside);

KernelProgram attention_by_warps(const AttentionWork& work);
KernelProgram attention_by_groups(const AttentionWork& work);
KernelProgram attention_by_block(const AttentionWork& work);

// The tiling that the device's implementation runs.
AttentionTiling tiling_of_warps(const AttentionShape& shape, const DeviceSpec& device);
AttentionTiling tiling_of_groups(const AttentionShape& shape, const DeviceSpec& device);
AttentionTiling tiling_of_block(const AttentionShape& shape, const DeviceSpec& device);

// ---- Pieces of code; counts a warp whose scores are `scores` a lane

// Results of `elements` a lane: divided by the row's sum, converted, through shared memory into 16-byte stores.
Code attention_results(const AttentionWork& work, std::int64_t elements, std::int64_t bytes, int ring);

}  // namespace warploom
