// SPDX-License-Identifier: Apache-2.0
// Kernels of a fused mixture, as serving engines launch them one after another.
//
// A grouped product is one launch whose blocks are the tiles of all experts: as many rows of tiles as the loads need,
// an expert's weights read from memory by the first of its row tiles and found in the L2 by the others. vLLM@v0.17
// (fused_moe.py, moe_align_sum_kernels.cu): scores to weights, one block that counts and sorts assignments by expert,
// product, activation, product, sum over a token's experts; narrow types are quantised before each product. Others
// (CUTLASS and TensorRT-LLM's fused kernels) copy rows together first instead of gathering them.
#include "hw_models/programs/moe_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hw_models/kernels/l2_residency.hpp"
#include "hw_models/kernels/moe.hpp"
#include "hw_models/kernels/moe_loads.hpp"
#include "hw_models/kernels/moe_tiles.hpp"
#include "hw_models/kernels/quantize.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/programs/grouped_product_program.hpp"
#include "hw_models/programs/quantize_program.hpp"
#include "hw_models/programs/streaming_parts.hpp"

namespace warploom {

namespace {

class Mixture {
 public:
  Mixture(const MoeShape& shape, const DeviceSpec& device) : shape_(shape), device_(device), loads_(moe_loads(shape)) {
    const MoeConstants& constants = device.architecture.moe;
    tile_ = moe_tile(shape, loads_.busy > 0 ? loads_.rows / loads_.busy : 1, constants);
    if (constants.kernel == MoeKernel::cutlass_first) tile_.rows = constants.tile_tokens_maximum;
    gathers_ = constants.tile_rule != MoeTileRule::rows;
    is_fused_ = constants.kernel == MoeKernel::trtllm;
    row_tiles_ = std::max<std::int64_t>(std::llround(loads_.tiles(tile_.rows)), 1);
    touched_rows_ = constants.touches_all_rows ? as_double(shape.tokens * shape.top_k) : loads_.rows;
  }

  std::vector<KernelProgram> programs() const {
    const double gates = shape_.is_gated ? 2 : 1;
    const double value = bits(shape_.type) / 8.0;
    const double narrow = bits(shape_.product_type) / 8.0;
    const bool is_narrow = bits(shape_.product_type) < bits(shape_.type);
    const double tokens = as_double(shape_.tokens) * as_double(shape_.hidden);
    const double rows = touched_rows_ * as_double(shape_.hidden);
    const double inner = touched_rows_ * as_double(shape_.intermediate);
    const bool promotes = device_.architecture.moe.promotes;
    std::vector<KernelProgram> list;
    list.push_back(scores());
    list.push_back(sorting());
    list.push_back(placing());
    // vLLM: which of a device's experts an expert of the layer is, by PyTorch's indexing.
    const bool is_shared = shape_.local_experts < shape_.experts;
    if (device_.architecture.moe.kernel == MoeKernel::triton && is_shared) {
      list.push_back(pass("map experts", as_double(shape_.tokens * shape_.top_k + shape_.experts), 12, 4, {0, 20, 0}));
    }
    // [guessed] TRT-LLM: beyond what one cluster of blocks sorts, a histogram and offsets of all blocks.
    constexpr std::int64_t one_cluster = 256;
    if (is_fused_ && shape_.tokens > one_cluster) list.insert(list.end(), {sorting(), placing()});
    if (is_fused_ && promotes) {
      list.push_back(block_scales(as_double(shape_.tokens), shape_.hidden));
      list.push_back(pass("transpose scales", tokens / 128, 4, 4, {0, 4, 0}));
    } else if (is_fused_) {
      if (is_narrow) list.push_back(pass("quantize tokens", tokens, value, narrow, {1, 3, 0}));
    } else if (!gathers_) {
      list.push_back(pass("permute", rows, value, is_narrow && !promotes ? narrow : value, {1, 1, 0}));
      if (promotes) list.push_back(block_scales(touched_rows_, shape_.hidden));
    } else if (is_narrow) {
      list.push_back(pass("quantize tokens", tokens, value, narrow, {1, 3, 0}));
    }
    add_product(list, "gate and up", std::llround(gates) * shape_.intermediate, shape_.hidden);
    // TRT-LLM: with scales of blocks the activation is a kernel of its own, which quantises its results.
    const bool is_narrow_at_once = is_narrow && !gathers_ && !(promotes && !is_fused_);
    if (!is_fused_ || promotes)
      list.push_back(pass("activation", inner, gates * value, is_narrow_at_once ? narrow : value, swiglu));
    if (!gathers_ && !is_fused_ && promotes) list.push_back(block_scales(touched_rows_, shape_.intermediate));
    if (gathers_ && is_narrow) list.push_back(pass("quantize rows", inner, value, narrow, {1, 3, 0}));
    add_product(list, "down", shape_.hidden, shape_.intermediate);
    const double top_k = std::max(touched_rows_ / as_double(shape_.tokens), 1.0);
    list.push_back(is_fused_ && promotes ? sum_one_by_one(tokens, value * top_k, value)
                                         : pass("sum", tokens, value * top_k, value, {top_k, top_k, 0}));
    return list;
  }

