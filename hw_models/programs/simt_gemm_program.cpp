// SPDX-License-Identifier: Apache-2.0
// The shape of cuBLAS's sgemm kernels (github.com/NervanaSystems/maxas, wiki SGEMM; CUTLASS's SIMT kernels).
//
// Each thread has r x c sums. A stage is 8 values of k of both operands in shared memory. In the kernels up to Ampere's
// the next stage is on its way in registers while the outer products of this one are computed; then it is stored to the
// other buffer, and the block's threads meet. In those that Hopper runs (sm80_xmma_..._stage3_..._aligna4_alignc4)
// cp.async brings it, 4 bytes a lane, as results leave. Fragments for the next k are loaded beside the products of this
// one. Where the library slices k, stages are four times as deep, four groups of threads take a quarter of each and add
// their sums at the end.
//
// Rows along k give 32 bytes a stage: each is an access of its own to the L1, which shares its pipe with shared memory.
#include "hw_models/programs/simt_gemm_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hw_models/kernels/gemm_blocking.hpp"
#include "hw_models/kernels/simt_blocking.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/programs/code.hpp"

namespace warploom {

namespace {

enum Streams { a, b, c };
enum Rings { all, full };

constexpr std::int64_t group_depth = 8;  // values of k that a thread multiplies a stage
constexpr std::int64_t line_values = 32;
constexpr std::int64_t groups = 4;  // of threads where k is sliced
constexpr int buffers = 2;
constexpr int async_stages = 3;
constexpr std::int64_t lane_bytes = 4;           // of cp.async and of stores, where a kernel assumes no more alignment
constexpr std::int64_t other_instructions = 12;  // of a stage: addresses, counter, branch, barrier
constexpr std::int64_t vector = 4;               // values of a load
// A warp lies 4 x 8 over its sums: loads of 16 B a lane touch 64 B of one operand, in two accesses, or 128 B of the
// other, in four: a quarter of a warp each. What is moved, of 128 B an access.
constexpr std::int64_t fragment_bytes = 3 * 128;

std::int64_t up(double value) { return static_cast<std::int64_t>(std::ceil(value - 1e-9)); }

struct Warp {
  double results;      // of a thread
  double fragments;    // values of a thread and k: r + c
  std::int64_t depth;  // values of k a stage
  double staged;       // values of both operands that it moves a stage
};

Warp warp_of(const SimtBlock& block) {
  Warp warp{};
  warp.results = block.thread_results();
  warp.fragments = warp.results * block.loads_a_result();
  warp.depth = block.sliced ? group_depth * groups : group_depth;
  warp.staged = static_cast<double>((block.tile.m + block.tile.n) * warp.depth) / block.warps();
  return warp;
}

std::vector<TileStream> streams_of(const SimtBlock& block, double blocks, const GemmShape& shape,
                                   const DeviceSpec& device) {
  const OperandBytes traffic = gemm_operand_traffic(gemm_blocking(block.tile, block.parts, shape), shape, device);
  const double depth = as_double(shape.k) / block.parts * 4;
  const auto missed = [&](double read, int rows) { return std::min(1.0, read / (blocks * depth * rows)); };
  return {{"A", missed(traffic.a, block.tile.m), 1}, {"B", missed(traffic.b, block.tile.n), 1}, {"C", 1, 1}};
}

// B lies k x n, or n x k where it is transposed: of rows along k a stage takes 32 bytes of each, a line's access.
Code stage_load(const SimtBlock& block, const Warp& warp, bool is_transposed) {
  const double a_share = static_cast<double>(block.tile.m) / (block.tile.m + block.tile.n);
  const auto load = [&](int stream, double share, bool is_along_k) {
    const double values = warp.staged * share;
    return Instruction{.op = Op::load,
                       .bytes = std::max<std::int64_t>(std::llround(values * 4), 1),
                       .stream = stream,
                       .lines = is_along_k ? values / static_cast<double>(std::min(warp.depth, line_values)) : 0};
  };
  return Code().add(load(a, a_share, true)).add(load(b, 1 - a_share, is_transposed)).alu(up(warp.staged / 32 / vector));
}

// The same by cp.async, 4 bytes a lane: each row's 32 bytes are asked for by 8 lanes.
Code stage_copy(const SimtBlock& block, const Warp& warp, bool is_transposed) {
  const double a_share = static_cast<double>(block.tile.m) / (block.tile.m + block.tile.n);
  const auto copy = [&](int stream, double share, bool is_along_k) {
    const std::int64_t copies = up(warp.staged * share / 32);
    const double rows = is_along_k ? static_cast<double>(line_values) / static_cast<double>(warp.depth) : 1;
    constexpr double written = 1;  // an access to shared memory
    return Code()
        .add({.op = Op::copy_tile,
              .count = copies,
              .bytes = 32 * lane_bytes,
              .ring = full,
              .stream = stream,
              .lines = rows + written})
        .alu(copies);
  };
  return copy(a, a_share, true).add(copy(b, 1 - a_share, is_transposed));
}

Code products(const Warp& warp) {
  Code code;
  for (std::int64_t k = 0; k < group_depth; k += 2) {
    const std::int64_t loads = up(2 * warp.fragments / vector);
    code.add({.op = Op::shared_load, .count = loads, .bytes = fragment_bytes}).fma(up(2 * warp.results));
  }
  return code;
}

Code register_stages_of(const SimtBlock& block, const Warp& warp, const GemmShape& shape, std::int64_t stages) {
  const Code load = stage_load(block, warp, shape.is_transposed);
  const Code multiply = products(warp);
  // [guessed] lanes with values of the same row and others of k meet in a bank: 4 of them where a stage is a line deep.
  const double conflict = block.sliced ? 4 : 1;
  const Instruction transpose{.op = Op::shared_store,
                              .count = up(warp.staged / static_cast<double>(line_values)),
                              .bytes = line_values * 4,
                              .conflict = conflict};
  const Code keep = Code().use(0).add(transpose).sync(all);
  Code code = Code().add(load).add(keep);
  if (stages > 1) {
    code.main_loop(stages - 1, buffers).add(load).alu(other_instructions).add(multiply).add(keep).end();
  }
  return code.add(multiply);
}

Code async_stages_of(const SimtBlock& block, const Warp& warp, const GemmShape& shape, std::int64_t stages) {
  const Code copy = stage_copy(block, warp, shape.is_transposed);
  const Code multiply = products(warp);
  const std::int64_t ahead = std::min<std::int64_t>(async_stages - 1, stages);
  Code code;
  for (std::int64_t i = 0; i < ahead; ++i) code.add(copy);
  if (stages > ahead) {
    code.main_loop(stages - ahead, async_stages).wait(full).sync(all).add(copy);
    code.alu(other_instructions).add(multiply).end();
  }
  return code.loop(ahead).wait(full).add(multiply).end();
}

// Stores of `values` a lane: a warp lies 8 x 4 over the results, so that one of a value a lane touches 4 lines.
Code epilogue(std::int64_t results, std::int64_t values, bool reads_old) {
  constexpr double columns = 4;
  const std::int64_t stores = ceil_div(results, values);
  const auto move = [&](Op op) {
    return Instruction{.op = op, .count = stores, .bytes = 32 * lane_bytes * values, .stream = c, .lines = columns};
  };
  Code code;
  if (reads_old) code.add(move(Op::load)).use(0);
  return code.fma(results).alu(stores * 2).add(move(Op::store));
}

}  // namespace

KernelProgram simt_gemm_program(const GemmShape& shape, const DeviceSpec& device) {
  constexpr double most_registers = 255;
  const SimtBlock block = choose_simt_block(shape, device);
  const double blocks = simt_blocks(block, shape);
  const Warp warp = warp_of(block);
  const auto warps = static_cast<int>(block.warps());
  KernelProgram program;
  program.name = fmt::format("FP32 gemm {} x {}, {} threads{}", block.tile.m, block.tile.n, block.threads,
                             block.sliced ? ", sliced" : "");
  const bool is_async = device.architecture.pipeline.tensor_unit != TensorUnit::mma;  // Hopper's library and later ones
  program.rings = {{"block", warps, 0, 0, 0}, {"full", 2 * warps, 2, 0, 0}};
  program.streams = streams_of(block, blocks, shape, device);
  program.blocks = {{static_cast<std::int64_t>(blocks), 1}};
  program.type = DataType::fp32;
  program.shared_memory = Bytes((is_async ? async_stages : buffers) * warp.depth * 4 * (block.tile.m + block.tile.n));
  program.footprint = bytes_of({shape.batch, shape.m, shape.k}, DataType::fp32) +
                      bytes_of({shape.batch, shape.k, shape.n}, DataType::fp32);

  const std::int64_t stages =
      std::max<std::int64_t>(up(as_double(shape.k) / block.parts / static_cast<double>(warp.depth)), 1);
  Code code = Code().alu(other_instructions * 4);
  code.add(is_async ? async_stages_of(block, warp, shape, stages) : register_stages_of(block, warp, shape, stages));
  double results = warp.results;
  if (block.sliced) {  // sums of the groups through shared memory
    code.shared_store(up(results) * 128).sync(all).shared_load(up(results) * 128, true).fma(up(results));
    results /= groups;
  }
  code.add(epilogue(up(results), is_async ? 1 : vector, shape.accumulate || block.parts > 1));
  constexpr double others = 24;  // addresses and counters, beside sums, two sets of fragments and the next stage
  const double next = is_async ? 0 : warp.staged / 32;
  const double registers = 8 * std::ceil((warp.results + 2 * warp.fragments + next + others) / 8);
  program.roles = {{"warps", warps, static_cast<int>(std::min(most_registers, registers)), code.list()}};
  return program;
}

}  // namespace warploom
