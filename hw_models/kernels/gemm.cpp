// SPDX-License-Identifier: Apache-2.0
// What a GEMM costs: tiles, waves, split-K, fill and drain, operand bandwidth, HBM traffic, clock.
//
// Equations, for tiles of bm x bn and k-steps of 128 bytes; `cycles` are at the clock of the power balance:
//   products  = 2 bm bn bk / (rate x main_loop)               cycles a step
//   operands  = (bm + bn) 128 B / multicast / min(port, L2 rate x SMs / active)
//   waves     = q ceil(x) + (1 - q) x for x = blocks / SMs and q = wave_quantisation: what the library cannot fill
//               with tiles of another size or parts of k; x counts as 1 at least where k is too short to be cut
//   core      = waves x steps x max(products, operands)
//               + (prologue + epilogue bm bn / 128^2) (1 + (waves - 1)(1 - overlap))
//   traffic   = A once a column group + B once (or once a wave, when its panel does not stay in the L2) + C
//   t         = fixed + max(core / f, traffic / HBM) + (1 - memory_overlap) min(...) + split
// Stream-K: waves are those of the longest share (stream_k.hpp), split the tiles that are cut, in the kernel itself.
// 2:4 sparse: B's bytes and the products' cycles by the sparse format and rate, no energy for what is left out.
// B of another type than A has its own bytes; products are of the wider type, and converting on the way costs nothing.
// Tile and split by the rule of the libraries (not by this cost): fewest waves x max(products, operands) at nominal
// rates, then the fewest parts of k, then the largest tile, as DeepGEMM documents its own choice; k is split where the
// blocks leave half of the SMs idle and k is long. Assumes operands laid out so that loads are full lines, one block an
// SM, tiles rasterised in groups that are near square. Source: structure from CUTLASS and DeepGEMM
// (github.com/deepseek-ai/DeepGEMM, commit 54e2261); constants are fitted.
#include "hw_models/kernels/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "hw_models/kernels.hpp"
#include "hw_models/kernels/gemm_blocking.hpp"
#include "hw_models/kernels/gemm_choice.hpp"
#include "hw_models/kernels/simt_gemm.hpp"
#include "hw_models/kernels/stream_k.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/operating_point.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::uint32_t accumulate_flag = 1;
constexpr std::uint32_t warm_flag = 2;
constexpr std::uint32_t transposed_flag = 8;
constexpr std::uint32_t sliced_flag = 16;
constexpr std::uint32_t serving_flag = 32;
constexpr std::uint32_t split_accumulator_flag = 4;
constexpr std::uint32_t stream_k_flag = 64;
constexpr std::uint32_t deterministic_flag = 128;
constexpr std::uint32_t sparse_flag = 256;
constexpr double step_bytes = gemm_step_bytes;

double element_bytes(DataType type) { return bits(type) / 8.0; }

// Operand bytes of a step; it is `step_bytes` of the wider type deep.
double operands_of(const GemmShape& shape, double rows, double columns) {
  const double widest = bits(product_type(shape));
  return step_bytes * (rows * bits(shape.input) + columns * weight_bits(shape)) / widest;
}

// Blocks that share an operand read: a kernel that is named has its own cluster.
double multicast_of(const GemmShape& shape, const GemmConstants& constants) {
  return shape.cluster > 0 ? std::min(constants.multicast, as_double(shape.cluster)) : constants.multicast;
}

struct StepCycles {
  double products = 0;
  double operands = 0;
  double longer() const { return std::max(products, operands); }
};