 private:
  double cold(double bytes) const { return 1 - share_found_in_l2(Bytes(std::llround(bytes)), device_); }

  // A token's experts by its scores: a warp a token, top_k rounds of the largest of all.
  KernelProgram scores() const {
    constexpr int warps = 4;
    StreamingShape kernel;
    kernel.name = "top k";
    kernel.threads = warps * 32;
    kernel.blocks = (shape_.tokens + warps - 1) / warps;
    kernel.elements = as_double(warps * shape_.experts);
    StreamingPass first;
    first.reads = {{"scores", 4.0, 0}};
    first.work = {7, 2, 1};
    first.in_flight = static_cast<int>(std::clamp<std::int64_t>(shape_.experts / 32, 1, 16));
    first.sum_over = SumOver::warp;
    kernel.passes = {first};
    StreamingPass round;
    round.work = {0, 2, 0};
    round.in_flight = first.in_flight;
    round.sum_over = SumOver::warp;
    round.sums = 2;
    round.sum_work = {0, 2, 0};
    for (std::int64_t i = 0; i < std::min<std::int64_t>(shape_.top_k, 16); ++i) kernel.passes.push_back(round);
    StreamingPass last;
    last.writes = {{"weights", 8.0, 0}};
    last.elements = as_double(warps * shape_.top_k);
    kernel.passes.push_back(last);
    return streaming_program(kernel);
  }

  // One block counts the assignments of each expert and adds the counts up.
  KernelProgram sorting() const {
    StreamingShape kernel;
    kernel.name = "align";
    kernel.threads = 1024;
    kernel.elements = as_double(shape_.tokens * shape_.top_k);
    StreamingPass count;
    count.reads = {{"experts", 4.0, 0}, {"counts", 4.0, 0, true}};
    count.work = {0, 4, 0};
    count.sum_over = SumOver::block;
    StreamingPass sums;
    sums.reads = {{"counts", 4.0, 0, true}};
    sums.work = {0, 4, 0};
    sums.elements = as_double(shape_.experts);
    sums.sum_over = SumOver::block;
    StreamingPass blocks;
    blocks.writes = {{"blocks", 4.0, 0}};
    blocks.work = {0, 4, 0};
    blocks.elements = as_double(row_tiles_);
    kernel.passes = {count, sums, blocks};
    return streaming_program(kernel);
  }

  KernelProgram placing() const {
    StreamingPass place;
    place.reads = {{"experts", 4.0, 0}, {"offsets", 4.0, 0}};
    place.writes = {{"places", 4.0, 0}};
    place.work = {0, 6, 0};
    StreamingShape kernel = flat_kernel("sort", shape_.tokens * shape_.top_k, 256, place);
    kernel.lookups = 1;
    return streaming_program(kernel);
  }

