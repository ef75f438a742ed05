// SPDX-License-Identifier: Apache-2.0
// The three shapes of a GEMM; see the header.
#include "hw_models/programs/gemm_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/programs/code.hpp"
#include "hw_models/programs/gemm_pieces.hpp"
#include "hw_models/programs/streaming_program.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

using namespace gemm_pieces;  // NOLINT(google-build-using-namespace): the words of these programs

// ---- mma: all warps do all --------------------------------------------------------------------------------------

KernelProgram warp_products(const Tiling& given) {
  Tiling t = given;
  const std::int64_t warps = std::clamp<std::int64_t>(t.m * t.n / (64LL * 64), 4, 8);
  const std::int64_t rows = t.m >= t.n ? std::min<std::int64_t>(warps, ceil_div(t.m, 64))
                                       : warps / std::min<std::int64_t>(warps, ceil_div(t.n, 64));
  const std::int64_t warp_rows = std::clamp<std::int64_t>(rows, 1, std::max<std::int64_t>(t.m / 16, 1));
  const std::int64_t wm = std::max<std::int64_t>(t.m / warp_rows, 16);
  const std::int64_t wn = std::max<std::int64_t>(t.n / (warps / warp_rows), 8);
  check_sums(t, 32 * warps);
  // Two blocks hide each other's ends; a stage is half as deep where that makes room for them.
  constexpr int enough = 3;
  int blocks = t.m * t.n <= 128LL * 128 ? 2 : 1;
  const int full_products = t.products;
  t.stages = stages_that_fit(t, 0, blocks, 4);
  const auto fits = [&] {
    return t.stages * (t.a_bytes + t.b_bytes) + reserved_shared_memory <= t.device.sm.shared_memory.count() / blocks;
  };
  while (t.products > 1 && (!fits() || (blocks == 2 && t.stages < enough && t.products == full_products))) {
    t.steps *= 2;
    t.a_bytes /= 2;
    t.b_bytes /= 2;
    t.products /= 2;
    t.stages = stages_that_fit(t, 0, blocks, 5);
  }
  if (t.blocking.stages > 0) {
    const std::int64_t stages = t.stages * (t.a_bytes + t.b_bytes) + reserved_shared_memory;
    blocks = static_cast<int>(std::clamp<std::int64_t>(t.device.sm.shared_memory.count() / stages, 1, blocks));
  }
  const std::int64_t ahead = std::min<std::int64_t>(t.stages - 1, t.steps);
  spread_along_k(t, static_cast<std::int64_t>(t.device.sm.count) * blocks, ahead);
  enum { full, all };
  KernelProgram program = base(t, "mma");
  const int b_copies = std::max(t.products / 2, 1);
  const int copied_parts = 1 + b_copies;
  program.rings = {{"full", copied_parts * static_cast<int>(warps), copied_parts, 0, 0},
                   {"all", static_cast<int>(warps), 0, 0, 0}};
  program.streams = streams_of(t, {});
  program.shared_memory = Bytes(t.stages * (t.a_bytes + t.b_bytes));

  const auto copy_of = [&](int stream, std::int64_t bytes) {
    return Instruction{
        .op = Op::copy_tile, .bytes = bytes, .ring = full, .stream = stream, .lines = static_cast<double>(bytes) / 128};
  };
  // Copies go between the products, A's with the first one: they share the pipe to shared memory with the fragments.
  std::vector<Code> copies(t.products);
  copies[0].alu(ceil_div(t.a_bytes + t.b_bytes, warps * warp_bytes) + 2);
  copies[0].add(copy_of(a, filled(t.a_bytes / warps, a_fill(t))));
  const std::int64_t b_bytes = filled(t.b_bytes / warps, b_fill(t));
  for (int i = 0; i < b_copies; ++i) copies[t.products - 1 - i].add(copy_of(b, ceil_div(b_bytes, b_copies)));
  Code copy;
  Code multiply;
  Code both;
  const Instruction product_of_warp = product(t, Op::mma, 16, 8, wm / 16 * (wn / 8));
  const double fragments = (static_cast<double>(wm) + static_cast<double>(wn) * product_of_warp.b_share) * 32;
  const Code one = Code().shared_load(std::llround(fragments)).add(product_of_warp);
  for (const Code& one_copy : copies) {
    copy.add(one_copy);
    multiply.add(one);
    both.add(one_copy).add(one);
  }
  // Stages are filled, used as they are filled again, and emptied.
  const auto stretch = [&](std::int64_t steps, int stages) {
    Code code;
    for (std::int64_t i = 0; i < ahead; ++i) code.add(copy);
    if (steps != none) code.main_loop(steps, stages).wait(full).sync(all).add(both).end();
    return code.loop(ahead).wait(full).add(multiply).end().drain().sync(all);
  };
  Code results = epilogue(t, warps, t.shape.accumulate).sync(all).shared_load(t.c_bytes / warps, true);
  results.store(c, warp_bytes, ceil_div(stored(t) / warps, warp_bytes));
  const Code tile = stretch(t.steps > ahead ? t.steps - ahead : none, t.stages).add(results);
  Code code = kernel_start(parameters, pointer_indices, false);
  if (t.work.empty()) {
    code.add(tile);
  } else {
    make_workers(program, t, ahead);
    code.main_loop(has_begun, 1).add(stretch(begun, t.stages)).add(store_sums(t, warps)).sync(all).end();
    code.main_loop(whole, 1).add(tile).sync(all).end();
    code.main_loop(has_finished, 1)
        .add(stretch(finished, t.stages))
        .loop(peers)
        .add(add_sums(t, warps))
        .end()
        .add(results)
        .end();
  }
  const auto registers = std::clamp<std::int64_t>(wm * wn / 32 + 80, 64, 255);
  program.roles = {{"warps", static_cast<int>(warps), static_cast<int>(registers), code.list()}};
  return program;
}

