// SPDX-License-Identifier: Apache-2.0
// Three shapes of the products, as in gemm_program.cpp; see the header.
#include "hw_models/programs/serving_gemm_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/programs/streaming_program.hpp"
#include "hw_models/programs/tile_parts.hpp"

namespace warploom {

namespace {

enum Streams { a, b, c, parameters };

// One tile of one SM, and how many of them there are.
struct Tiling {
  const GemmShape& shape;
  const DeviceSpec& device;
  const ServingGemmKernel& kernel;
  DataType type{};
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t tiles = 1;  // of the whole product, empty ones of a cluster included
  std::int64_t steps = 1;
  std::int64_t a_bytes = 0;  // of a stage, scales included
  std::int64_t b_bytes = 0;
  std::int64_t c_bytes = 0;  // of a tile's results
  int depth = 0;             // k of one product
  int products = 0;          // of that depth a stage
  double a_fill = 1;         // share of the rows that there are: others are not read
  double b_fill = 1;
};

// A byte for 16 values of four bits, which travels with them.
double with_scales(DataType type) { return bits(type) < 8 ? 1.125 : 1; }

Tiling tiling_of(const ServingGemmKernel& kernel, const GemmShape& shape, const DeviceSpec& device) {
  Tiling t{.shape = shape, .device = device, .kernel = kernel};
  t.type = product_type(shape);
  t.m = kernel.tile.m;
  t.n = kernel.tile.n;
  const TileCounts counts = serving_gemm_tiles(kernel, shape);
  t.tiles = std::llround(as_double(shape.batch) * counts.rows * counts.columns);
  const double widest = bits(t.type);
  const auto depth_of_a_step = static_cast<std::int64_t>(kernel.step_bytes * 8 / bits(t.type));
  t.steps = std::max<std::int64_t>(ceil_div(shape.k, depth_of_a_step), 1);
  const auto stage = [&](std::int64_t rows, DataType type) {
    return std::llround(as_double(rows) * kernel.step_bytes * bits(type) / widest * with_scales(type));
  };
  t.a_bytes = stage(t.m, shape.input);
  t.b_bytes = stage(t.n, weight_type(shape)) / (kernel.is_pair ? 2 : 1);
  t.c_bytes = std::llround(as_double(t.m * t.n) * bits(shape.output) / 8.0);
  t.depth = static_cast<int>(product_bytes * 8 / bits(t.type));
  t.products = static_cast<int>(kernel.step_bytes / product_bytes);
  t.a_fill = as_double(shape.m) / (counts.rows * as_double(t.m));
  t.b_fill = as_double(shape.n) / (counts.columns * as_double(t.n));
  return t;
}

int stages_that_fit(const Tiling& t, std::int64_t beside) {
  constexpr std::int64_t most = 16;
  if (t.kernel.stages > 0) return t.kernel.stages;
  const std::int64_t room = t.device.sm.shared_memory.count() - reserved_shared_memory - beside;
  // DeepGEMM unrolls stages where a tile's columns cut blocks of scales unevenly: with few pieces, four at most.
  constexpr std::int64_t block = 128;
  constexpr std::int64_t few = 4;
  const bool is_unrolled = t.kernel.promotes && block % t.n != 0 && block / std::gcd(t.n, block) <= few;
  return static_cast<int>(std::clamp<std::int64_t>(room / (t.a_bytes + t.b_bytes), 2, is_unrolled ? few : most));
}

KernelProgram base(const Tiling& t, std::string_view how) {
  KernelProgram program;
  program.name = fmt::format("gemm {} x {}, {}", t.m, t.n, how);
  program.type = t.type;
  program.flops = Flops(gemm_flops(t.shape));
  program.footprint = bytes_of({t.shape.batch, t.shape.m, t.shape.k}, t.shape.input) +
                      bytes_of({t.shape.batch, t.shape.k, t.shape.n}, weight_type(t.shape));
  // What is read from memory, over what is asked of the L2.
  const ColdShares cold = serving_gemm_cold_shares(t.shape, t.device);
  const OperandBytes traffic = serving_gemm_traffic(t.kernel, t.shape, t.device);
  const double turns = static_cast<double>(t.tiles) * static_cast<double>(t.steps);
  const auto missed = [&](double once, double cold_share, double read, std::int64_t bytes, double fill,
                          double sharers) {
    const double from_memory = once * cold_share + std::max(read - once, 0.0);
    return std::min(1.0, from_memory / (turns * static_cast<double>(bytes) * fill / sharers));
  };
  const double a_once =
      program.footprint.count() == 0 ? 0 : as_double(t.shape.batch * t.shape.m * t.shape.k) * bits(t.shape.input) / 8.0;
  const double b_once = as_double(t.shape.batch * t.shape.n * t.shape.k) * bits(weight_type(t.shape)) / 8.0;
  const double b_sharers = t.kernel.cluster_m / (t.kernel.is_pair ? 2.0 : 1.0);
  program.streams = {{"A", missed(a_once, cold.a, traffic.a, t.a_bytes, t.a_fill, t.kernel.cluster_n),
                      static_cast<double>(t.kernel.cluster_n), true},
                     {"B", missed(b_once, cold.b, traffic.b, t.b_bytes, t.b_fill, b_sharers), b_sharers, true},
                     {"C", cold.c, 1, true},
                     {"parameters", 0, 1}};
  return program;
}

Instruction product(const Tiling& t, Op op, std::int64_t m, std::int64_t n, std::int64_t count) {
  return {.op = op, .count = count, .m = static_cast<int>(m), .n = static_cast<int>(n), .k = t.depth, .type = t.type};
}

// A warp's share of the results: times the scales of its row and column, converted two at a time, to shared memory.
Code epilogue(const Tiling& t, std::int64_t share) {
  const std::int64_t elements = ceil_div(t.m * t.n, share * 32);
  Code code;
  code.load(parameters, wavefront, 2).use(0).fma(2 * elements).alu(ceil_div(elements, 2));
  return code.shared_store(t.c_bytes / share);
}

// Tiles of the busiest SM; SMs that share reads are whole clusters.
std::int64_t hand_out(KernelProgram& program, const Tiling& t) {
  if (!t.kernel.is_persistent) {
    program.blocks = {{t.tiles, 1}};
    return 1;
  }
  const std::int64_t cluster = std::int64_t{t.kernel.cluster_m} * t.kernel.cluster_n;
  const std::int64_t sms = std::max<std::int64_t>(t.device.sm.count / cluster * cluster, 1);
  program.blocks = persistent_blocks(t.tiles, sms);
  return program.blocks.front().turns;
}

// ---- mma ----------------------------------------------------------------------------------------------------------

KernelProgram warp_products(const ServingGemmKernel& kernel, const Tiling& t) {
  const std::int64_t slices = kernel.warps_along_k;
  const std::int64_t wm = kernel.warp_tile.m;
  const std::int64_t wn = kernel.warp_tile.n;
  const std::int64_t warps = ceil_div(t.m, wm) * ceil_div(t.n, wn) * slices;
  const int stages = stages_that_fit(t, 0);
  enum { full, all };
  KernelProgram program = base(t, "mma");
  program.rings = {{"full", static_cast<int>(2 * warps), 2, 0, 0}, {"all", static_cast<int>(warps), 0, 0, 0}};
  program.shared_memory = Bytes(stages * (t.a_bytes + t.b_bytes));
  hand_out(program, t);

  const std::int64_t ahead = std::min<std::int64_t>(stages - 1, t.steps);
  Code copy;
  copy.alu(ceil_div(t.a_bytes + t.b_bytes, warps * warp_bytes) + 2);
  copy.copy(a, filled(t.a_bytes / warps, t.a_fill), full).copy(b, filled(t.b_bytes / warps, t.b_fill), full);
  Code multiply;
  for (std::int64_t i = 0; i < std::max<std::int64_t>(t.products / slices, 1); ++i) {
    multiply.shared_load((wm + wn) * product_bytes).add(product(t, Op::mma, 16, 8, wm / 16 * (wn / 8)));
  }
  Code code = kernel_start(parameters, pointer_indices, false);
  for (std::int64_t i = 0; i < ahead; ++i) code.add(copy);
  if (t.steps > ahead) {
    code.main_loop(t.steps - ahead, stages).wait(full).sync(all).add(copy).add(multiply).end();
  }
  code.loop(ahead).wait(full).add(multiply).end().drain().sync(all);
  // Sums of warps along k meet in shared memory.
  if (slices > 1) code.shared_store(t.m * t.n * 4 / warps).sync(all).shared_load(t.m * t.n * 4 * slices / warps, true);
  code.add(epilogue(t, warps)).sync(all).shared_load(t.c_bytes / warps, true);
  code.store(c, warp_bytes, ceil_div(t.c_bytes / warps, warp_bytes));
  const auto registers = std::clamp<std::int64_t>(wm * wn / 32 + 64, 64, 255);
  program.roles = {{"warps", static_cast<int>(warps), static_cast<int>(registers), code.list()}};
  return program;
}

// ---- wgmma --------------------------------------------------------------------------------------------------------

// Products of one stage and what goes with it, over `steps` stages.
Code products_of_tile(const Tiling& t, int full, int empty, std::int64_t rows_of_64, std::int64_t warps, int stages) {
  Code code;
  const auto multiply_by = [&](std::int64_t count) {
    Instruction multiply = product(t, Op::wgmma, 64, t.n, count);
    multiply.bytes = (t.a_bytes + t.b_bytes) / (t.products * rows_of_64 * (warps / 4));
    return multiply;
  };
  if (t.kernel.promotes) {
    // Scales of rows and columns from shared memory; sums of the stage are scaled and added to those in FP32 by hand,
    // 64 rows after the other.
    const std::int64_t sums = t.m * t.n / warps / 32 / rows_of_64;
    // Descriptors into uniform registers, fences before and after: each waits for the one before.
    const Instruction fences{.op = Op::alu, .count = 24, .waits = true};
    code.main_loop(t.steps, stages).wait(full).shared_load(2 * wavefront, true).add(fences);
    for (std::int64_t i = 0; i < rows_of_64; ++i) {
      code.add(multiply_by(t.products)).drain();
      if (i + 1 == rows_of_64) code.arrive(empty);
      code.fma(sums + 2);
    }
    return code.end();
  }
  const Instruction multiply = multiply_by(t.products * rows_of_64);
  code.wait(full).add(multiply);
  if (t.steps > 1) code.main_loop(t.steps - 1, stages).wait(full).add(multiply).drain(1).arrive(empty).end();
  return code.drain().arrive(empty);
}

KernelProgram group_products(const ServingGemmKernel& kernel, const Tiling& t) {
  constexpr int most_groups = 2;
  const std::int64_t sharing = kernel.takes_turns ? 1 : std::min<std::int64_t>(ceil_div(t.m, 64), most_groups);
  const std::int64_t rows_of_64 = ceil_div(t.m, 64 * sharing);
  const std::int64_t staged = std::min(t.c_bytes, most_staged);
  const int stages = stages_that_fit(t, staged);
  const auto warps = static_cast<int>(4 * sharing);
  KernelProgram program = base(t, kernel.promotes ? "wgmma, promoted" : "wgmma");
  program.shared_memory = Bytes(stages * (t.a_bytes + t.b_bytes) + staged);
  const std::int64_t most = hand_out(program, t);
  const int sets = kernel.takes_turns && most > 1 ? 2 : 1;  // of warp groups with tiles of their own

  Code producer = kernel_start(parameters, tma_indices, true);
  std::vector<Code> consumers(sets);
  for (int set = 0; set < sets; ++set) {
    program.rings.push_back({fmt::format("full {}", set), 2, 2, 0, 0});
    program.rings.push_back({fmt::format("empty {}", set), warps, 0, 0, stages});
    program.rings.push_back({fmt::format("group {}", set), warps, 0, 0, 0});
  }
  const auto load_tile = [&](int set) {
    producer.main_loop(t.steps, stages).wait(3 * set + 1);
    producer.copy(a, filled(t.a_bytes, t.a_fill), 3 * set).copy(b, filled(t.b_bytes, t.b_fill), 3 * set).end();
  };
  producer.main_loop(std::max<std::int64_t>(most / sets, 1), 1);
  for (int set = 0; set < sets; ++set) load_tile(set);
  producer.end();
  if (sets == 2 && most % 2 == 1) {  // as deep in loops as the others, for steady state
    producer.main_loop(1, 1);
    load_tile(0);
    producer.end();
  }
  for (int set = 0; set < sets; ++set) {
    Code& consumer = consumers[set] = kernel_start(parameters, tma_indices, false);
    consumer.main_loop((most - set + sets - 1) / sets, 1);
    consumer.add(products_of_tile(t, 3 * set, 3 * set + 1, rows_of_64, warps, stages));
    consumer.add(epilogue(t, warps)).sync(3 * set + 2).store_tile(c, t.c_bytes / warps).end();
    const auto registers = std::clamp<std::int64_t>(t.n * rows_of_64 / 2 * (kernel.promotes ? 2 : 1) + 60, 64, 240);
    program.roles.push_back({fmt::format("consumer {}", set), warps, static_cast<int>(registers), consumer.list()});
  }
  program.roles.push_back({"producer", 1, 40, producer.list()});
  return program;
}

// ---- tcgen05 ------------------------------------------------------------------------------------------------------

KernelProgram block_products(const ServingGemmKernel& kernel, const Tiling& t) {
  const int accumulators = t.n * 2 <= t.device.sm.tensor_memory_columns ? 2 : 1;
  const std::int64_t staged = std::min(t.c_bytes, most_staged);
  const int stages = stages_that_fit(t, staged);
  using enum TensorMemoryRing::Place;
  KernelProgram program = base(t, "tcgen05");
  program.rings = tensor_memory_rings(stages, accumulators);
  program.shared_memory = Bytes(stages * (t.a_bytes + t.b_bytes) + staged);
  program.tensor_columns =
      static_cast<int>(std::min<std::int64_t>(t.n * accumulators, t.device.sm.tensor_memory_columns));
  hand_out(program, t);

  Instruction products = product(t, Op::tcgen05, t.m, t.n, t.products);
  products.b_share = kernel.is_pair ? 0.5 : 1;
  // Scales of 16 values are read once more, on their way to tensor memory.
  const double again = bits(t.type) < 8 ? with_scales(t.type) - 1 : 0;
  products.bytes = std::llround(static_cast<double>(t.a_bytes + t.b_bytes) * (1 + again)) / t.products;
  products.ring = empty;
  const Instruction commit = commit_to(result, t.type, t.depth);
  // [guessed] clusters meet before the first copy, once their barriers and tensor memory are there: two round trips.
  Code producer = kernel_start(parameters, tma_indices, true);
  if (kernel.cluster_m * kernel.cluster_n > 1) {
    producer.add(parameter_read(parameters)).add(parameter_read(parameters));
  }
  producer.main_loop(0, accumulators).main_loop(t.steps, stages).wait(empty);
  producer.copy(a, filled(t.a_bytes, t.a_fill), full).copy(b, filled(t.b_bytes, t.b_fill), full).end().end();
  Code issuer = kernel_start(parameters, tma_indices, false);
  issuer.main_loop(0, accumulators).wait(drained).main_loop(t.steps, stages).wait(full);
  issuer.add(products).end().add(commit).end();
  Code results = kernel_start(parameters, tma_indices, true);
  // A part of 32 columns after the other: out of tensor memory, scaled, to shared memory, on its way.
  constexpr std::int64_t part_columns = 32;
  const std::int64_t parts = ceil_div(t.n, part_columns);
  const std::int64_t elements = ceil_div(t.m * t.n, epilogue_warps * 32 * parts);
  results.main_loop(0, accumulators).wait(result).load(parameters, wavefront, 2).use(0).loop(parts);
  results.tensor_load(t.m * t.n * 4 / epilogue_warps / parts).fma(2 * elements).alu(ceil_div(elements, 2));
  results.shared_store(t.c_bytes / epilogue_warps / parts).sync(group);
  results.store_tile(c, t.c_bytes / epilogue_warps / parts).end().arrive(drained).end();
  program.roles = tensor_memory_roles(results, producer, issuer);
  return program;
}

// ---- Scales -------------------------------------------------------------------------------------------------------

// PyTorch's arange, its division by 128, the gathering of rows by it, and DeepGEMM's packing of four scales to a word
// (csrc/apis/layout.hpp, transform_sf_into_required_layout).
std::vector<KernelProgram> packing(const GemmShape& shape) {
  constexpr int threads = 128;
  constexpr std::int64_t block = 128;
  const std::int64_t scales = shape.n * ceil_div(shape.k, block);
  const auto pass = [](double read, double written, int vector) {
    StreamingPass one;
    if (read > 0) one.reads = {{"in", read, 0}};
    one.writes = {{"out", written, 0}};
    one.work = {0, 4, 0};
    one.vector = vector;
    return one;
  };
  const auto flat = [&](const char* name, std::int64_t elements, const StreamingPass& one) {
    return streaming_program(flat_kernel(name, elements, threads, one));
  };
  // A block an index (IndexKernelUtils.cu, vectorized_gather_kernel).
  StreamingShape gather{.name = "index select", .blocks = shape.n, .threads = 32};
  gather.elements = as_double(ceil_div(shape.k, block));
  gather.lookups = 1;
  gather.passes = {pass(4, 4, 4)};
  return {flat("arange", shape.n, pass(0, 8, 2)), flat("floor divide", shape.n, pass(8, 8, 4)),
          streaming_program(gather), flat("pack scales", scales, pass(4, 1, 4))};
}

}  // namespace

KernelProgram serving_product(const ServingGemmKernel& kernel, const GemmShape& shape, const DeviceSpec& device) {
  const Tiling t = tiling_of(kernel, shape, device);
  if (kernel.warp_tile.m > 0) return warp_products(kernel, t);
  return device.architecture.pipeline.tensor_unit == TensorUnit::tcgen05 ? block_products(kernel, t)
                                                                         : group_products(kernel, t);
}

std::vector<KernelProgram> serving_gemm_programs(const GemmShape& shape, const DeviceSpec& device) {
  std::vector<KernelProgram> programs;
  const bool has_packed_scales = device.architecture.pipeline.tensor_unit == TensorUnit::tcgen05;
  if (shape.split_accumulator && has_packed_scales && shape.is_warm) programs = packing(shape);
  programs.push_back(serving_product(serving_gemm_kernel(shape, device), shape, device));
  return programs;
}

}  // namespace warploom
