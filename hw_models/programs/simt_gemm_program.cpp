// SPDX-License-Identifier: Apache-2.0
// The shape of cuBLAS's sgemm kernels (github.com/NervanaSystems/maxas, wiki SGEMM; CUTLASS's SIMT kernels).
//
// Each thread has r x c sums. A stage is 8 values of k of both operands in shared memory: while its outer products are
// computed, the next one is on its way in registers; then it is stored to the other buffer, and the block's threads
// meet. Fragments for the next k are loaded beside the products of this one. Where the library slices k, four groups
// of threads take a quarter of a stage each and add their sums at the end.
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

constexpr std::int64_t stage_depth = 8;  // values of k
constexpr std::int64_t groups = 4;       // of threads where k is sliced
constexpr int buffers = 2;
constexpr std::int64_t other_instructions = 12;  // of a stage: addresses, counter, branch, barrier
constexpr std::int64_t vector = 4;               // values of a load
// A warp lies 4 x 8 over its sums: loads of 16 B a lane touch 64 or 128 B, in two halves of a warp.
constexpr std::int64_t fragment_bytes = 256;

std::int64_t up(double value) { return static_cast<std::int64_t>(std::ceil(value - 1e-9)); }

struct Warp {
  double results;      // of a thread
  double fragments;    // values of a thread and k: r + c
  std::int64_t depth;  // of a stage that it multiplies
  double staged;       // values of both operands that it moves a stage
};

Warp warp_of(const SimtBlock& block) {
  Warp warp{};
  warp.results = block.thread_results();
  warp.fragments = warp.results * block.loads_a_result();
  warp.depth = block.sliced ? stage_depth / groups : stage_depth;
  warp.staged = static_cast<double>((block.tile.m + block.tile.n) * stage_depth) / block.warps();
  return warp;
}

std::vector<TileStream> streams_of(const SimtBlock& block, double blocks, const GemmShape& shape,
                                   const DeviceSpec& device) {
  const OperandBytes traffic = gemm_operand_traffic(gemm_blocking(block.tile, block.parts, shape), shape, device);
  const double depth = as_double(shape.k) / block.parts * 4;
  const auto missed = [&](double read, int rows) { return std::min(1.0, read / (blocks * depth * rows)); };
  return {{"A", missed(traffic.a, block.tile.m), 1}, {"B", missed(traffic.b, block.tile.n), 1}, {"C", 1, 1}};
}

Code stage_load(const SimtBlock& block, const Warp& warp) {
  const double a_share = static_cast<double>(block.tile.m) / (block.tile.m + block.tile.n);
  const auto bytes = [&](double share) { return std::max<std::int64_t>(std::llround(warp.staged * share * 4), 1); };
  return Code().load(a, bytes(a_share)).load(b, bytes(1 - a_share)).alu(up(warp.staged / 32 / vector));
}

Code products(const Warp& warp) {
  Code code;
  for (std::int64_t k = 0; k < warp.depth; k += 2) {
    const std::int64_t loads = up(2 * warp.fragments / vector);
    code.add({.op = Op::shared_load, .count = loads, .bytes = fragment_bytes}).fma(up(2 * warp.results));
  }
  return code;
}

}  // namespace

KernelProgram simt_gemm_program(const GemmShape& shape, const DeviceSpec& device) {
  constexpr int all = 0;
  constexpr double most_registers = 255;
  const SimtBlock block = choose_simt_block(shape, device);
  const double blocks = simt_blocks(block, shape);
  const Warp warp = warp_of(block);
  const auto warps = static_cast<int>(block.warps());
  KernelProgram program;
  program.name = fmt::format("FP32 gemm {} x {}, {} threads{}", block.tile.m, block.tile.n, block.threads,
                             block.sliced ? ", sliced" : "");
  program.rings = {{"block", warps, 0, 0, 0}};
  program.streams = streams_of(block, blocks, shape, device);
  program.blocks = {{static_cast<std::int64_t>(blocks), 1}};
  program.type = DataType::fp32;
  program.shared_memory = Bytes(buffers * stage_depth * 4 * (block.tile.m + block.tile.n));
  program.footprint = bytes_of({shape.batch, shape.m, shape.k}, DataType::fp32) +
                      bytes_of({shape.batch, shape.k, shape.n}, DataType::fp32);

  const std::int64_t stages = std::max<std::int64_t>(up(as_double(shape.k) / block.parts / stage_depth), 1);
  const Code load = stage_load(block, warp);
  const Code multiply = products(warp);
  const std::int64_t staged = std::llround(warp.staged * 4);
  const Code keep = Code().use(0).shared_store(staged).sync(all);
  Code code = Code().alu(other_instructions * 4).add(load).add(keep);
  if (stages > 1) {
    code.main_loop(stages - 1, buffers).add(load).alu(other_instructions).add(multiply).add(keep).end();
  }
  code.add(multiply);
  double results = warp.results;
  if (block.sliced) {  // sums of the groups through shared memory
    code.shared_store(up(results) * 128).sync(all).shared_load(up(results) * 128, true).fma(up(results));
    results /= groups;
  }
  const std::int64_t stores = up(results / vector);
  if (shape.accumulate || block.parts > 1) code.load(c, 512, stores).use(0);
  code.fma(up(results)).alu(stores * 2).store(c, 512, stores);
  constexpr double others = 32;  // addresses and counters, beside sums and two sets of fragments
  const double registers = 8 * std::ceil((warp.results + 2 * warp.fragments + others) / 8);
  program.roles = {{"warps", warps, static_cast<int>(std::min(most_registers, registers)), code.list()}};
  return program;
}

}  // namespace warploom