// ---- wgmma: a producer and consumer warp groups ------------------------------------------------------------------

KernelProgram group_products(const Tiling& given) {
  Tiling t = given;
  const std::int64_t groups = t.m <= 192 ? ceil_div(t.m, 64) : 2;
  const std::int64_t instructions = ceil_div(t.m, 64 * groups);  // of 64 rows
  check_sums(t, 128 * groups);
  const std::int64_t staged = std::min(t.c_bytes, most_staged);
  t.stages = stages_that_fit(t, staged, 1, 8);
  spread_along_k(t, t.device.sm.count, least_stretch);
  enum { full, empty, group };
  KernelProgram program = base(t, "wgmma");
  const auto warps = static_cast<int>(4 * groups);
  program.rings = {{"full", 2, 2, 0, 0}, {"empty", warps, 0, 0, t.stages}, {"group", warps, 0, 0, 0}};
  program.streams = streams_of(t, cluster_of_two(t));
  program.shared_memory = Bytes(t.stages * (t.a_bytes + t.b_bytes) + staged);

  make_persistent(program, t);
  Code load;
  load.wait(empty).copy(a, filled(t.a_bytes, a_fill(t)), full).copy(b, filled(t.b_bytes, b_fill(t)), full);
  Code multiply;
  multiply.add(product(t, Op::wgmma, 64, t.n, t.products * instructions));
  const bool is_promoted = t.shape.split_accumulator && bits(product_type(t.shape)) == 8;
  // The Tensor Core's sums of a stage are scaled and added to those in FP32, by hand.
  const std::int64_t promoted = t.m * t.n / warps / 32;
  Code step;
  step.wait(full).add(multiply);
  if (is_promoted) {
    step.drain().arrive(empty).fma(promoted);
  } else {
    step.drain(1).arrive(empty);
  }
  Code results = epilogue(t, 4 * groups, t.shape.accumulate).sync(group).store_tile(c, stored(t) / warps);
  Code tile;
  if (is_promoted) {
    tile.main_loop(t.steps, t.stages).add(step).end();
  } else {
    tile.wait(full).add(multiply);
    if (t.steps > 1) tile.main_loop(t.steps - 1, t.stages).add(step).end();
    tile.drain().arrive(empty);
  }
  const bool is_cut = !t.work.empty();
  const std::int64_t tiles = is_cut ? whole : 0;
  Code producer = kernel_start(parameters, tma_indices, true);
  Code consumer = kernel_start(parameters, tma_indices, false);
  if (is_cut) {
    producer.main_loop(has_begun, 1).main_loop(begun, t.stages).add(load).end().end();
    consumer.main_loop(has_begun, 1).main_loop(begun, t.stages).add(step).end().drain().add(store_sums(t, warps)).end();
  }
  producer.main_loop(tiles, 1).main_loop(t.steps, t.stages).add(load).end().end();
  consumer.main_loop(tiles, 1).add(tile).add(results).end();
  if (is_cut) {
    producer.main_loop(has_finished, 1).main_loop(finished, t.stages).add(load).end().end();
    consumer.main_loop(has_finished, 1).main_loop(finished, t.stages).add(step).end().drain();
    consumer.loop(peers).add(add_sums(t, warps)).end().add(results).end();
  }
  const auto registers = std::clamp<std::int64_t>(t.n * instructions / 2 + 60, 64, 240);
  program.roles = {{"consumer", warps, static_cast<int>(registers), consumer.list()},
                   {"producer", 1, 40, producer.list()}};
  return program;
}