  // TRT-LLM's finalizing kernel with scales of blocks: a thread an element, which asks for each expert where its row
  // is, and then for its value.
  KernelProgram sum_one_by_one(double elements, double read, double written) const {
    constexpr int threads = 128;
    constexpr double instructions = 6;
    const auto experts = static_cast<double>(shape_.top_k);
    const double share = cold(elements * (read + written));
    StreamingPass one;
    one.reads = {{"in", read, share}};
    one.writes = {{"out", written, share}};
    one.work = {experts, instructions * experts, 0};
    StreamingShape kernel = flat_kernel("sum", std::max<std::int64_t>(std::llround(elements), 1), threads, one);
    kernel.lookups = static_cast<int>(shape_.top_k);
    return streaming_program(kernel);
  }

  // A kernel of its own that gives 128 values a scale.
  KernelProgram block_scales(double rows, std::int64_t width) const {
    constexpr std::int64_t block = 128;
    const QuantizeShape shape{.rows = std::max<std::int64_t>(std::llround(rows), 1), .width = width, .block = block};
    return plan_quantize(quantize(shape), device_).programs.front();
  }

  KernelProgram pass(const char* name, double elements, double read, double written, const ElementWork& work) const {
    const double share = cold(elements * (read + written));
    StreamingPass one;
    one.reads = {{"in", read, share}};
    one.writes = {{"out", written, share}};
    one.work = work;
    one.vector = 4;
    return streaming_program(flat_kernel(name, std::max<std::int64_t>(std::llround(elements), 1), 256, one));
  }

  // vLLM launches as many blocks as the most tiles that there may be: a padded one for every expert of the layer. Those
  // beyond look and end; those of other devices' experts write zeros (fused_moe.py, write_zeros_to_output).
  void add_product(std::vector<KernelProgram>& list, const char* name, std::int64_t columns, std::int64_t depth) const {
    list.push_back(product(name, columns, depth));
    if (device_.architecture.moe.kernel != MoeKernel::triton) return;
    const double column_tiles = std::ceil(as_double(columns) / tile_.columns);
    const double assignments = as_double(shape_.tokens * shape_.top_k);
    const double padding = as_double(std::min(shape_.experts, shape_.tokens * shape_.top_k)) * (tile_.rows - 1);
    const double most = std::ceil((assignments + padding) / tile_.rows);
    const double others = std::max(assignments - loads_.rows, 0.0);
    StreamingShape empty{.name = "empty tiles", .threads = 128, .lookups = 2};
    empty.blocks = std::llround(std::max(most - as_double(row_tiles_), 0.0) * column_tiles);
    if (empty.blocks == 0) return;
    StreamingPass zeros;
    const double share = cold(others * as_double(columns) * bits(shape_.type) / 8.0);
    zeros.writes = {{"zeros", bits(shape_.type) / 8.0, share}};
    zeros.vector = 8;
    zeros.elements = others * as_double(columns) / as_double(empty.blocks);
    if (others > 0) empty.passes = {zeros};
    list.push_back(streaming_program(empty));
    list.back().joins_before = true;
  }

  KernelProgram product(const char* name, std::int64_t columns, std::int64_t depth) const {
    GroupedProduct product{.name = name};
    product.rows = loads_.rows;
    product.busy = loads_.busy;
    product.row_tiles = row_tiles_;
    product.columns = columns;
    product.depth = depth;
    product.tile = tile_;
    product.type = shape_.product_type;
    product.weight = shape_.weight_type;
    product.output = shape_.type;
    product.cold_rows = cold(loads_.rows * as_double(depth) * bits(shape_.product_type) / 8.0);
    product.tokens = shape_.tokens;
    product.promotes = device_.architecture.moe.promotes;
    return grouped_product(product, device_);
  }

  const MoeShape& shape_;
  const DeviceSpec& device_;
  MoeLoads loads_;
  MoeTile tile_;
  std::int64_t row_tiles_ = 1;  // of all experts
  bool gathers_ = false;        // rows of tokens where they are, instead of copies of them
  bool is_fused_ = false;       // so that products gather, and end with the activation
  double touched_rows_ = 0;     // by the passes
};

}  // namespace

KernelPlan plan_moe(const Kernel& kernel, const DeviceSpec& device) {
  const MoeShape shape = moe_shape(kernel);
  return {Mixture(shape, device).programs(), false};
}

}  // namespace warploom
