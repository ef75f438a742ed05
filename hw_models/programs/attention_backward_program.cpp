// SPDX-License-Identifier: Apache-2.0
// Rows and columns change places: a block keeps keys and values, and the gradient of the queries leaves by atomics.
#include "hw_models/programs/attention_backward_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hw_models/kernels/attention_tiling.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/programs/code.hpp"
#include "hw_models/programs/streaming_program.hpp"
#include "hw_models/programs/tile_parts.hpp"

namespace warploom {

namespace {

// Streams and rings of the main program.
enum { queries, gradients, keys, query_gradients, key_gradients };
enum { kv, q_full, q_empty, all };

class Backward {
 public:
  Backward(const AttentionShape& shape, const DeviceSpec& device)
      : shape_(shape),
        rows_(device.architecture.attention.backward_tile_keys),
        columns_(device.architecture.attention.backward_tile_queries),
        width_(shape.head_dim + value_dim(shape)),
        is_group_(device.architecture.pipeline.tensor_unit != TensorUnit::mma &&
                  device.architecture.attention.is_pipelined),
        cold_(1 - share_in_l2(shape, device)) {
    // SMs with less shared memory have tiles of fewer queries, then of fewer keys.
    constexpr std::int64_t least = 16;
    while (shared_bytes() + reserved_shared_memory > device.sm.shared_memory.count() && rows_ > least) {
      (columns_ > least ? columns_ : rows_) /= 2;
    }
    sweep_.rows = as_double(shape.kv_length);
    sweep_.columns = as_double(shape.query_length);
    sweep_.row_tile = as_double(rows_);
    sweep_.column_tile = as_double(columns_);
    sweep_.causal = shape.causal;
    sweep_.window = as_double(shape.window);
    steps_ = steps_of(sweep_);
    heads_ = as_double(shape.batch * shape.query_heads);
  }

  KernelProgram main() const {
    KernelProgram program;
    program.name = fmt::format("attention backward {} x {}", rows_, columns_);
    program.type = shape_.type;
    program.flops = attention_flops(shape_);
    const AttentionTraffic traffic = attention_traffic(shape_);
    program.footprint = traffic.all - traffic.aside;
    for (double block = steps_.blocks - 1; block >= 0; --block) {
      const auto turns = std::llround(steps_of_block(sweep_, block));
      if (!program.blocks.empty() && program.blocks.back().turns == turns) {
        program.blocks.back().blocks += std::llround(heads_);
      } else {
        program.blocks.push_back({std::llround(heads_), turns});
      }
    }
    // Queries and their gradients are read from memory once, and from the L2 by the other blocks of a head.
    const double again = cold_ * steps_.blocks / std::max(steps_.sum, 1.0) * as_double(steps_count());
    const double missed = std::min(1.0, again / steps_.blocks);
    program.streams = {
        {"Q and dO", missed, 1}, {"row sums", 0, 1}, {"K and V", cold_, 1}, {"dQ", missed, 1}, {"dK and dV", cold_, 1}};
    const std::int64_t warps = 8;  // 3 groups where a producer's warps are counted
    program.rings = {{"K and V", 1, 1, 0, 0},
                     {"Q", is_group_ ? 1 : static_cast<int>(warps), 1, 0, 0},
                     {"Q free", static_cast<int>(warps), 0, 0, 2},
                     {"all", static_cast<int>(warps), 0, 0, 0}};
    program.shared_memory = Bytes(shared_bytes());
    program.roles = {{"warps", static_cast<int>(warps), is_group_ ? 232 : 255, consumer(warps).list()}};
    if (is_group_) {
      program.roles.push_back({"producer", 1, 24, producer().list()});
    }
    return program;
  }

  // Row sums of O dO, and zeros for dQ.
  KernelProgram before() const {
    const std::int64_t elements = shape_.batch * shape_.query_heads * shape_.query_length * value_dim(shape_);
    StreamingPass pass;
    pass.reads = {{"O", bits(shape_.type) / 8.0, cold_}, {"dO", bits(shape_.type) / 8.0, cold_}};
    pass.writes = {{"dQ", 4, cold_}};
    pass.work = {1, 1, 0};  // both widened
    pass.vector = 8;
    return streaming_program(flat_kernel("row sums of O dO", elements, 256, pass));
  }

  // dQ in fp32, to the type.
  KernelProgram after() const {
    const std::int64_t elements = shape_.batch * shape_.query_heads * shape_.query_length * shape_.head_dim;
    StreamingPass pass;
    pass.reads = {{"dQ", 4, cold_}};
    pass.writes = {{"dQ of the type", bits(shape_.type) / 8.0, cold_}};
    pass.work = {1, 0.5, 0};
    pass.vector = 8;
    return streaming_program(flat_kernel("conversion of dQ", elements, 256, pass));
  }