// ---- tcgen05: tensor memory --------------------------------------------------------------------------------------

// Products of 128 rows: a tile that is taller than wide is computed as its transpose.
Tiling lying(const Tiling& t, GemmShape& transposed) {
  if (t.m <= t.n || t.shape.is_sparse) return t;
  transposed = t.shape;
  std::swap(transposed.m, transposed.n);
  std::swap(transposed.tile_m, transposed.tile_n);
  transposed.weight = t.shape.input;
  transposed.input = weight_type(t.shape);
  GemmBlocking blocking = t.blocking;
  std::swap(blocking.tile.m, blocking.tile.n);
  return tiling(transposed, blocking, t.device);
}

KernelProgram block_products(const Tiling& given) {
  GemmShape transposed;
  Tiling t = lying(given, transposed);
  constexpr std::int64_t rows = 128;  // of an accumulator
  const std::int64_t columns = t.n * ceil_div(t.m, rows);
  if (columns > t.device.sm.tensor_memory_columns) {
    throw UserError(
        fmt::format("a tile of {} x {} does not fit tensor memory: {} columns for each {} of {} rows are {}; "
                    "it has {}",
                    t.m, t.n, t.n, rows, t.m, columns, t.device.sm.tensor_memory_columns),
        "take a smaller tile");
  }
  const int accumulators = columns * 2 <= t.device.sm.tensor_memory_columns ? 2 : 1;
  // Two SMs of a pair compute tiles above one another: each holds and loads half of B.
  const bool has_clusters = t.device.architecture.gemm.multicast > 1 && t.blocking.cluster != 1;
  const bool is_pair = has_clusters && row_tiles(t) > 1 && t.m >= rows;
  const double b_share = is_pair ? 0.5 : 1;
  t.b_bytes = std::llround(static_cast<double>(t.b_bytes) * b_share);
  const std::int64_t staged = std::min(t.c_bytes / 2, most_staged);
  t.stages = stages_that_fit(t, staged, 1, 8);
  spread_along_k(t, t.device.sm.count, least_stretch);
  using enum TensorMemoryRing::Place;
  KernelProgram program = base(t, "tcgen05");
  program.rings = tensor_memory_rings(t.stages, accumulators);
  // Pairs side by side share A, pairs above one another their half of B.
  program.streams =
      streams_of(t, {has_clusters && column_tiles(t) > 1 ? 2.0 : 1.0, is_pair && row_tiles(t) > 3 ? 2.0 : 1.0});
  program.shared_memory = Bytes(t.stages * (t.a_bytes + t.b_bytes) + staged);
  program.tensor_columns =
      static_cast<int>(std::min<std::int64_t>(columns * accumulators, t.device.sm.tensor_memory_columns));
  make_persistent(program, t);

  Instruction products = product(t, Op::tcgen05, std::min(t.m, rows), t.n, t.products * ceil_div(t.m, rows));
  products.b_share *= b_share;
  products.ring = empty;
  const Instruction commit = commit_to(result, product_type(t.shape), t.depth);
  Code load;
  load.wait(empty).copy(a, filled(t.a_bytes, a_fill(t)), full).copy(b, filled(t.b_bytes, b_fill(t)), full);
  const Code step = Code().wait(full).add(products);
  // An accumulator, from the Tensor Cores to registers.
  const Code taken = Code().wait(result).tensor_load(t.m * t.n * 4 / epilogue_warps).arrive(drained);
  Code leaves = epilogue(t, epilogue_warps, t.shape.accumulate).sync(group);
  leaves.store_tile(c, stored(t) / epilogue_warps);
  const bool is_cut = !t.work.empty();
  const std::int64_t tiles = is_cut ? whole : 0;
  Code producer = kernel_start(parameters, tma_indices, true).add({.op = Op::depend});
  Code issuer = kernel_start(parameters, tma_indices, false);
  Code results = kernel_start(parameters, tma_indices, true);
  if (is_cut) {
    producer.main_loop(has_begun, 1).main_loop(begun, t.stages).add(load).end().end();
    issuer.main_loop(has_begun, 1).wait(drained).main_loop(begun, t.stages).add(step).end().add(commit).end();
    results.main_loop(has_begun, 1).add(taken).add(store_sums(t, epilogue_warps)).end();
  }
  producer.main_loop(tiles, accumulators).main_loop(t.steps, t.stages).add(load).end().end();
  issuer.main_loop(tiles, accumulators).wait(drained).main_loop(t.steps, t.stages).add(step).end();
  issuer.add(commit).end();
  results.main_loop(tiles, accumulators).add(taken).add(leaves).end();
  if (is_cut) {
    producer.main_loop(has_finished, 1).main_loop(finished, t.stages).add(load).end().end();
    issuer.main_loop(has_finished, 1).wait(drained).main_loop(finished, t.stages).add(step).end().add(commit).end();
    results.main_loop(has_finished, 1).add(taken).loop(peers).add(add_sums(t, epilogue_warps)).end().add(leaves).end();
  }
  program.roles = tensor_memory_roles(results, producer, issuer);
  return program;
}