// Of one step, with `active` SMs at work; `share` of the tensor rate reached.
StepCycles step_cycles(const GemmTile& tile, const GemmShape& shape, const DeviceSpec& device, double active,
                       double share) {
  const auto& constants = device.architecture.gemm;
  const double depth = step_bytes / element_bytes(product_type(shape));
  const double peak = shape.is_sparse ? device.sparse_flops_per_cycle(product_type(shape))
                                      : device.tensor_flops_per_cycle(product_type(shape));
  const double rate = peak * share;
  const double l2_rate = constants.l2_reached * std::min(constants.port_bytes_per_cycle,
                                                         device.l2.bytes_per_cycle_per_sm * device.sm.count / active);
  StepCycles cycles;
  cycles.products = 2.0 * tile.m * tile.n * depth / rate;
  // Blocks share what they have in common: B among rows of tiles, of which there may be only one. Vendor libraries have
  // kernels that avoid that.
  const double most = multicast_of(shape, constants);
  const auto sharers = [&](std::int64_t size, int part) {
    if (!shape.is_serving) return most;
    return std::min(most, std::ceil(as_double(size) / part));
  };
  const double rows = tile.m / sharers(shape.n, tile.n);
  const double columns = tile.n / sharers(shape.m, tile.m);
  cycles.operands = operands_of(shape, rows, columns) / l2_rate;
  return cycles;
}

struct Terms {
  double products = 0;  // seconds
  double operands = 0;
  double ends = 0;  // prologues and epilogues that show
  double memory = 0;
  double fixed = 0;
  double core() const { return std::max(products, operands) + ends; }
  double total(double overlap) const {
    return fixed + std::max(core(), memory) + (1 - overlap) * std::min(core(), memory);
  }
};

class GemmModel {
 public:
  GemmModel(const GemmShape& shape, const DeviceSpec& device)
      : shape_(shape),
        device_(device),
        constants_(device.architecture.gemm),
        blocking_(choose_gemm_blocking(shape, device)) {
    const double x = blocking_.blocks / device.sm.count;
    active_ = std::min<double>(device.sm.count, blocking_.blocks);
    shape_.cluster = blocking_.cluster;
    const bool is_deep = !shape.is_serving && !shape.is_deterministic &&
                         as_double(shape.k) >= 2.0 * constants_.split_minimum_depth && blocking_.parts == 1;
    const double least = is_deep ? x : std::max(x, 1.0);
    waves_ = constants_.wave_quantisation * std::ceil(x) + (1 - constants_.wave_quantisation) * least;
    const double c = as_double(shape.batch) * as_double(shape.m) * as_double(shape.n) * element_bytes(shape.output);
    const OperandBytes operands = gemm_operand_traffic(blocking_, shape, device);
    const ColdShares cold = gemm_cold_shares(shape, device);
    memory_bytes_ = operands.a * cold.a + operands.b * cold.b + c * cold.c * (shape.accumulate ? 2 : 1);
    // Parts are written and read once each, in fp32, through the L2.
    split_bytes_ = blocking_.parts > 1
                       ? as_double(shape.batch) * as_double(shape.m) * as_double(shape.n) * 4 * 2 * blocking_.parts
                       : 0;
    if (blocking_.is_stream_k) spread();
    operand_bytes_ = blocking_.blocks * blocking_.steps * operands_of(shape, blocking_.tile.m, blocking_.tile.n) /
                     multicast_of(shape_, constants_);
  }

  Terms terms_at(Frequency clock) const {
    const bool has_own_loop = shape_.is_serving && !shape_.split_accumulator;
    const bool has_block_scales = shape_.is_serving && (shape_.split_accumulator || bits(shape_.input) < 8);
    const double serving = has_own_loop ? constants_.serving_main_loop : 1;
    const double promotion = shape_.split_accumulator ? constants_.split_accumulator : 1;
    const StepCycles step =
        step_cycles(blocking_.tile, shape_, device_, active_, constants_.main_loop * promotion * serving);
    const double shown = 1 + std::max(waves_ - 1, 0.0) * (1 - constants_.epilogue_overlap);
    const double area = static_cast<double>(blocking_.tile.m) * blocking_.tile.n / (128.0 * 128.0);
    Terms terms;
    terms.products = waves_ * blocking_.steps * step.products / clock.value();
    terms.operands = waves_ * blocking_.steps * step.operands / clock.value();
    terms.ends = (constants_.prologue.value() + constants_.epilogue.value() * area) * shown / clock.value();
    terms.memory =
        memory_bytes_ / (device_.reached_bandwidth().value() * (has_block_scales ? constants_.serving_memory : 1));
    terms.fixed = constants_.fixed.seconds();
    if (blocking_.parts > 1) {
      terms.fixed += constants_.split_fixed.seconds() + split_bytes_ / device_.l2_bandwidth_at(clock).value();
    }
    if (blocking_.is_stream_k) terms.ends += split_bytes_ / device_.l2_bandwidth_at(clock).value();
    return terms;
  }

