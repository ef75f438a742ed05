// SPDX-License-Identifier: Apache-2.0
// Triton's, CUTLASS', TRT-LLM's and Marlin's grouped products.
//
// Triton (vLLM's fused_moe.py): every warp copies by cp.async, gathering rows, waits, multiplies, in turns; blocks as
// many as fit an SM; scales of blocks multiply the sums of a step by hand. CUTLASS with the first of its tactics on
// Hopper (get_candidate_tiles_sm90 of TensorRT-LLM: 128 x 16 x 128 B): persistent, descriptors of the expert's tensors
// written anew for a tile. TRT-LLM: 128 weights by the tokens of a tile, pairs of accumulators in tensor memory. Marlin
// (csrc/moe/marlin_moe_wna16): 64 rows at most, weights of 4 bits converted in registers.
#include "hw_models/programs/grouped_product_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hw_models/kernels/l2_residency.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/kernels/triton_config.hpp"
#include "hw_models/programs/tile_parts.hpp"

namespace warploom {

namespace {

enum Streams { tokens, weights, results, parameters };
constexpr double all_rows =
    1e9;  // CUTLASS goes down the rows of an expert where its columns are more: weights come once

struct Tiling {
  const GroupedProduct& product;
  const DeviceSpec& device;
  std::int64_t rows = 0;  // of a tile
  std::int64_t columns = 0;
  std::int64_t step_bytes = 128;  // of a row of tokens
  std::int64_t tiles = 1;
  std::int64_t steps = 1;
  std::int64_t token_bytes = 0;  // of a step, as many as there are
  std::int64_t token_room = 0;   // and what is kept for them
  std::int64_t weight_bytes = 0;
  std::int64_t result_bytes = 0;  // of a tile
  int depth = 0;                  // of one product
  int products = 0;               // of that depth a step
};

// With scales: a byte for 16 values of 4 bits, or for 32 that are converted.
double weight_width(const GroupedProduct& product) {
  if (bits(product.weight) >= 8) return bits(product.weight) / 8.0;
  return (bits(product.type) < 8 ? 4.5 : 4.25) / 8;
}

Tiling tiling_of(const GroupedProduct& product, const DeviceSpec& device, std::int64_t step_bytes) {
  Tiling t{.product = product, .device = device};
  t.rows = static_cast<std::int64_t>(product.tile.rows);
  t.columns = static_cast<std::int64_t>(product.tile.columns);
  t.step_bytes = step_bytes;
  const std::int64_t elements = step_bytes * 8 / bits(product.type);
  t.tiles = product.row_tiles * ceil_div(product.columns, t.columns);
  t.steps = std::max<std::int64_t>(ceil_div(product.depth, elements), 1);
  const double share = std::min(product.rows / as_double(product.row_tiles * t.rows), 1.0);
  t.token_room = t.rows * step_bytes;
  t.token_bytes = filled(t.token_room, share);
  t.weight_bytes = std::llround(as_double(t.columns * elements) * weight_width(product));
  t.result_bytes = std::llround(as_double(t.rows * t.columns) * bits(product.output) / 8.0);
  t.depth = static_cast<int>(product_bytes * 8 / bits(product.type));
  t.products = static_cast<int>(step_bytes / product_bytes);
  return t;
}

// How often an expert's weights of the product are read: tiles go over all columns for `group` rows of tiles, and what
// the L2 cannot keep until the next group comes again.
double weight_reads(const Tiling& t, double group) {
  const GroupedProduct& product = t.product;
  const double bytes = as_double(product.columns * product.depth) * weight_width(product);
  const double kept = static_cast<double>(t.device.l2.capacity.count()) * t.device.architecture.moe.weights_kept;
  const double lost =
      kept > 0 ? std::clamp(bytes / kept - 1, 0.0, 1.0) : 1 - share_found_in_l2(Bytes(std::llround(bytes)), t.device);
  const double groups = std::max(as_double(product.row_tiles) / std::max(product.busy, 1.0) / group, 1.0);
  return 1 + (groups - 1) * lost;
}

// [derived] moe.csv of A100: rows of half a line take the time of whole ones on the way from the L2, from the memory
// half of what they save.
double line_share(const Tiling& t) { return std::min(as_double(t.step_bytes) / wavefront, 1.0); }

KernelProgram base(const Tiling& t, const char* how, double group) {
  const GroupedProduct& product = t.product;
  KernelProgram program;
  program.name = fmt::format("{}, {} x {}, {}", product.name, t.rows, t.columns, how);
  program.type = product.type;
  program.flops = Flops(2 * product.rows * as_double(product.columns) * as_double(product.depth));
  const double weights_once = product.busy * as_double(product.columns * product.depth) * weight_width(product);
  program.footprint = Bytes(std::llround(weights_once));
  const double asked = as_double(t.tiles * t.steps) * static_cast<double>(t.weight_bytes);
  const double read = weights_once * weight_reads(t, group);
  const double column_tiles = std::ceil(as_double(product.columns) / as_double(t.columns));
  const double filled = as_double(t.token_bytes) / as_double(t.token_room);
  const double memory_share = (1 + line_share(t)) / 2;
  // TRT-LLM and Marlin lay weights out in tiles when they are loaded: what a block reads lies together, as long as it
  // is read once.
  const MoeKernel kernel = t.device.architecture.moe.kernel;
  constexpr double once = 1.05;
  const bool is_packed = (kernel == MoeKernel::trtllm || kernel == MoeKernel::marlin) && weight_reads(t, group) < once;
  program.streams = {{"tokens", std::min(product.cold_rows / column_tiles, 1.0) * memory_share, 1, true},
                     {"weights", std::min(read / asked, 1.0) * memory_share, 1, !is_packed},
                     {"results", filled, 1, true},
                     {"parameters", 0, 1}};
  return program;
}

Instruction product_of(const Tiling& t, Op op, std::int64_t m, std::int64_t n, std::int64_t count) {
  return {.op = op,
          .count = count,
          .m = static_cast<int>(m),
          .n = static_cast<int>(n),
          .k = t.depth,
          .type = t.product.type};
}

constexpr Instruction read_parameter = parameter_read(parameters);

int stages_that_fit(const Tiling& t, std::int64_t most) {
  const std::int64_t room =
      t.device.sm.shared_memory.count() - reserved_shared_memory - std::min(t.result_bytes, most_staged);
  return static_cast<int>(std::clamp<std::int64_t>(room / (t.token_room + t.weight_bytes), 2, most));
}

// ---- Triton -------------------------------------------------------------------------------------------------------

KernelProgram triton_product(const GroupedProduct& product, const DeviceSpec& device) {
  const TritonConfig config =
      triton_config(product.tile, device.architecture.moe.tile_rule,
                    {product.tokens, product.rows / std::max(product.busy, 1.0), static_cast<int>(bits(product.type))});
  const Tiling t = tiling_of(product, device, config.step_bytes);
  constexpr std::int64_t rows_of_a_group = 64;
  const bool is_by_groups = device.architecture.pipeline.tensor_unit != TensorUnit::mma && t.rows >= rows_of_a_group;
  const std::int64_t warps = config.warps;
  const int stages = stages_that_fit(t, config.stages);
  enum { full, all };
  KernelProgram program = base(t, "Triton", config.group);
  program.rings = {{"full", static_cast<int>(2 * warps), 2, 0, 0}, {"all", static_cast<int>(warps), 0, 0, 0}};
  program.blocks = {{t.tiles, 1}};
  program.shared_memory = Bytes(stages * (t.token_room + t.weight_bytes));

  // Sixteen bytes a thread at a time, each with its pointer (64 bits), its mask and where it goes; shared memory takes
  // what comes as any store's.
  // Where rows are no multiple of 16 values, Triton takes nothing for aligned: a value at a time.
  constexpr std::int64_t around_a_copy = 5;
  constexpr std::int64_t aligned = 16;
  const bool is_aligned = product.depth % aligned == 0;
  const std::int64_t each = is_aligned ? warp_bytes : 4 * bits(product.type);
  const std::int64_t chunks = ceil_div(t.token_room + t.weight_bytes, warps * each);
  const auto moved = [&](std::int64_t bytes) {
    return std::max<std::int64_t>(std::llround(as_double(bytes / warps) / line_share(t)), 1);
  };
  Code copy;
  copy.alu(chunks * around_a_copy).copy(tokens, moved(t.token_bytes), full).copy(weights, moved(t.weight_bytes), full);
  if (is_aligned) {
    copy.shared_store((t.token_room + t.weight_bytes) / warps);
  } else {
    copy.add({.op = Op::shared_store, .count = chunks, .bytes = wavefront});
  }
  Code multiply;
  const std::int64_t across = std::clamp<std::int64_t>(t.rows / 32, 1, warps / 2);  // warps above one another
  if (is_by_groups) {
    // Groups of warps lie above one another, then side by side.
    const std::int64_t groups = warps / 4;
    const std::int64_t above = std::min(groups, t.rows / rows_of_a_group);
    const std::int64_t wide = t.columns / (groups / above);
    multiply.add(product_of(t, Op::wgmma, 64, wide, t.products * (t.rows / rows_of_a_group / above)));
  } else {
    const std::int64_t wm = std::max<std::int64_t>(t.rows / across, 16);
    const std::int64_t wn = std::max<std::int64_t>(t.columns / (warps / across), 8);
    // All of a step at once: other blocks of the SM fill what the warp leaves idle.
    multiply.shared_load(t.products * (wm + wn) * product_bytes);
    multiply.add(product_of(t, Op::mma, 16, 8, t.products * (wm / 16) * (wn / 8)));
  }
  const std::int64_t sums = ceil_div(t.rows * t.columns, warps * 32);
  if (product.promotes) multiply.load(parameters, wavefront, 2).drain().use(0).fma(2 * sums);
  const std::int64_t ahead = std::min<std::int64_t>(stages - 1, t.steps);
  Code code;
  // The expert of the tile, its tokens, where they are; then pointers of every row.
  code.add(read_parameter).add(read_parameter).add(kernel_start(parameters, pointer_indices, false));
  for (std::int64_t i = 0; i < ahead; ++i) code.add(copy);
  if (t.steps > ahead) {
    code.main_loop(t.steps - ahead, stages).wait(full).sync(all).add(multiply).add(copy);
    if (is_by_groups) code.drain();
    code.end();
  }
  code.loop(ahead).wait(full).add(multiply).end().drain().sync(all);
  code.fma(sums).alu(2 * sums).shared_store(t.result_bytes / warps).sync(all).shared_load(t.result_bytes / warps, true);
  code.store(results, warp_bytes, ceil_div(t.result_bytes / warps, warp_bytes));
  const auto registers = std::clamp<std::int64_t>(sums + 72, 64, 255);
  program.roles = {{"warps", static_cast<int>(warps), static_cast<int>(registers), code.list()}};
  return program;
}

// ---- CUTLASS, untuned ---------------------------------------------------------------------------------------------

KernelProgram cutlass_first_product(const GroupedProduct& given, const DeviceSpec& device) {
  GroupedProduct product = given;
  product.tile.columns = 16;
  Tiling t = tiling_of(product, device, 128);
  // [derived] from moe.csv of H100: a step takes a third of a copy's latency, so that three stages are under way.
  constexpr int stages = 4;
  constexpr int warps = 8;
  enum { full, empty, group };
  KernelProgram program = base(t, "wgmma", all_rows);
  program.rings = {{"full", 2, 2, 0, 0}, {"empty", warps, 0, 0, stages}, {"group", warps, 0, 0, 0}};
  program.shared_memory = Bytes(stages * (t.token_room + t.weight_bytes) + 64LL * 1024);
  program.blocks = persistent_blocks(t.tiles, device.sm.count);
  // [measured] H800, copies of 4 KB by 456 blocks reach 1,645 GB/s: 1.13 us from the memory where many small boxes are
  // under way, not a single load's 380 ns.
  constexpr double small_box = 1476;
  program.streams[weights].more_latency = small_box;
  // Descriptors of the tile's tensors: written, made visible, read again.
  constexpr int round_trips = 4;
  Code producer;
  producer.add(read_parameter).main_loop(0, 1);
  for (int i = 0; i < round_trips; ++i) producer.add(read_parameter);
  producer.main_loop(t.steps, stages).wait(empty);
  producer.copy(tokens, t.token_bytes, full).copy(weights, t.weight_bytes, full).end().end();
  Instruction multiply = product_of(t, Op::wgmma, 64, t.columns, t.products);
  multiply.bytes = (t.token_bytes + t.weight_bytes) / (t.products * warps / 4);
  Code consumer;
  consumer.add(read_parameter).main_loop(0, 1).wait(full).add(multiply);
  if (t.steps > 1) consumer.main_loop(t.steps - 1, stages).wait(full).add(multiply).drain(1).arrive(empty).end();
  const std::int64_t sums = ceil_div(t.rows * t.columns, warps * 32);
  consumer.drain().arrive(empty);
  for (int i = 0; i < round_trips; ++i) consumer.add(read_parameter);
  consumer.fma(sums).alu(sums).shared_store(t.result_bytes / warps).sync(group);
  consumer.store_tile(results, t.result_bytes / warps).end();
  program.roles = {{"consumer", warps, 160, consumer.list()}, {"producer", 1, 40, producer.list()}};
  return program;
}

// ---- Tensor memory ------------------------------------------------------------------------------------------------

// 128 weights by the tokens of a tile.
KernelProgram tensor_memory_product(const GroupedProduct& product, const DeviceSpec& device) {
  Tiling t = tiling_of(product, device, 128);
  // Full tiles are multiplied by pairs of SMs, 256 weights by 128 tokens: each has half of the tokens.
  const bool is_pair = t.rows >= 128 && t.tiles > device.sm.count;
  if (is_pair) {
    t.token_room /= 2;
    t.token_bytes = std::max<std::int64_t>(t.token_bytes / 2, 1);
  }
  constexpr int most = 8;
  constexpr int accumulators = 2;
  constexpr int least_columns = 32;  // that tensor memory is handed out in
  const int stages = stages_that_fit(t, most);
  using enum TensorMemoryRing::Place;
  KernelProgram program = base(t, "tcgen05", device.architecture.moe.kernel == MoeKernel::trtllm ? 1 : all_rows);
  program.rings = tensor_memory_rings(stages, accumulators);
  program.shared_memory = Bytes(stages * (t.token_room + t.weight_bytes) + std::min(t.result_bytes, most_staged));
  program.tensor_columns = static_cast<int>(std::max<std::int64_t>(t.rows * accumulators, least_columns));
  program.blocks = persistent_blocks(t.tiles, device.sm.count);
  Instruction multiply = product_of(t, Op::tcgen05, t.columns, t.rows, t.products);
  multiply.ring = empty;
  multiply.b_share = is_pair ? 0.5 : 1;
  multiply.bytes = (t.token_bytes + t.weight_bytes) / t.products;
  const std::int64_t sums = ceil_div(t.rows * t.columns, epilogue_warps * 32);
  const Instruction commit = commit_to(result, product.type, t.depth);
  Code producer = kernel_start(parameters, tma_indices, true);
  producer.main_loop(0, accumulators).main_loop(t.steps, stages).wait(empty);
  producer.copy(tokens, t.token_bytes, full).copy(weights, t.weight_bytes, full).end().end();
  Code issuer;
  Code epilogue;
  issuer.add(read_parameter).main_loop(0, accumulators);
  epilogue.add(read_parameter).main_loop(0, accumulators);
  const Code take_sums = Code().wait(result).tensor_load(t.rows * t.columns * 4 / epilogue_warps).arrive(drained);
  if (product.promotes) {
    // Sums of a step leave tensor memory, are scaled and added to those in registers.
    issuer.main_loop(t.steps, stages).wait(drained).wait(full).add(multiply).add(commit).end().end();
    epilogue.main_loop(t.steps, stages).add(take_sums).shared_load(2 * wavefront, true).fma(2 * sums).end();
  } else {
    issuer.wait(drained).main_loop(t.steps, stages).wait(full).add(multiply).end().add(commit).end();
    epilogue.add(take_sums);
  }
  epilogue.fma(2 * sums).alu(sums).shared_store(t.result_bytes / epilogue_warps).sync(group);
  epilogue.store_tile(results, t.result_bytes / epilogue_warps).end();
  program.roles = tensor_memory_roles(epilogue, producer, issuer);
  return program;
}

// ---- Warp groups, pipelined ---------------------------------------------------------------------------------------

KernelProgram group_product(const GroupedProduct& product, const DeviceSpec& device) {
  const Tiling t = tiling_of(product, device, 128);
  constexpr int most = 8;
  const std::int64_t groups = std::clamp<std::int64_t>(t.rows / 64, 1, 2);
  const auto warps = static_cast<int>(4 * groups);
  const int stages = stages_that_fit(t, most);
  enum { full, empty, group };
  KernelProgram program = base(t, "wgmma", all_rows);
  program.rings = {{"full", 2, 2, 0, 0}, {"empty", warps, 0, 0, stages}, {"group", warps, 0, 0, 0}};
  program.shared_memory = Bytes(stages * (t.token_room + t.weight_bytes) + std::min(t.result_bytes, most_staged));
  program.blocks = persistent_blocks(t.tiles, device.sm.count);
  Code producer;
  producer.add(read_parameter).main_loop(0, 1).add(read_parameter).main_loop(t.steps, stages).wait(empty);
  producer.copy(tokens, t.token_bytes, full).copy(weights, t.weight_bytes, full).end().end();
  // Few rows stand as columns, weights above one another.
  const bool is_lying = t.rows < 64;
  const std::int64_t instructions = is_lying ? t.columns / 64 : std::max<std::int64_t>(t.rows / 64 / groups, 1);
  const std::int64_t wide = is_lying ? t.rows : t.columns;
  const std::int64_t sums = ceil_div(t.rows * t.columns, warps * 32);
  Code consumer;
  consumer.add(read_parameter).main_loop(0, 1).main_loop(t.steps, stages).wait(full);
  if (product.promotes) consumer.shared_load(2 * wavefront, true);
  Instruction multiply = product_of(t, Op::wgmma, 64, wide, t.products * instructions);
  multiply.bytes = (t.token_bytes + t.weight_bytes) / (t.products * instructions * groups);
  consumer.add(multiply).drain().arrive(empty);
  if (product.promotes) consumer.fma(sums + 2);
  consumer.end().fma(sums).alu(sums).shared_store(t.result_bytes / warps).sync(group);
  consumer.store_tile(results, t.result_bytes / warps).end();
  const auto registers = std::clamp<std::int64_t>(2 * sums + 60, 64, 232);
  program.roles = {{"consumer", warps, static_cast<int>(registers), consumer.list()},
                   {"producer", 1, 40, producer.list()}};
  return program;
}

// ---- Marlin -------------------------------------------------------------------------------------------------------

KernelProgram marlin_product(const GroupedProduct& product, const DeviceSpec& device) {
  const Tiling t = tiling_of(product, device, 128);
  constexpr std::int64_t warps = 8;
  constexpr int stages = 4;
  enum { full, all };
  KernelProgram program = base(t, "Marlin", 1);
  program.rings = {{"full", static_cast<int>(2 * warps), 2, 0, 0}, {"all", static_cast<int>(warps), 0, 0, 0}};
  program.shared_memory = Bytes(stages * (t.token_room + t.weight_bytes) + 2 * t.result_bytes);
  program.blocks = persistent_blocks(t.tiles, device.sm.count);
  Code copy;
  copy.alu(ceil_div(t.token_room + t.weight_bytes, warps * warp_bytes) * 3);
  copy.copy(tokens, std::max<std::int64_t>(t.token_bytes / warps, 1), full).copy(weights, t.weight_bytes / warps, full);
  copy.shared_store((t.token_room + t.weight_bytes) / warps);
  // Each warp has all rows and a part of columns and depth: eight values of a word by four masks and shifts each two,
  // then their scale; products wait for them.
  const std::int64_t values = t.columns * t.step_bytes * 8 / bits(product.type) / warps;  // of a warp and step
  const std::int64_t slices = std::max<std::int64_t>(t.products, 1);
  Code multiply;
  for (std::int64_t i = 0; i < slices; ++i) {
    const std::int64_t words = ceil_div(values / slices, 32);  // values of a lane
    multiply.shared_load(t.rows * product_bytes / 2, true).shared_load(values / slices / 2, true);
    multiply.add({.op = Op::alu, .count = std::max<std::int64_t>(words * 3 / 2, 1), .waits = true});
    multiply.fma(std::max<std::int64_t>(words / 2, 1));
    const std::int64_t products = std::max<std::int64_t>(t.rows / 16 * (t.columns / 8) / warps, 1);
    multiply.add(product_of(t, Op::mma, 16, 8, products));
  }
  const std::int64_t ahead = std::min<std::int64_t>(stages - 1, t.steps);
  Code code;
  code.add(read_parameter).main_loop(0, 1).add(read_parameter).add({.op = Op::alu, .count = 100, .waits = true});
  for (std::int64_t i = 0; i < ahead; ++i) code.add(copy);
  if (t.steps > ahead) code.main_loop(t.steps - ahead, stages).wait(full).sync(all).add(copy).add(multiply).end();
  code.loop(ahead).wait(full).add(multiply).end().drain().sync(all);
  // Sums of warps along k meet in shared memory.
  code.shared_store(t.rows * t.columns * 4 / warps).sync(all).shared_load(2 * t.rows * t.columns * 4 / warps, true);
  code.store(results, warp_bytes, ceil_div(t.result_bytes / warps, warp_bytes)).end();
  program.roles = {{"warps", static_cast<int>(warps), 255, code.list()}};
  return program;
}

}  // namespace

KernelProgram grouped_product(const GroupedProduct& product, const DeviceSpec& device) {
  const MoeConstants& moe = device.architecture.moe;
  const TensorUnit unit = device.architecture.pipeline.tensor_unit;
  if (moe.kernel == MoeKernel::marlin) return marlin_product(product, device);
  if (moe.kernel == MoeKernel::triton || unit == TensorUnit::mma) return triton_product(product, device);
  if (unit == TensorUnit::tcgen05) return tensor_memory_product(product, device);
  return moe.kernel == MoeKernel::cutlass_first ? cutlass_first_product(product, device)
                                                : group_product(product, device);
}

}  // namespace warploom