// Adds the parts: each thread adds one vector of all of them.
KernelProgram reduction(const Tiling& t) {
  constexpr int threads = 256;
  const std::int64_t elements = t.shape.batch * t.shape.m * t.shape.n;
  StreamingPass pass;
  pass.reads = {{.name = "parts", .bytes = 4 * t.blocking.parts, .from_memory = 0}};
  pass.writes = {
      {.name = "C", .bytes = bits(t.shape.output) / 8.0, .from_memory = gemm_cold_shares(t.shape, t.device).c}};
  pass.work = {t.blocking.parts, 0.5, 0};
  pass.vector = 4;
  return streaming_program(flat_kernel(fmt::format("sum of {} parts", t.blocking.parts), elements, threads, pass));
}

}  // namespace

std::vector<KernelProgram> gemm_programs(const GemmShape& shape, const GemmBlocking& blocking,
                                         const DeviceSpec& device) {
  return gemm_programs(shape, blocking, device, device.architecture.pipeline.tensor_unit);
}

std::vector<KernelProgram> gemm_programs(const GemmShape& shape, const GemmBlocking& blocking, const DeviceSpec& device,
                                         TensorUnit unit) {
  const Tiling t = tiling(shape, blocking, device);
  std::vector<KernelProgram> programs;
  switch (unit) {
    case TensorUnit::mma:
      programs.push_back(warp_products(t));
      break;
    case TensorUnit::wgmma:
      programs.push_back(group_products(t));
      break;
    case TensorUnit::tcgen05:
      programs.push_back(block_products(t));
      break;
  }
  if (blocking.parts > 1) programs.push_back(reduction(t));
  return programs;
}

std::vector<KernelProgram> gemm_programs(const GemmShape& shape, const DeviceSpec& device) {
  return gemm_programs(shape, choose_gemm_blocking(shape, device), device);
}

}  // namespace warploom
