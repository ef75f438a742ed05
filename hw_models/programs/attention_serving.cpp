// SPDX-License-Identifier: Apache-2.0
// What the small kernels do for each token, head or row.
#include "hw_models/programs/attention_serving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/programs/attention_work.hpp"
#include "hw_models/programs/code.hpp"
#include "hw_models/programs/streaming_program.hpp"
#include "hw_models/programs/tile_parts.hpp"

namespace warploom {

namespace {

constexpr std::int64_t lanes = 32;

}  // namespace

KernelProgram cache_write_program(const AttentionShape& shape, const DeviceSpec& device) {
  // csrc/cache_kernels.cu, reshape_and_cache_flash_kernel: a block a token, of a thread an element, at most 512. All of
  // them divide the token's slot by the size of a page; then they have vectors of 8 elements, and most of them none:
  // those of a token in a row, or, where a page has one head after the other (FlashInfer), a warp those of a head.
  constexpr std::int64_t most_warps = 16;
  constexpr std::int64_t vector = 8;
  constexpr std::int64_t divide = 65;   // of 64 bits: the quotient, and the same for the remainder
  constexpr std::int64_t convert = 16;  // a true division by the scale, saturation, two bytes a conversion
  const std::int64_t tokens = shape.batch * shape.query_length;
  const std::int64_t elements = shape.kv_heads * shape.head_dim;  // of a key
  const double cold = 1 - found_in_l2(shape, device);
  enum { keys, cache, slots };
  KernelProgram program;
  program.name = "write to the cache";
  program.streams = {{"new keys", cold, 1}, {"cache", cold, 1}, {"slots", 0, 1}};
  const std::int64_t warps = std::clamp<std::int64_t>(elements / lanes, 1, most_warps);
  const AttentionConstants& constants = device.architecture.attention;
  const bool is_by_head = !constants.heads_outermost && !(constants.is_pipelined && constants.packs_groups);
  const std::int64_t vectors = std::max<std::int64_t>(elements / vector, 1);
  const std::int64_t copiers = std::min(is_by_head ? shape.kv_heads : ceil_div(vectors, lanes), warps);
  const std::int64_t turns = is_by_head ? ceil_div(shape.kv_heads, warps) : ceil_div(vectors, lanes * warps);
  const std::int64_t own = std::max<std::int64_t>(elements / (copiers * turns), 1);  // of a warp and turn
  Code place;
  place.alu(20).load(slots, 8).use().alu(2 * divide);
  Code copy;
  for (int i = 0; i < 2; ++i) {  // the keys, then the values
    copy.load(keys, own * bits(shape.type) / 8).alu(8).use();
    if (narrows(shape)) copy.mixed(2 * vector, convert * vector / 2, convert * vector / 2);
    copy.store(cache, std::max<std::int64_t>(own * bits(kv_type(shape)) / 8, 1));
  }
  Code code = place;
  code.loop(turns).add(copy).end();
  program.roles = {{"copying threads", static_cast<int>(copiers), 32, code.list()}};
  if (warps > copiers) program.roles.push_back({"other threads", static_cast<int>(warps - copiers), 32, place.list()});
  program.blocks = {{tokens, 1}};
  return program;
}

KernelProgram latent_write_program(const AttentionShape& shape, const DeviceSpec& device) {
  // csrc/cache_kernels.cu, concat_and_cache_mla_kernel: a block a token, of at most 512 threads, each with single
  // elements. `shape`: a key and a value of half the latent each.
  constexpr std::int64_t most_warps = 16;
  const std::int64_t tokens = shape.batch * shape.query_length;
  const std::int64_t elements = ceil_div(shape.kv_heads * shape.head_dim, lanes);  // of a key, warp instructions
  const double cold = 1 - found_in_l2(shape, device);
  enum { keys, cache, slots };
  KernelProgram program;
  program.name = "write to the cache";
  program.streams = {{"new keys", cold, 1}, {"cache", cold, 1}, {"slots", 0, 1}};
  const std::int64_t warps = std::min(elements, most_warps);
  const std::int64_t turns = ceil_div(elements, warps);
  constexpr std::int64_t index = 24;    // two 64-bit divisions: page and head of an element
  constexpr std::int64_t convert = 10;  // scaling, saturation
  Code code;
  code.alu(20).load(slots, 8).use();
  Code turn;
  turn.load(keys, lanes * bits(shape.type) / 8, 2).alu(index).use();
  if (narrows(shape)) turn.alu(2 * convert).sfu(2);
  turn.store(cache, lanes * bits(kv_type(shape)) / 8, 2);
  code.loop(turns).add(turn).end();
  program.roles = {{"threads", static_cast<int>(warps), 32, code.list()}};
  program.blocks = {{tokens, 1}};
  return program;
}

KernelProgram planning_program(const AttentionShape& shape, const DeviceSpec& /*device*/) {
  // hopper/flash_prepare_scheduler.cu: warps of 31 sequences each; lengths, a sum over the warp, one over the block by
  // atomics, then each sequence's parts.
  constexpr std::int64_t sequences_a_warp = 31;
  enum { lengths, all };
  KernelProgram program;
  program.name = "planning of the batch";
  program.streams = {{"lengths", 0, 1}};
  const auto warps = std::clamp<std::int64_t>(ceil_div(shape.batch, sequences_a_warp), 1, 32);
  program.rings = {{"all", static_cast<int>(warps), 0, 0, 0}};
  Code code;
  constexpr int ring = 0;
  code.alu(40).sync(ring);
  code.loop(ceil_div(ceil_div(shape.batch, sequences_a_warp), warps)).load(lengths, 128, 3).use();
  code.add({.op = Op::alu, .count = 30, .waits = true}).end();
  code.sync(ring).shared_load(128, true).add({.op = Op::alu, .count = 60, .waits = true}).store(lengths, 128, 2);
  program.roles = {{"threads", static_cast<int>(warps), 32, code.list()}};
  program.blocks = {{1, 1}};
  return program;
}

KernelProgram query_narrowing_program(const AttentionShape& shape, DataType narrow, const DeviceSpec& device) {
  const std::int64_t elements = shape.batch * shape.query_length * shape.query_heads * shape.head_dim;
  const double cold = 1 - found_in_l2(shape, device);
  StreamingPass pass;
  pass.reads = {{"queries", bits(shape.type) / 8.0, cold}};
  pass.writes = {{"narrow queries", bits(narrow) / 8.0, cold}};
  pass.work = {1, 3, 0};  // scaling; widening, saturation, conversion
  pass.vector = 8;
  return streaming_program(flat_kernel("queries to 8 bits", elements, 256, pass));
}

KernelProgram query_copy_program(const AttentionShape& shape, const DeviceSpec& device) {
  const std::int64_t elements = shape.batch * shape.query_length * shape.query_heads * shape.head_dim;
  const double cold = 1 - found_in_l2(shape, device);
  StreamingPass pass;  // four elements a thread, each with its own place
  pass.reads = {{"queries", bits(shape.type) / 8.0, cold}};
  pass.writes = {{"copy", bits(shape.type) / 8.0, cold}};
  pass.work = {0, 20, 0};  // divisions by the sizes
  pass.in_flight = 4;
  return streaming_program(flat_kernel("queries in another order", elements, 128, pass));
}

KernelProgram combine_program(const AttentionShape& shape, const AttentionTiling& tiling, const DeviceSpec& device) {
  const bool is_pipelined = device.architecture.attention.is_pipelined;
  const std::int64_t rows = shape.batch * shape.query_heads * shape.query_length;
  const std::int64_t rows_a_block = is_pipelined ? 8 : 4;  // a warp each
  const std::int64_t loads = ceil_div(value_dim(shape) * 4, warp_bytes);
  const auto parts = std::llround(tiling.parts);
  enum { sums, partial, results };
  constexpr int all = 0;
  KernelProgram program;
  program.name = fmt::format("sum of {} parts", parts);
  program.streams = {{"sums", 0, 1}, {"parts", 0, 1}, {"O", 1 - found_in_l2(shape, device), 1}};
  program.rings = {{"all", static_cast<int>(rows_a_block), 0, 0, 0}};
  Code code;
  code.alu(40).load(sums, 4 * std::min<std::int64_t>(parts, lanes), ceil_div(parts, lanes)).use().sync(all);
  code.add({.op = Op::alu, .count = 20, .waits = true}).sfu(4 * ceil_div(parts, lanes)).shared_store(128).sync(all);
  code.loop(parts).load(partial, warp_bytes, loads).use(is_pipelined ? 3 : 0).fma(4 * loads).alu(4).end();
  code.use().alu(2 * loads).store(results, value_dim(shape) * bits(shape.type) / 8);
  program.roles = {{"threads", static_cast<int>(rows_a_block), 64, code.list()}};
  program.blocks = {{ceil_div(rows, rows_a_block), 1}};
  return program;
}

}  // namespace warploom
