// SPDX-License-Identifier: Apache-2.0
// What programs of tiles of products have in common, whoever's kernel it is: a library's, a serving engine's, experts'.
#pragma once

#include <cstdint>
#include <vector>

#include "hw_models/programs/code.hpp"
#include "hw_models/programs/kernel_program.hpp"

namespace warploom {

inline constexpr std::int64_t product_bytes = 32;  // depth of one product
inline constexpr std::int64_t warp_bytes = 512;    // that one instruction of a warp moves at most: 16 a lane
inline constexpr std::int64_t wavefront = 128;     // bytes that shared memory and L1 move at once
inline constexpr std::int64_t most_staged =
    32LL * 1024;  // of results on their way out: a part of the tile after another

// Instructions that find a block's place.
inline constexpr std::int64_t tma_indices = 60;
inline constexpr std::int64_t pointer_indices = 150;  // of rows, columns and swizzles, for each operand

// Warps that take accumulators out of tensor memory.
inline constexpr int epilogue_warps = 4;
// Of a pipeline into tensor memory: stages that are there and that are free, accumulators that are done and that are
// empty again, and the warps that empty them.
struct TensorMemoryRing {
  enum Place : std::uint8_t { full, empty, result, drained, group };
};

// `share` of a tile's bytes: those that there are. At least one.
std::int64_t filled(std::int64_t bytes, double share);

// Blocks that stay on their SM and take one tile after the other.
std::vector<BlockGroup> persistent_blocks(std::int64_t tiles, std::int64_t sms);

// Reads a parameter, or a descriptor, from `stream`, and waits for it.
constexpr Instruction parameter_read(int stream) {
  return {.op = Op::load, .bytes = 64, .stream = stream, .waits = true};
}
// Where a kernel starts: its arguments, `indices` instructions that wait for one another, for the TMA a descriptor.
Code kernel_start(int stream, std::int64_t indices, bool has_descriptor);

// In the order of TensorMemoryRing.
std::vector<Ring> tensor_memory_rings(int stages, int accumulators);
// Arrives at `ring` behind all products so far.
Instruction commit_to(int ring, DataType type, int depth);
std::vector<WarpRole> tensor_memory_roles(const Code& epilogue, const Code& producer, const Code& issuer);

}  // namespace warploom