  KernelCost cost() const {
    const auto seconds_at = [&](Frequency clock) { return terms_at(clock).total(constants_.memory_overlap); };
    const OperatingPoint point = operating_point_of(device_, shape_.is_warm, activity(), seconds_at);
    const Terms terms = terms_at(point.clock);
    KernelCost cost = cost_at(point, Flops(gemm_flops(shape_)), Bytes(std::llround(memory_bytes_)),
                              Bytes(std::llround(operand_bytes_ + split_bytes_)));
    cost.sm_share = active_ / device_.sm.count;
    cost.bound_by = bound_by(terms, point);
    return cost;
  }

 private:
  // Stream-K: waves are as long as the longest worker's share, and tiles that are cut go through the L2 in FP32.
  void spread() {
    const StreamKCost cost = stream_k_cost(blocking_.blocks, blocking_.steps, device_.sm.count);
    waves_ = cost.waves;
    split_bytes_ = 2 * 4.0 * cost.stored * blocking_.tile.m * blocking_.tile.n;
    if (cost.stored > 0) active_ = device_.sm.count;
  }

  // Tiles that stick out compute too; energy is for what is asked, and none for what sparsity leaves out.
  Activity activity() const {
    const auto& energy = device_.architecture.energy;
    const Energy per_flop = tensor_flop_energy(device_, product_type(shape_)) * (shape_.is_sparse ? 0.5 : 1);
    return {per_flop * gemm_flops(shape_) + energy.l2_byte * (operand_bytes_ + split_bytes_),
            energy.memory_byte * memory_bytes_};
  }

  static Bound bound_by(const Terms& terms, const OperatingPoint& point) {
    const double busy = std::max({terms.products, terms.operands, terms.memory});
    if (terms.fixed + terms.ends > busy) return Bound::latency;
    if (terms.memory >= busy) return Bound::hbm;
    if (point.is_power_limited) return Bound::power;
    return terms.products >= busy ? Bound::tensor : Bound::operand_bandwidth;
  }

  GemmShape shape_;
  const DeviceSpec& device_;
  const GemmConstants& constants_;
  GemmBlocking blocking_;
  double active_ = 0;
  double waves_ = 0;
  double memory_bytes_ = 0;
  double split_bytes_ = 0;
  double operand_bytes_ = 0;
};

class Gemm final : public KernelFamily {
 public:
  std::string_view name() const override { return "gemm"; }
  std::string_view meaning() const override { return "matrix product C (+)= A B, batched"; }

