// SPDX-License-Identifier: Apache-2.0
// Tiles, streams and blocks of the forward programs.
#include "hw_models/programs/attention_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hw_models/kernels/tensor_bytes.hpp"

namespace warploom {

namespace {

void append(std::vector<BlockGroup>& groups, double blocks, double turns) {
  if (blocks < 1) return;
  const BlockGroup group{std::llround(blocks), std::max<std::int64_t>(std::llround(turns), 0)};
  if (!groups.empty() && groups.back().turns == group.turns) {
    groups.back().blocks += group.blocks;
  } else {
    groups.push_back(group);
  }
}

// Decoding: parts as long as one another, but the last.
std::vector<BlockGroup> parts_in_blocks(const AttentionTiling& tiling, double beside) {
  const double each = tiling.part_tiles;
  const double last = tiling.steps.longest - each * (tiling.parts - 1);
  const double rows = tiling.heads * tiling.steps.blocks;
  std::vector<BlockGroup> groups;
  append(groups, rows * (tiling.parts - 1), each - beside);
  append(groups, rows, last - beside);
  return groups;
}

// A head's blocks from the first queries on, or of all heads together the longest first.
std::vector<BlockGroup> heads_in_blocks(const AttentionTiling& tiling, bool longest_first, double beside) {
  constexpr double most_in_order = 4096;  // blocks: of more the order at the end no longer matters
  constexpr double most_lengths = 512;    // beyond, neighbours count as alike
  const bool is_by_head = !longest_first && tiling.heads * tiling.steps.blocks <= most_in_order;
  const double alike = is_by_head ? 1 : std::ceil(tiling.steps.blocks / most_lengths);
  std::vector<BlockGroup> head;
  for (double end = tiling.steps.blocks; end > 0; end -= alike) {
    const double blocks = std::min(alike, end);
    const double middle = std::floor(end - (blocks + 1) / 2);
    const double steps = std::ceil(steps_of_block(tiling.sweep, middle) / tiling.parts);
    append(head, blocks * tiling.parts * (is_by_head ? 1 : tiling.heads), steps - beside);
  }
  if (!is_by_head || head.size() == 1) {
    if (is_by_head) head.front().blocks *= std::llround(tiling.heads);
    return head;
  }
  std::ranges::reverse(head);
  std::vector<BlockGroup> groups;
  for (double i = 0; i < tiling.heads; ++i) groups.insert(groups.end(), head.begin(), head.end());
  return groups;
}

}  // namespace

double found_in_l2(const AttentionShape& shape, const DeviceSpec& device) {
  if (!shape.warm) return 0;
  const double copies = device.architecture.pipeline.far_latency.value() > 0 ? 2 : 1;
  const Bytes bytes = attention_traffic(shape).all + new_keys(shape) * 2;
  return kept_in_l2(copies * static_cast<double>(bytes.count()), device);
}

AttentionWork attention_work(const AttentionShape& shape, const DeviceSpec& device, const AttentionTiling& tiling) {
  AttentionWork work{.shape = shape, .device = device, .tiling = tiling};
  work.rows = std::llround(tiling.row_tile);
  work.columns = std::llround(tiling.column_tile);
  work.d = shape.head_dim;
  work.v = value_dim(shape);
  work.product_bytes = bits(tiling.product) / 8;
  work.is_paged = shape.serving;
  // Keys and queries beyond the last are not read.
  const double seen = shape.window > 0 ? std::min(tiling.sweep.columns, tiling.sweep.window + 1) : tiling.sweep.columns;
  const double fill = std::min(1.0, seen / tiling.column_tile);
  const double filled = tiling.sweep.rows / (tiling.steps.blocks * tiling.row_tile);
  const auto of_tile = [](double share, std::int64_t bytes) {
    return std::max<std::int64_t>(std::llround(share * as_double(bytes)), 1);
  };
  work.key_bytes = of_tile(fill, work.key_room());
  work.value_bytes = shape.values_in_keys ? 0 : of_tile(fill, work.value_room());
  work.query_bytes = of_tile(filled, work.rows * work.d * work.product_bytes);
  work.result_bytes = of_tile(filled, work.rows * work.v * (tiling.parts > 1 ? 4 : bits(shape.type) / 8));
  return work;
}

KernelProgram attention_base(const AttentionWork& work, std::string_view how, std::int64_t turns_beside) {
  const AttentionTiling& tiling = work.tiling;
  KernelProgram program;
  program.name = fmt::format("attention {} x {}{}, {}", work.rows, work.columns,
                             tiling.parts > 1 ? fmt::format(" in {} parts", tiling.parts) : "", how);
  program.type = tiling.product;
  program.flops = attention_flops(work.shape);
  program.footprint = attention_traffic(work.shape).all;
  const auto beside = static_cast<double>(turns_beside);
  program.blocks = tiling.is_decode && tiling.steps.blocks == 1
                       ? parts_in_blocks(tiling, beside)
                       : heads_in_blocks(tiling, work.device.architecture.attention.is_pipelined, beside);

  // What the L2 lacks of keys and values: what comes from memory over what is asked for.
  const double cold = 1 - found_in_l2(work.shape, work.device);
  const Bytes q =
      bytes_of({work.shape.batch, work.shape.query_heads, work.shape.query_length, work.d + work.v}, work.shape.type);
  const double from_memory = attention_memory_bytes(work.shape, tiling, work.device) - static_cast<double>(q.count());
  const double asked = tiling.heads * tiling.steps.sum * static_cast<double>(work.key_bytes + work.value_bytes);
  const double missed = cold * std::clamp(from_memory / asked, 0.0, 1.0);
  program.streams = {
      {"Q", cold, 1}, {"K", missed, 1}, {"V", missed, 1}, {"O", tiling.parts > 1 ? 0 : cold, 1}, {"pages", 0, 1}};
  return program;
}

Code attention_results(const AttentionWork& work, std::int64_t elements, std::int64_t bytes, int ring) {
  constexpr std::int64_t widest = 512;  // bytes of one store
  constexpr std::int64_t row_sums = 16;
  Code code;
  code.alu(row_sums).sfu(4).fma(elements);
  if (work.tiling.parts == 1) code.alu(elements / 2);
  const std::int64_t staged = elements * 32 * (work.tiling.parts > 1 ? 4 : 2);
  code.shared_store(staged).sync(ring).shared_load(staged, true);
  const std::int64_t stores = std::max<std::int64_t>(ceil_div(bytes, widest), 1);
  code.alu(2 * stores).store(AttentionWork::results, std::max<std::int64_t>(bytes / stores, 1), stores);
  return code;
}

}  // namespace warploom
