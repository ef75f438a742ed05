// SPDX-License-Identifier: Apache-2.0
// The three shapes of a GEMM; see the header.
#include "hw_models/programs/gemm_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/programs/code.hpp"
#include "hw_models/programs/streaming_program.hpp"

namespace warploom {

namespace {

// Streams.
constexpr int a = 0;
constexpr int b = 1;
constexpr int c = 2;
constexpr int parameters = 3;
constexpr std::int64_t most_staged = 32LL * 1024;  // of results on their way out: a part of the tile after the other
constexpr std::int64_t warp_bytes = 512;           // that one instruction of a warp moves at most: 16 a lane

// What all three shapes are built from.
struct Tiling {
  const GemmShape& shape;
  const DeviceSpec& device;
  GemmBlocking blocking{};
  std::int64_t m = 0;  // of a tile
  std::int64_t n = 0;
  std::int64_t steps = 1;
  std::int64_t a_bytes = 0;  // of a stage
  std::int64_t b_bytes = 0;
  std::int64_t c_bytes = 0;  // of a tile's results
  int depth = 0;             // k of one product: 32 bytes
  int products = 0;          // of that depth a stage
  int stages = 2;
};

Tiling tiling(const GemmShape& shape, const GemmBlocking& blocking, const DeviceSpec& device) {
  constexpr int product_bytes = 32;
  const double widest = bits(product_type(shape));
  Tiling t{.shape = shape, .device = device, .blocking = blocking};
  t.m = blocking.tile.m;
  t.n = blocking.tile.n;
  t.steps = std::max<std::int64_t>(static_cast<std::int64_t>(blocking.steps), 1);
  const auto stage = [&](std::int64_t rows, DataType type) {
    return std::llround(static_cast<double>(rows * gemm_step_bytes) * bits(type) / widest);
  };
  t.a_bytes = stage(t.m, shape.input);
  t.b_bytes = stage(t.n, weight_type(shape));
  const double c_width = blocking.parts > 1 ? 4 : bits(shape.output) / 8.0;
  t.c_bytes = std::llround(static_cast<double>(t.m * t.n) * c_width);
  t.depth = product_bytes * 8 / bits(product_type(shape));
  t.products = static_cast<int>(gemm_step_bytes / product_bytes);
  return t;
}

// As many stages as fit beside a buffer for results, with `blocks` blocks an SM.
int stages_that_fit(const Tiling& t, std::int64_t beside, int blocks, int most) {
  const std::int64_t room = t.device.sm.shared_memory.count() / blocks - reserved_shared_memory - beside;
  return static_cast<int>(std::clamp<std::int64_t>(room / (t.a_bytes + t.b_bytes), 2, most));
}

// Blocks that share reads of A and of B.
struct Sharers {
  double a = 1;
  double b = 1;
};

std::int64_t row_tiles(const Tiling& t) { return ceil_div(t.shape.m, t.m); }
std::int64_t column_tiles(const Tiling& t) { return ceil_div(t.shape.n, t.n); }

// A cluster of two blocks lies across the operand whose sharing saves more, where there are two tiles to share it.
Sharers cluster_of_two(const Tiling& t) {
  const bool has_clusters = t.device.architecture.gemm.multicast > 1;
  const std::int64_t saved_a = has_clusters && column_tiles(t) > 1 ? t.a_bytes : 0;
  const std::int64_t saved_b = has_clusters && row_tiles(t) > 1 ? t.b_bytes : 0;
  if (saved_a + saved_b == 0) return {};
  return saved_b >= saved_a ? Sharers{1, 2} : Sharers{2, 1};
}

// What lies beyond the edge is neither read nor written.
double a_fill(const Tiling& t) { return as_double(t.shape.m) / as_double(row_tiles(t) * t.m); }
double b_fill(const Tiling& t) { return as_double(t.shape.n) / as_double(column_tiles(t) * t.n); }
std::int64_t copied(std::int64_t bytes, double fill) {
  return std::max<std::int64_t>(std::llround(static_cast<double>(bytes) * fill), 1);
}

std::int64_t stored(const Tiling& t) { return copied(t.c_bytes, a_fill(t) * b_fill(t)); }

// Streams with what the L2 lacks of them: what is read from memory over what is asked for.
std::vector<TileStream> streams_of(const Tiling& t, const Sharers& sharers) {
  const double turns = t.blocking.blocks * static_cast<double>(t.steps);
  const ColdShares cold = gemm_cold_shares(t.shape, t.device);
  const OperandBytes traffic = gemm_operand_traffic(t.blocking, t.shape, t.device);
  const auto missed = [&](double read, std::int64_t bytes, double fill, double shared_by) {
    return std::min(1.0, read / (turns * static_cast<double>(bytes) * fill / shared_by));
  };
  return {{"A", missed(traffic.a * cold.a, t.a_bytes, a_fill(t), sharers.a), sharers.a, true},
          {"B", missed(traffic.b * cold.b, t.b_bytes, b_fill(t), sharers.b), sharers.b, true},
          {"C", t.blocking.parts > 1 ? 0 : cold.c, 1, true},
          {"parameters", 0, 1}};
}

KernelProgram base(const Tiling& t, const char* how) {
  KernelProgram program;
  program.name = fmt::format("gemm {} x {}{}, {}", t.m, t.n,
                             t.blocking.parts > 1 ? fmt::format(" in {} parts", t.blocking.parts) : "", how);
  program.type = product_type(t.shape);
  program.flops = Flops(gemm_flops(t.shape));
  program.footprint = bytes_of({t.shape.batch, t.shape.m, t.shape.k}, t.shape.input) +
                      bytes_of({t.shape.batch, t.shape.k, t.shape.n}, weight_type(t.shape));
  program.blocks = {{static_cast<std::int64_t>(t.blocking.blocks), 1}};
  return program;
}

Instruction product(const Tiling& t, Op op, std::int64_t m, std::int64_t n, std::int64_t count) {
  return {.op = op,
          .count = count,
          .m = static_cast<int>(m),
          .n = static_cast<int>(n),
          .k = t.depth,
          .type = product_type(t.shape)};
}

// Where the kernel starts: its arguments, `indices` instructions that wait for one another, for the TMA a descriptor.
Code start(std::int64_t indices, bool has_descriptor) {
  const Instruction read{.op = Op::load, .bytes = 64, .stream = parameters, .waits = true};
  Code code;
  code.add(read).add({.op = Op::alu, .count = indices, .waits = true});
  return has_descriptor ? code.add(read) : code;
}
constexpr std::int64_t tma_indices = 60;
constexpr std::int64_t pointer_indices = 150;  // of rows, columns and swizzles, for each operand

// A warp's share of the results, from registers through shared memory to whole lines. `old`: C is read, too.
Code epilogue(const Tiling& t, std::int64_t share, bool reads_old) {
  const std::int64_t elements = t.m * t.n / share / 32;
  Code code;
  if (reads_old) code.load(c, warp_bytes, ceil_div(stored(t) / share, warp_bytes)).use(0);
  code.fma(elements).alu(elements / 2);  // scaled, then converted two at a time
  return code.shared_store(t.c_bytes / share);
}

// One block an SM, for several tiles: the next one's copies begin under the epilogue.
void make_persistent(KernelProgram& program, const Tiling& t) {
  const auto tiles = static_cast<std::int64_t>(t.blocking.blocks);
  const std::int64_t blocks = std::min<std::int64_t>(tiles, t.device.sm.count);
  program.blocks.clear();
  if (tiles % blocks > 0) program.blocks.push_back({tiles % blocks, tiles / blocks + 1});
  program.blocks.push_back({blocks - tiles % blocks, tiles / blocks});
}

// ---- mma: all warps do all --------------------------------------------------------------------------------------

KernelProgram warp_products(const Tiling& given) {
  Tiling t = given;
  const std::int64_t warps = std::clamp<std::int64_t>(t.m * t.n / (64LL * 64), 4, 8);
  const std::int64_t rows = t.m >= t.n ? std::min<std::int64_t>(warps, ceil_div(t.m, 64))
                                       : warps / std::min<std::int64_t>(warps, ceil_div(t.n, 64));
  const std::int64_t warp_rows = std::clamp<std::int64_t>(rows, 1, std::max<std::int64_t>(t.m / 16, 1));
  const std::int64_t wm = std::max<std::int64_t>(t.m / warp_rows, 16);
  const std::int64_t wn = std::max<std::int64_t>(t.n / (warps / warp_rows), 8);
  // Two blocks hide each other's ends; a stage is half as deep where that makes room for them.
  constexpr int enough = 3;
  int blocks = t.m * t.n <= 128LL * 128 ? 2 : 1;
  t.stages = stages_that_fit(t, 0, blocks, 4);
  if (blocks == 2 && t.stages < enough) {
    t.steps *= 2;
    t.a_bytes /= 2;
    t.b_bytes /= 2;
    t.products /= 2;
    t.stages = stages_that_fit(t, 0, blocks, 5);
  }
  enum { full, all };
  KernelProgram program = base(t, "mma");
  const int b_copies = std::max(t.products / 2, 1);
  const int parts = 1 + b_copies;
  program.rings = {{"full", parts * static_cast<int>(warps), parts, 0, 0}, {"all", static_cast<int>(warps), 0, 0, 0}};
  program.streams = streams_of(t, {});
  program.shared_memory = Bytes(t.stages * (t.a_bytes + t.b_bytes));

  const std::int64_t ahead = std::min<std::int64_t>(t.stages - 1, t.steps);
  const auto copy_of = [&](int stream, std::int64_t bytes) {
    return Instruction{
        .op = Op::copy_tile, .bytes = bytes, .ring = full, .stream = stream, .lines = static_cast<double>(bytes) / 128};
  };
  // Copies go between the products, A's with the first one: they share the pipe to shared memory with the fragments.
  std::vector<Code> copies(t.products);
  copies[0].alu(ceil_div(t.a_bytes + t.b_bytes, warps * warp_bytes) + 2);
  copies[0].add(copy_of(a, copied(t.a_bytes / warps, a_fill(t))));
  const std::int64_t b_bytes = copied(t.b_bytes / warps, b_fill(t));
  for (int i = 0; i < b_copies; ++i) copies[t.products - 1 - i].add(copy_of(b, ceil_div(b_bytes, b_copies)));
  Code copy;
  Code multiply;
  Code both;
  for (int i = 0; i < t.products; ++i) {
    const std::int64_t fragments = (wm + wn) * 32;
    const Code one = Code().shared_load(fragments).add(product(t, Op::mma, 16, 8, wm / 16 * (wn / 8)));
    copy.add(copies[i]);
    multiply.add(one);
    both.add(copies[i]).add(one);
  }
  Code code = start(pointer_indices, false);
  for (std::int64_t i = 0; i < ahead; ++i) code.add(copy);
  if (t.steps > ahead) {
    code.main_loop(t.steps - ahead, t.stages).wait(full).sync(all).add(both).end();
  }
  code.loop(ahead).wait(full).add(multiply).end().drain().sync(all);
  code.add(epilogue(t, warps, t.shape.accumulate)).sync(all).shared_load(t.c_bytes / warps, true);
  code.store(c, warp_bytes, ceil_div(stored(t) / warps, warp_bytes));
  const auto registers = std::clamp<std::int64_t>(wm * wn / 32 + 80, 64, 255);
  program.roles = {{"warps", static_cast<int>(warps), static_cast<int>(registers), code.list()}};
  return program;
}

// ---- wgmma: a producer and consumer warp groups ------------------------------------------------------------------

KernelProgram group_products(const Tiling& given) {
  Tiling t = given;
  const std::int64_t groups = t.m <= 192 ? ceil_div(t.m, 64) : 2;
  const std::int64_t instructions = ceil_div(t.m, 64 * groups);  // of 64 rows
  const std::int64_t staged = std::min(t.c_bytes, most_staged);
  t.stages = stages_that_fit(t, staged, 1, 8);
  enum { full, empty, group };
  KernelProgram program = base(t, "wgmma");
  const auto warps = static_cast<int>(4 * groups);
  program.rings = {{"full", 2, 2, 0, 0}, {"empty", warps, 0, 0, t.stages}, {"group", warps, 0, 0, 0}};
  program.streams = streams_of(t, cluster_of_two(t));
  program.shared_memory = Bytes(t.stages * (t.a_bytes + t.b_bytes) + staged);

  make_persistent(program, t);
  Code producer = start(tma_indices, true);
  producer.main_loop(0, 1).main_loop(t.steps, t.stages).wait(empty);
  producer.copy(a, copied(t.a_bytes, a_fill(t)), full).copy(b, copied(t.b_bytes, b_fill(t)), full).end().end();
  Code multiply;
  multiply.add(product(t, Op::wgmma, 64, t.n, t.products * instructions));
  Code consumer = start(tma_indices, false);
  consumer.main_loop(0, 1);
  const bool is_promoted = t.shape.split_accumulator && bits(product_type(t.shape)) == 8;
  if (is_promoted) {
    // The Tensor Core's sums of a stage are scaled and added to those in FP32, by hand.
    const std::int64_t sums = t.m * t.n / warps / 32;
    consumer.main_loop(t.steps, t.stages).wait(full).add(multiply).drain().arrive(empty).fma(sums).end();
  } else {
    consumer.wait(full).add(multiply);
    if (t.steps > 1) {
      consumer.main_loop(t.steps - 1, t.stages).wait(full).add(multiply).drain(1).arrive(empty).end();
    }
    consumer.drain().arrive(empty);
  }
  consumer.add(epilogue(t, 4 * groups, t.shape.accumulate)).sync(group);
  consumer.store_tile(c, stored(t) / warps).end();
  const auto registers = std::clamp<std::int64_t>(t.n * instructions / 2 + 60, 64, 240);
  program.roles = {{"consumer", warps, static_cast<int>(registers), consumer.list()},
                   {"producer", 1, 40, producer.list()}};
  return program;
}

// ---- tcgen05: tensor memory --------------------------------------------------------------------------------------

// Products of 128 rows: a tile that is taller than wide is computed as its transpose.
Tiling lying(const Tiling& t, GemmShape& transposed) {
  if (t.m <= t.n) return t;
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
  const int accumulators = columns * 2 <= t.device.sm.tensor_memory_columns ? 2 : 1;
  // Two SMs of a pair compute tiles above one another: each holds and loads half of B.
  const bool is_pair = t.device.architecture.gemm.multicast > 1 && row_tiles(t) > 1 && t.m >= rows;
  const double b_share = is_pair ? 0.5 : 1;
  t.b_bytes = std::llround(static_cast<double>(t.b_bytes) * b_share);
  const std::int64_t staged = std::min(t.c_bytes / 2, most_staged);
  t.stages = stages_that_fit(t, staged, 1, 8);
  enum { full, empty, result, drained, group };
  KernelProgram program = base(t, "tcgen05");
  constexpr int epilogue_warps = 4;
  program.rings = {{"full", 2, 2, 0, 0},
                   {"empty", 1, 0, 1, t.stages},
                   {"result", 1, 0, 1, 0},
                   {"drained", epilogue_warps, 0, 0, accumulators},
                   {"group", epilogue_warps, 0, 0, 0}};
  // Pairs side by side share A, pairs above one another their half of B.
  const bool has_clusters = t.device.architecture.gemm.multicast > 1;
  program.streams =
      streams_of(t, {has_clusters && column_tiles(t) > 1 ? 2.0 : 1.0, is_pair && row_tiles(t) > 3 ? 2.0 : 1.0});
  program.shared_memory = Bytes(t.stages * (t.a_bytes + t.b_bytes) + staged);
  program.tensor_columns =
      static_cast<int>(std::min<std::int64_t>(columns * accumulators, t.device.sm.tensor_memory_columns));
  make_persistent(program, t);

  Instruction products = product(t, Op::tcgen05, std::min(t.m, rows), t.n, t.products * ceil_div(t.m, rows));
  products.b_share = b_share;
  products.ring = empty;
  Instruction commit = product(t, Op::tcgen05, 0, 0, 1);
  commit.ring = result;
  Code producer = start(tma_indices, true).add({.op = Op::depend});
  producer.main_loop(0, accumulators).main_loop(t.steps, t.stages).wait(empty);
  producer.copy(a, copied(t.a_bytes, a_fill(t)), full).copy(b, copied(t.b_bytes, b_fill(t)), full).end().end();
  Code issuer = start(tma_indices, false);
  issuer.main_loop(0, accumulators).wait(drained).main_loop(t.steps, t.stages).wait(full).add(products).end();
  issuer.add(commit).end();
  Code results = start(tma_indices, true);
  results.main_loop(0, accumulators).wait(result).tensor_load(t.m * t.n * 4 / epilogue_warps).arrive(drained);
  results.add(epilogue(t, epilogue_warps, t.shape.accumulate)).sync(group);
  results.store_tile(c, stored(t) / epilogue_warps).end();
  program.roles = {{"epilogue", epilogue_warps, 168, results.list()},
                   {"producer", 1, 64, producer.list()},
                   {"issuer", 1, 64, issuer.list()}};
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
