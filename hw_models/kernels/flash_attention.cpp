// SPDX-License-Identifier: Apache-2.0
// What fused attention costs: tiles and waves, products beside softmax, causal blocks of unequal length.
//
// Equations, for a block of bq queries that steps over tiles of bk keys (bk shrinks as the head grows), in cycles:
//   products = 4 bq bk d / (rate x main_loop)     softmax = scale x bq bk / exponentials a clock
//   operands = 2 bk d bytes / L2 rate of an SM
//   step     = max(products, softmax, operands, overlap (products + softmax))
//   block    = prologue + steps x step + epilogue;  causal: block i has only the steps that its last query sees
//   core     = equal blocks: waves x block; unequal ones, longest first: max(longest, sum / SMs) + half the shortest
//   t        = fixed + max(core / f, bytes / HBM)
// Backward: a block of bk keys steps over bq queries with five products (10 bq bk d) and one exponential a score, which
// hide each other by `backward_overlap`; the gradient of the queries is added up in fp32 through the L2. A kernel
// before it (row sums of O dO, clearing that gradient) and one after it (converting it) move memory alone: t += 2 fixed
// + their bytes / HBM. Grouped queries: where `packs_groups`, the queries of a group fill tiles together. Assumes that
// keys and values of a head are read from HBM once and then from the L2. Blocks that share an SM take as long as one
// after the other (what they gain by filling each other's gaps is in `overlap`). Source: FlashAttention-2
// (arXiv:2307.08691), FlashAttention-3 (arXiv:2407.08608); constants are fitted.
#include "hw_models/kernels/flash_attention.hpp"

#include <algorithm>
#include <cmath>

#include "hw_models/kernels.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/operating_point.hpp"

namespace warploom {

namespace {

constexpr std::uint32_t causal_flag = 1;
constexpr std::uint32_t backward_flag = 2;

FlashAttentionShape shape_of(const Kernel& kernel) {
  FlashAttentionShape shape;
  shape.batch = kernel.size[0];
  shape.query_heads = kernel.size[1];
  shape.kv_heads = kernel.size[2];
  shape.query_length = kernel.size[3];
  shape.kv_length = kernel.size[4];
  shape.head_dim = kernel.size[5];
  shape.causal = (kernel.flags & causal_flag) != 0;
  shape.backward = (kernel.flags & backward_flag) != 0;
  shape.type = kernel.input;
  return shape;
}

double as_double(std::int64_t value) { return static_cast<double>(value); }

// Pairs of query and key that are computed, a head.
double pairs(const FlashAttentionShape& shape) {
  const double queries = as_double(shape.query_length);
  const double keys = as_double(shape.kv_length);
  return shape.causal ? queries * keys - queries * (queries - 1) / 2 : queries * keys;
}

double products(const FlashAttentionShape& shape) { return shape.backward ? 5 : 2; }

// The blocks of one head by their number of steps.
struct Steps {
  double blocks = 0;
  double sum = 0;
  double shortest = 0;
  double longest = 0;
};

// `rows` in blocks of `row_tile` step over `columns` in tiles of `column_tile`; causal: row r sees `first + r / pack`
// columns.
struct Sweep {
  double rows = 0;
  double columns = 0;
  double row_tile = 1;
  double column_tile = 1;
  double first = 1;  // columns that the first row sees
  double pack = 1;   // rows that see the same columns
  bool causal = false;
};

Steps steps_of(const Sweep& sweep) {
  Steps steps;
  steps.blocks = std::ceil(sweep.rows / sweep.row_tile);
  const auto steps_at = [&](double block) {
    const double last_row = std::min(sweep.rows, (block + 1) * sweep.row_tile) - 1;
    const double seen =
        sweep.causal ? std::min(sweep.columns, sweep.first + std::floor(last_row / sweep.pack)) : sweep.columns;
    return std::ceil(seen / sweep.column_tile);
  };
  steps.shortest = steps_at(0);
  steps.longest = steps_at(steps.blocks - 1);
  constexpr double countable = 16384;  // beyond, the arithmetic mean is as good
  if (!sweep.causal || steps.blocks > countable) {
    steps.sum = steps.blocks * (steps.shortest + steps.longest) / 2;
  } else {
    for (double block = 0; block < steps.blocks; ++block) steps.sum += steps_at(block);
  }
  return steps;
}

class AttentionModel {
 public:
  // `aside`: those of the bytes that are moved before and after the main kernel.
  AttentionModel(const FlashAttentionShape& shape, const DeviceSpec& device, Bytes bytes, Bytes aside)
      : shape_(shape), device_(device), constants_(device.architecture.attention), bytes_(bytes), aside_(aside) {
    const double group = as_double(shape.query_heads) / as_double(shape.kv_heads);
    const double queries = as_double(shape.query_length);
    const double keys = as_double(shape.kv_length);
    Sweep sweep;
    sweep.causal = shape.causal;
    double heads = as_double(shape.batch) * as_double(shape.query_heads);
    if (shape.backward) {
      // Key block j meets the queries from its first key on; counted from the last key, block by block, that is
      // `pack` 1.
      sweep = {keys,
               queries,
               static_cast<double>(constants_.backward_tile_keys),
               static_cast<double>(constants_.backward_tile_queries),
               1,
               1,
               shape.causal};
    } else {
      const bool packs = constants_.packs_groups && shape.kv_heads < shape.query_heads &&
                         std::fmod(queries, constants_.tile_queries) != 0;
      sweep = {packs ? queries * group : queries,
               keys,
               static_cast<double>(constants_.tile_queries),
               keys_a_step(),
               keys - queries + 1,
               packs ? group : 1,
               shape.causal};
      if (packs) heads = as_double(shape.batch) * as_double(shape.kv_heads);
    }
    row_tile_ = sweep.row_tile;
    column_tile_ = sweep.column_tile;
    steps_ = steps_of(sweep);
    heads_ = heads;
    blocks_ = heads * steps_.blocks;
  }

