// SPDX-License-Identifier: Apache-2.0
// Bytes, stages, streams and ends of a tile.
#include "hw_models/programs/gemm_pieces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hw_models/kernels/tensor_bytes.hpp"
#include "sim/core/errors.hpp"

namespace warploom::gemm_pieces {

Tiling tiling(const GemmShape& shape, const GemmBlocking& blocking, const DeviceSpec& device) {
  const double widest = bits(product_type(shape));
  Tiling t{.shape = shape, .device = device, .blocking = blocking};
  t.m = blocking.tile.m;
  t.n = blocking.tile.n;
  t.steps = std::max<std::int64_t>(static_cast<std::int64_t>(blocking.steps), 1);
  const auto stage = [&](std::int64_t rows, DataType type) {
    return std::llround(static_cast<double>(rows * gemm_step_bytes) * bits(type) / widest);
  };
  t.a_bytes = stage(t.m, shape.input);
  t.b_bytes = std::llround(static_cast<double>(t.n * gemm_step_bytes) * weight_bits(shape) / widest);
  const double c_width = blocking.parts > 1 ? 4 : bits(shape.output) / 8.0;
  t.c_bytes = std::llround(static_cast<double>(t.m * t.n) * c_width);
  t.depth = static_cast<int>(product_bytes * 8 / bits(product_type(shape)));
  t.products = static_cast<int>(gemm_step_bytes / product_bytes);
  return t;
}

void spread_along_k(Tiling& t, std::int64_t workers, std::int64_t least) {
  if (!t.blocking.is_stream_k) return;
  t.work = stream_k_work(static_cast<std::int64_t>(t.blocking.blocks), t.steps, workers, least);
}

void check_sums(const Tiling& t, std::int64_t threads) {
  constexpr std::int64_t registers = 255;  // of a thread
  constexpr std::int64_t others = 24;      // addresses, counters, operands on their way
  const std::int64_t each = t.m * t.n / threads;
  if (each + others <= registers) return;
  throw UserError(fmt::format("a tile of {} x {} does not fit the registers of {} threads: {} x {} / {} = {} sums a "
                              "thread and {} registers for the rest; it has {}",
                              t.m, t.n, threads, t.m, t.n, threads, each, others, registers),
                  "take a smaller tile");
}

int stages_that_fit(const Tiling& t, std::int64_t beside, int blocks, int most) {
  if (t.blocking.stages > 0) return static_cast<int>(t.blocking.stages);
  const std::int64_t room = t.device.sm.shared_memory.count() / blocks - reserved_shared_memory - beside;
  return static_cast<int>(std::clamp<std::int64_t>(room / (t.a_bytes + t.b_bytes), 2, most));
}

std::int64_t row_tiles(const Tiling& t) { return ceil_div(t.shape.m, t.m); }
std::int64_t column_tiles(const Tiling& t) { return ceil_div(t.shape.n, t.n); }

Sharers cluster_of_two(const Tiling& t) {
  const bool has_clusters = t.device.architecture.gemm.multicast > 1 && t.blocking.cluster != 1;
  const std::int64_t saved_a = has_clusters && column_tiles(t) > 1 ? t.a_bytes : 0;
  const std::int64_t saved_b = has_clusters && row_tiles(t) > 1 ? t.b_bytes : 0;
  if (saved_a + saved_b == 0) return {};
  return saved_b >= saved_a ? Sharers{1, 2} : Sharers{2, 1};
}

double a_fill(const Tiling& t) { return as_double(t.shape.m) / as_double(row_tiles(t) * t.m); }
double b_fill(const Tiling& t) { return as_double(t.shape.n) / as_double(column_tiles(t) * t.n); }
std::int64_t stored(const Tiling& t) { return filled(t.c_bytes, a_fill(t) * b_fill(t)); }

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
          {"parameters", 0, 1},
          {"sums", 0, 1}};
}

KernelProgram base(const Tiling& t, const char* how) {
  KernelProgram program;
  program.name = fmt::format("gemm {} x {}{}, {}", t.m, t.n,
                             t.blocking.parts > 1 ? fmt::format(" in {} parts", t.blocking.parts)
                             : t.work.empty()     ? ""
                                                  : ", stream-K",
                             how);
  program.type = product_type(t.shape);
  program.flops = Flops(gemm_flops(t.shape));
  program.flop_energy = t.shape.is_sparse ? 0.5 : 1;
  program.footprint = bytes_of({t.shape.batch, t.shape.m, t.shape.k}, t.shape.input) + gemm_weight_bytes(t.shape);
  program.blocks = {{static_cast<std::int64_t>(t.blocking.blocks), 1}};
  return program;
}

Instruction product(const Tiling& t, Op op, std::int64_t m, std::int64_t n, std::int64_t count) {
  return {.op = op,
          .count = count,
          .m = static_cast<int>(m),
          .n = static_cast<int>(n),
          .k = t.depth,
          .type = product_type(t.shape),
          .is_sparse = t.shape.is_sparse,
          .b_share = weight_bits(t.shape) / bits(weight_type(t.shape))};
}

Code epilogue(const Tiling& t, std::int64_t share, bool reads_old) {
  const std::int64_t elements = t.m * t.n / share / 32;
  Code code;
  if (reads_old) code.load(c, warp_bytes, ceil_div(stored(t) / share, warp_bytes)).use(0);
  code.fma(elements).alu(elements / 2);  // scaled, then converted two at a time
  return code.shared_store(t.c_bytes / share);
}

Code store_sums(const Tiling& t, std::int64_t share) {
  return Code().store(sums, warp_bytes, ceil_div(t.m * t.n * 4 / share, warp_bytes)).store(sums, 32);
}

Code add_sums(const Tiling& t, std::int64_t share) {
  Code code;
  code.add({.op = Op::load, .bytes = 32, .stream = sums, .waits = true});
  code.load(sums, warp_bytes, ceil_div(t.m * t.n * 4 / share, warp_bytes)).use(0);
  return code.fma(t.m * t.n / share / 32);
}

void make_workers(KernelProgram& program, const Tiling& t, std::int64_t ahead) {
  program.blocks.clear();
  for (const StreamKWork& work : t.work) {
    BlockGroup group;
    group.turns = std::max<std::int64_t>(work.begun - ahead, 0);
    group.more = {work.begun > 0 ? 1 : 0, work.whole, std::max<std::int64_t>(work.finished - ahead, 0),
                  work.finished > 0 ? 1 : 0, work.peers};
    // Of those with as many steps, who ends a tile ends last: sums and results take as long as a few steps.
    group.work = work.begun + work.whole * t.steps + work.finished + (work.begun > 0 ? 1 : 0) +
                 (work.finished > 0 ? 4 + work.peers : 0);
    if (!program.blocks.empty()) {
      BlockGroup& last = program.blocks.back();
      group.blocks = last.blocks;
      if (group == last) {
        ++last.blocks;
        continue;
      }
      group.blocks = 1;
    }
    program.blocks.push_back(group);
  }
}

void make_persistent(KernelProgram& program, const Tiling& t) {
  if (!t.work.empty()) return make_workers(program, t, 0);
  program.blocks = persistent_blocks(static_cast<std::int64_t>(t.blocking.blocks), t.device.sm.count);
}

}  // namespace warploom::gemm_pieces