  std::span<const KernelParameter> parameters() const override {
    static constexpr KernelParameter list[] = {
        {"batch", "independent products", 1},
        {"m", "rows of the result"},
        {"n", "columns of the result"},
        {"k", "length of the sums"},
        {"tile_m", "rows that one block computes; 0: by the library's rule", 0, 0},
        {"tile_n", "columns that one block computes; 0: by the library's rule", 0, 0},
        {"split_k", "parts that the sums are cut into; 0: by the library's rule", 0, 0},
        {"threads", "threads of one block, for FP32 on the vector lanes; 0: by the library's rule", 0, 0},
        {"stages", "stages of 128 bytes a row in the pipeline, for Tensor Cores; 0: as many as fit", 0, 0},
        {"cluster", "blocks that share reads of operands; 0: by the library's rule", 0, 0},
    };
    return list;
  }
  std::span<const KernelFlag> flags() const override {
    static constexpr KernelFlag list[] = {
        {"accumulate", accumulate_flag, "C += A B: the result is read, too"},
        {"warm", warm_flag, "operands may still be in the L2, as when one product is repeated"},
        {"transposed", transposed_flag, "B lies n x k, as the weights of a linear layer do; matters to FP32 kernels"},
        {"sliced", sliced_flag, "four groups of a block's threads share the sums of its tile; for FP32 kernels"},
        {"serving", serving_flag, "by a serving engine's kernel for 8 and 4 bits: it does not cut k"},
        {"split_accumulator", split_accumulator_flag, "partial sums of 8-bit products are promoted to FP32"},
        {"stream_k", stream_k_flag, "the last waves are cut evenly along k, whatever the tiles (CUTLASS's stream-K)"},
        {"deterministic", deterministic_flag,
         "batch-invariant: the same tile and order of sums whatever m is, k in one part"},
        {"sparse", sparse_flag, "B has 2:4 structured sparsity: half of it is stored, at twice the tensor rate"},
    };
    return list;
  }

  Flops flops(const Kernel& kernel) const override { return Flops(gemm_flops(gemm_shape(kernel))); }

  Bytes bytes(const Kernel& kernel) const override {
    const GemmShape shape = gemm_shape(kernel);
    const Bytes a = bytes_of({shape.batch, shape.m, shape.k}, shape.input);
    const Bytes b = gemm_weight_bytes(shape);
    const Bytes c = bytes_of({shape.batch, shape.m, shape.n}, shape.output);
    return a + b + c * (shape.accumulate ? 2 : 1);
  }

  KernelCost cost(const Kernel& kernel, const DeviceSpec& device) const override {
    const GemmShape shape = gemm_shape(kernel);
    if (product_type(shape) == DataType::fp32) return simt_gemm_cost(shape, device);
    return GemmModel(shape, device).cost();
  }

  KernelChoice choice(const Kernel& kernel, const DeviceSpec& device) const override {
    return gemm_kernel_choice(gemm_shape(kernel), device);
  }

 protected:
  void check_together(const Kernel& kernel) const override {
    const GemmShape shape = gemm_shape(kernel);
    if ((shape.tile_m > 0) != (shape.tile_n > 0)) {
      throw UserError("gemm: expected both of `tile_m` and `tile_n`, or neither");
    }
    check_variants(shape);
    // What no kernel has would pass for a prediction of one.
    constexpr std::int64_t largest_tile = 4096;
    constexpr std::int64_t most_threads = 1024;
    for (const auto& [name, size] : {std::pair{"tile_m", shape.tile_m}, {"tile_n", shape.tile_n}}) {
      if (size > largest_tile)
        throw UserError(fmt::format("gemm: expected `{}` up to {}, got {}", name, largest_tile, size));
    }
    if (shape.split_k > shape.k) {
      throw UserError(fmt::format("gemm: expected `split_k` up to `k`, {}, got {}", shape.k, shape.split_k));
    }
    if (shape.threads % 32 != 0 || shape.threads > most_threads) {
      throw UserError(
          fmt::format("gemm: expected `threads` in warps of 32, up to {}, got {}", most_threads, shape.threads));
    }
    constexpr std::int64_t most_stages = 64;
    constexpr std::int64_t largest_cluster = 16;
    for (const auto& [name, count, most] :
         {std::tuple{"stages", shape.stages, most_stages}, {"cluster", shape.cluster, largest_cluster}}) {
      if (count > most) throw UserError(fmt::format("gemm: expected `{}` up to {}, got {}", name, most, count));
    }
    if (shape.stages == 1) throw UserError("gemm: expected at least 2 `stages`: one is filled while another is read");
  }