  KernelCost cost(Flops flops) const {
    const auto seconds_at = [&](Frequency clock) { return terms_at(clock).total(); };
    const OperatingPoint point = operating_point(device_, activity(flops), seconds_at);
    const Terms terms = terms_at(point.clock);
    KernelCost cost;
    cost.duration = Time::from_seconds(point.seconds);
    cost.sm_share = std::min(1.0, blocks_ / device_.sm.count);
    cost.hbm_bytes = bytes_;
    cost.l2_bytes = Bytes(std::llround(l2_bytes()));
    cost.flops = flops;
    cost.power = point.power;
    const StepCycles step = step_cycles();
    if (terms.fixed > std::max(terms.core, terms.memory)) {
      cost.bound_by = Bound::latency;
    } else if (terms.memory + terms.aside >= terms.core) {
      cost.bound_by = Bound::hbm;
    } else if (point.is_power_limited) {
      cost.bound_by = Bound::power;
    } else if (step.operands >= step.total) {
      cost.bound_by = Bound::operand_bandwidth;
    } else {
      cost.bound_by = step.softmax > step.products ? Bound::vector : Bound::tensor;
    }
    return cost;
  }

 private:
  struct StepCycles {
    double products = 0;
    double softmax = 0;
    double operands = 0;
    double total = 0;
  };
  struct Terms {
    double core = 0;  // seconds
    double memory = 0;
    double aside = 0;
    double fixed = 0;
    double total() const { return fixed + aside + std::max(core, memory); }
  };

  double element() const { return bits(shape_.type) / 8.0; }

  // Shared memory holds fewer keys of longer heads.
  double keys_a_step() const {
    return std::clamp(std::round(constants_.tile_keys * 128.0 / as_double(shape_.head_dim) / 16) * 16, 16.0, 256.0);
  }

  StepCycles step_cycles() const {
    const double scores = row_tile_ * column_tile_;
    const double d = as_double(shape_.head_dim);
    const double share = shape_.backward ? constants_.backward_main_loop : constants_.main_loop;
    const double l2_rate =
        device_.l2.bytes_per_cycle_per_sm * device_.sm.count / std::min<double>(device_.sm.count, blocks_);
    StepCycles step;
    step.products = 2 * products(shape_) * scores * d / (device_.tensor_flops_per_cycle(shape_.type) * share);
    step.softmax = constants_.softmax_cycles_scale * scores / device_.sm.special_function_lanes;
    step.operands = l2_bytes_a_step() / std::min(device_.architecture.gemm.port_bytes_per_cycle, l2_rate);
    const double overlap = shape_.backward ? constants_.backward_overlap : constants_.softmax_overlap;
    step.total = std::max({step.products, step.softmax, step.operands, overlap * (step.products + step.softmax)});
    return step;
  }

  // Forward: keys and values of a tile; backward: queries, their output's gradient, and their own gradient in fp32.
  double l2_bytes_a_step() const {
    const double d = as_double(shape_.head_dim);
    return column_tile_ * d * (shape_.backward ? 2 * element() + 4 : 2 * element());
  }
  double l2_bytes() const { return heads_ * steps_.sum * l2_bytes_a_step(); }

  Terms terms_at(Frequency clock) const {
    const double sms = device_.sm.count;
    const double step = step_cycles().total;
    const double ends = constants_.prologue.value() + constants_.epilogue.value();
    const double sum = heads_ * (steps_.sum * step + steps_.blocks * ends);
    const double longest = steps_.longest * step + ends;
    const double shortest = steps_.shortest * step + ends;
    double cycles = longest;
    if (blocks_ > sms)
      cycles = longest == shortest ? std::ceil(blocks_ / sms) * longest : std::max(longest, sum / sms) + shortest / 2;
    Terms terms;
    terms.core = cycles / clock.value();
    terms.memory = static_cast<double>((bytes_ - aside_).count()) / device_.reached_bandwidth().value();
    terms.aside = static_cast<double>(aside_.count()) / device_.reached_bandwidth().value();
    terms.fixed = constants_.fixed.seconds() * (shape_.backward ? 3 : 1);
    return terms;
  }