 private:
  // Keys and values, two stages of queries, their gradients, scores and their gradients.
  std::int64_t shared_bytes() const {
    const std::int64_t values = rows_ * width_ + 3 * columns_ * shape_.head_dim + 2 * rows_ * columns_;
    return values * bits(shape_.type) / 8;
  }
  std::int64_t steps_count() const { return ceil_div(shape_.query_length, columns_); }
  std::int64_t step_bytes() const { return columns_ * width_ * bits(shape_.type) / 8; }
  int depth() const { return 256 / bits(shape_.type); }

  // Five products: two with d (or v) as their k, one of the scores' size for each gradient.
  Instruction product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t warps) const {
    Instruction what{.op = is_group_ ? Op::wgmma : Op::mma, .k = depth(), .type = shape_.type};
    if (is_group_) {
      what.m = 64;
      what.n = static_cast<int>(std::min<std::int64_t>(n, 256));
      what.count = std::max<std::int64_t>(m * n * k / (std::int64_t{64} * what.n * depth() * (warps / 4)), 1);
    } else {
      what.m = 16;
      what.n = 8;
      what.count = std::max<std::int64_t>(m * n * k / (std::int64_t{16 * 8} * depth() * warps), 1);
    }
    return what;
  }

  // Operands of a product by warps: each of `warps` reads its rows of A and its columns of B.
  void multiply(Code& code, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t warps) const {
    if (!is_group_) {
      const std::int64_t grid = warps / 2;  // of the tile: that many by two
      code.shared_load((m / grid + n / 2) * k * bits(shape_.type) / 8, true);
    }
    code.add(product(m, n, k, warps));
  }

  Code copy_step(std::int64_t warps) const {
    const std::int64_t own = std::max<std::int64_t>(step_bytes() / warps, 1);
    Code code;
    if (!is_group_) code.alu(ceil_div(own, warp_bytes));
    return code.copy(queries, own, q_full).load(gradients, std::max<std::int64_t>(columns_ * 8 / warps, 1));
  }

  Code producer() const {
    Code code;
    const std::int64_t stationary = rows_ * width_ * bits(shape_.type) / 8;
    code.alu(60).copy(keys, stationary, kv).main_loop(0, 2).wait(q_empty).copy(queries, step_bytes(), q_full);
    return code.end();
  }

  Code consumer(std::int64_t warps) const {
    const std::int64_t scores = rows_ * columns_ / (32 * warps);
    const std::int64_t d = shape_.head_dim;
    const std::int64_t v = value_dim(shape_);
    const std::int64_t stationary = rows_ * width_ * bits(shape_.type) / 8;
    Code code;
    code.alu(100);
    if (!is_group_) code.load(keys, std::max<std::int64_t>(stationary / warps, 1)).use().add(copy_step(warps));
    if (is_group_) code.wait(kv);
    code.main_loop(0, 2).wait(q_full);
    multiply(code, rows_, columns_, d, warps);       // scores
    multiply(code, rows_, columns_, v, warps);       // their gradients
    code.drain().mixed(scores, 3 * scores, scores);  // exp(s - l), times (dp - row sum); both converted
    code.shared_store(2 * scores * 32 * 2).sync(all);
    multiply(code, rows_, v, columns_, warps);  // dV
    multiply(code, columns_, d, rows_, warps);  // dQ
    code.drain(is_group_ ? 1 : 0);
    multiply(code, rows_, d, columns_, warps);  // dK
    if (is_group_) code.arrive(q_empty);
    if (!is_group_) code.sync(all).add(copy_step(warps));
    // Atomic additions in fp32, whole lines at a time.
    const std::int64_t sums = columns_ * d * 4 / warps;
    code.store(query_gradients, warp_bytes, std::max<std::int64_t>(sums / warp_bytes, 1)).drain().end();
    const std::int64_t results = stationary / warps;
    code.drain().alu(results / 64).shared_store(results).sync(all).shared_load(results, true);
    return code.store(key_gradients, warp_bytes, std::max<std::int64_t>(results / warp_bytes, 1));
  }

  const AttentionShape& shape_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t width_;
  bool is_group_;
  double cold_;
  Sweep sweep_;
  Steps steps_;
  double heads_ = 0;
};

}  // namespace

std::vector<KernelProgram> attention_backward_programs(const AttentionShape& shape, const DeviceSpec& device) {
  const Backward backward(shape, device);
  return {backward.before(), backward.main(), backward.after()};
}

}  // namespace warploom