 private:
  static void check_variants(const GemmShape& shape) {
    if (shape.is_deterministic && (shape.split_k > 1 || shape.is_stream_k)) {
      throw UserError(
          fmt::format("gemm: `deterministic` and `{}` exclude one another", shape.is_stream_k ? "stream_k" : "split_k"),
          "where k is cut, the order of sums follows from m; leave one of them out");
    }
    if (shape.is_stream_k && shape.split_k > 1) {
      throw UserError("gemm: `stream_k` and `split_k` exclude one another: both cut k", "leave one of them out");
    }
    if (product_type(shape) != DataType::fp32) return;
    const char* const hint = "FP32 runs on the vector lanes; `--dtype tf32` uses the Tensor Cores";
    if (shape.is_sparse) throw UserError("gemm: `sparse` needs Tensor Cores, which have no fp32", hint);
    if (shape.is_stream_k) throw UserError("gemm: there is no `stream_k` program for fp32", hint);
  }
};

}  // namespace

DataType weight_type(const GemmShape& shape) { return shape.weight.value_or(shape.input); }

double weight_bits(const GemmShape& shape) {
  constexpr double kept = 0.5;
  constexpr double place = 2;  // bits that say where in four a value stands (NVIDIA PTX ISA, mma.sp)
  const double width = bits(weight_type(shape));
  return shape.is_sparse ? kept * (width + place) : width;
}

Bytes gemm_weight_bytes(const GemmShape& shape) {
  const Bytes dense = bytes_of({shape.batch, shape.k, shape.n}, weight_type(shape));
  return shape.is_sparse ? dense * (weight_bits(shape) / bits(weight_type(shape))) : dense;
}

DataType product_type(const GemmShape& shape) {
  return bits(weight_type(shape)) > bits(shape.input) ? weight_type(shape) : shape.input;
}

GemmShape gemm_shape(const Kernel& kernel) {
  GemmShape shape;
  shape.batch = kernel.size[0];
  shape.m = kernel.size[1];
  shape.n = kernel.size[2];
  shape.k = kernel.size[3];
  shape.tile_m = kernel.size[4];
  shape.tile_n = kernel.size[5];
  shape.split_k = kernel.size[6];
  shape.threads = kernel.size[7];
  shape.stages = kernel.size[8];
  shape.cluster = kernel.size[9];
  shape.input = kernel.input;
  shape.weight = kernel.weight;
  shape.output = kernel.output;
  shape.accumulate = (kernel.flags & accumulate_flag) != 0;
  shape.is_warm = (kernel.flags & warm_flag) != 0;
  shape.is_transposed = (kernel.flags & transposed_flag) != 0;
  shape.is_serving = (kernel.flags & serving_flag) != 0;
  shape.is_sliced = (kernel.flags & sliced_flag) != 0;
  shape.split_accumulator = (kernel.flags & split_accumulator_flag) != 0;
  shape.is_stream_k = (kernel.flags & stream_k_flag) != 0;
  shape.is_deterministic = (kernel.flags & deterministic_flag) != 0;
  shape.is_sparse = (kernel.flags & sparse_flag) != 0;
  return shape;
}

Kernel gemm(const GemmShape& shape) {
  Kernel kernel;
  kernel.family = "gemm";
  kernel.size = {shape.batch,  shape.m,       shape.n,       shape.k,      shape.tile_m,
                 shape.tile_n, shape.split_k, shape.threads, shape.stages, shape.cluster};
  kernel.input = shape.input;
  kernel.weight = weight_type(shape);
  kernel.output = shape.output;
  kernel.flags = (shape.accumulate ? accumulate_flag : 0) | (shape.is_warm ? warm_flag : 0) |
                 (shape.split_accumulator ? split_accumulator_flag : 0) | (shape.is_transposed ? transposed_flag : 0) |
                 (shape.is_sliced ? sliced_flag : 0) | (shape.is_serving ? serving_flag : 0) |
                 (shape.is_stream_k ? stream_k_flag : 0) | (shape.is_deterministic ? deterministic_flag : 0) |
                 (shape.is_sparse ? sparse_flag : 0);
  return kernel;
}

const KernelFamily& gemm_family() {
  static const Gemm family;
  return family;
}

}  // namespace warploom