  Activity activity(Flops flops) const {
    const auto& energy = device_.architecture.energy;
    const auto flop = energy.tensor_flop.find(std::string(name(shape_.type)));
    const Energy per_flop = flop != energy.tensor_flop.end() ? flop->second : Energy{0};
    const double scores = heads_ * steps_.sum * row_tile_ * column_tile_;
    constexpr double softmax_flops = 5;  // scale, maximum, difference, sum, conversion of a score
    return {per_flop * flops.value() + energy.vector_flop * (softmax_flops * scores) + energy.l2_byte * l2_bytes(),
            energy.memory_byte * static_cast<double>(bytes_.count())};
  }

  FlashAttentionShape shape_;
  const DeviceSpec& device_;
  const AttentionConstants& constants_;
  Bytes bytes_;
  Bytes aside_;
  double row_tile_ = 0;
  double column_tile_ = 0;
  Steps steps_;
  double heads_ = 0;
  double blocks_ = 0;
};

class FlashAttention final : public KernelFamily {
 public:
  std::string_view name() const override { return "flash_attention"; }
  std::string_view meaning() const override { return "fused attention, forward or backward"; }

  std::span<const KernelParameter> parameters() const override {
    static constexpr KernelParameter list[] = {
        {"batch", "sequences", 1},
        {"query_heads", "heads of the queries"},
        {"kv_heads", "heads of keys and values; fewer than query heads: grouped queries"},
        {"query_length", "queries a sequence"},
        {"kv_length", "keys and values a sequence"},
        {"head_dim", "elements a head", 128},
    };
    return list;
  }
  std::span<const KernelFlag> flags() const override {
    static constexpr KernelFlag list[] = {
        {"causal", causal_flag, "query i sees the keys up to i + kv_length - query_length"},
        {"backward", backward_flag, "the gradient"},
    };
    return list;
  }

  void check_together(const Kernel& kernel) const override {
    const FlashAttentionShape shape = shape_of(kernel);
    if (shape.query_heads % shape.kv_heads != 0) {
      throw UserError(fmt::format("flash_attention: {} query heads do not divide among {} key and value heads",
                                  shape.query_heads, shape.kv_heads));
    }
    if (shape.causal && shape.query_length > shape.kv_length) {
      throw UserError(fmt::format("flash_attention: causal attention of {} queries to only {} keys", shape.query_length,
                                  shape.kv_length));
    }
  }

  // The products of computed pairs; softmax is not counted, as in the papers.
  Flops flops(const Kernel& kernel) const override {
    const FlashAttentionShape shape = shape_of(kernel);
    return Flops(2 * products(shape) * as_double(shape.batch) * as_double(shape.query_heads) * pairs(shape) *
                 as_double(shape.head_dim));
  }

  // Forward reads Q, K, V and writes O. Backward reads Q, dO, K, V and writes dK, dV, beside what goes aside.
  Bytes bytes(const Kernel& kernel) const override {
    const FlashAttentionShape shape = shape_of(kernel);
    const Bytes q = queries_in(shape, shape.type);
    const Bytes kv = bytes_of({shape.batch, shape.kv_heads, shape.kv_length, shape.head_dim}, shape.type) * 2;
    return shape.backward ? q * 2 + kv * 2 + bytes_aside(shape) : q * 2 + kv;
  }

  KernelCost cost(const Kernel& kernel, const DeviceSpec& device) const override {
    const FlashAttentionShape shape = shape_of(kernel);
    return AttentionModel(shape, device, bytes(kernel), bytes_aside(shape)).cost(flops(kernel));
  }

 private:
  static Bytes queries_in(const FlashAttentionShape& shape, DataType type) {
    return bytes_of({shape.batch, shape.query_heads, shape.query_length, shape.head_dim}, type);
  }
  // Before: O and dO are read and the fp32 dQ is cleared; after: it is read and dQ is written.
  static Bytes bytes_aside(const FlashAttentionShape& shape) {
    return shape.backward ? queries_in(shape, shape.type) * 3 + queries_in(shape, DataType::fp32) * 2 : Bytes{0};
  }
};

}  // namespace

Kernel flash_attention(const FlashAttentionShape& shape) {
  Kernel kernel;
  kernel.family = "flash_attention";
  kernel.size = {shape.batch, shape.query_heads, shape.kv_heads, shape.query_length, shape.kv_length, shape.head_dim};
  kernel.input = shape.type;
  kernel.output = shape.type;
  kernel.flags = (shape.causal ? causal_flag : 0) | (shape.backward ? backward_flag : 0);
  return kernel;
}

const KernelFamily& flash_attention_family() {
  static const FlashAttention family;
  return family;
}

}  // namespace warploom
