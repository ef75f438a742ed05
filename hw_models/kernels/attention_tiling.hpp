// SPDX-License-Identifier: Apache-2.0
// How a library cuts fused attention into blocks, and what those read: rules and sizes, no durations.
#pragma once

#include "hw_models/device.hpp"
#include "hw_models/kernels/attention.hpp"
#include "hw_models/kernels/attention_sweep.hpp"

namespace warploom {

struct AttentionTraffic {
  Bytes all{0};    // compulsory
  Bytes aside{0};  // of it: moved by kernels before and after the main one
};

AttentionTraffic attention_traffic(const AttentionShape& shape);
Flops attention_flops(const AttentionShape& shape);

// Elements of a value, and the type that keys and values are stored in.
std::int64_t value_dim(const AttentionShape& shape);
DataType kv_type(const AttentionShape& shape);

// Of the tokens that a serving engine's operation brings, as the engine hands them over.
Bytes new_keys(const AttentionShape& shape);

// A train of the same operation finds what the L2 holds; beyond its capacity each evicts what it will need next.
double kept_in_l2(double bytes, const DeviceSpec& device);
double share_in_l2(const AttentionShape& shape, const DeviceSpec& device);

// The forward pass in blocks.
struct AttentionTiling {
  bool is_decode = false;
  bool packs = false;  // queries of a group fill tiles together
  DataType product = DataType::bf16;
  double kv_width = 0;  // elements of a key and its value that are read
  double row_tile = 0;
  double column_tile = 0;
  Sweep sweep;
  Steps steps;            // of one head, not cut
  double heads = 0;       // that have blocks of their own
  double parts = 1;       // of the keys
  double part_tiles = 0;  // of keys in a part; the last may have fewer
  double blocks = 0;      // parts counted
  double sharing = 1;     // blocks on an SM at once
};

AttentionTiling attention_tiling(const AttentionShape& shape, const DeviceSpec& device);
// The same with tiles of another size than the implementation's usual ones; parts by its rule.
AttentionTiling attention_tiling(const AttentionShape& shape, const DeviceSpec& device, double row_tile,
                                 double column_tile);

// Keys and values have fewer bits than queries.
bool narrows(const AttentionShape& shape);

// fp32 results of the parts, written and read.
double partial_bytes(const AttentionShape& shape, const AttentionTiling& tiling);

// What is read and written, if nothing is in the L2 before: keys and values again for the second and later heads of a
// group that are not packed.
double attention_memory_bytes(const AttentionShape& shape, const AttentionTiling& tiling, const DeviceSpec& device);

}  // namespace warploom
