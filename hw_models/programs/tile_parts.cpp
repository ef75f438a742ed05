// SPDX-License-Identifier: Apache-2.0
// Blocks, starts and rings of programs of tiles.
#include "hw_models/programs/tile_parts.hpp"

#include <algorithm>
#include <cmath>

namespace warploom {

std::int64_t filled(std::int64_t bytes, double share) {
  return std::max<std::int64_t>(std::llround(static_cast<double>(bytes) * share), 1);
}

std::vector<BlockGroup> persistent_blocks(std::int64_t tiles, std::int64_t sms) {
  const std::int64_t blocks = std::min(tiles, sms);
  std::vector<BlockGroup> groups;
  if (tiles % blocks > 0) groups.push_back({tiles % blocks, tiles / blocks + 1});
  groups.push_back({blocks - tiles % blocks, tiles / blocks});
  return groups;
}

Code kernel_start(int stream, std::int64_t indices, bool has_descriptor) {
  const Instruction read = parameter_read(stream);
  Code code;
  code.add(read).add({.op = Op::alu, .count = indices, .waits = true});
  return has_descriptor ? code.add(read) : code;
}

std::vector<Ring> tensor_memory_rings(int stages, int accumulators) {
  return {{"full", 2, 2, 0, 0},
          {"empty", 1, 0, 1, stages},
          {"result", 1, 0, 1, 0},
          {"drained", epilogue_warps, 0, 0, accumulators},
          {"group", epilogue_warps, 0, 0, 0}};
}

Instruction commit_to(int ring, DataType type, int depth) {
  return {.op = Op::tcgen05, .ring = ring, .k = depth, .type = type};
}

std::vector<WarpRole> tensor_memory_roles(const Code& epilogue, const Code& producer, const Code& issuer) {
  return {{"epilogue", epilogue_warps, 168, epilogue.list()},
          {"producer", 1, 64, producer.list()},
          {"issuer", 1, 64, issuer.list()}};
}

}  // namespace warploom
