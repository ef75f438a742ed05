// SPDX-License-Identifier: Apache-2.0
// What a mixture-of-experts layer costs on the device with the most tokens: two grouped products and passes around
// them.
//
// Equations, expert e with m_e rows, hidden h, intermediate i, g = 2 (gate and up) or 1: products of m_e x g i x h and
// m_e x h x i in tiles of bm x bn by the library's rule (moe_tiles.hpp), averaged over draws of the loads:
//   tile  = max(2 bm bn K / (rate x main_loop), bn K / conversion rate) + ends
//   core  = max(tile, tiles x tile / SMs)
//   bytes = weights of the experts that have a token + rows in and out; where one expert's weights of a product exceed
//           the kept share of the L2, they are read again for each further tile of rows, at `weights_again`; the
//           counters and the energy have the same bytes, and those of the passes
//   t     = fixed + sum over both of max(core, bytes / (reached x stream)) + passes' bytes / reached
// Passes, at the rows' 16 bits: over rows ((g + 1) i + h elements: activation and sum of a plain implementation), over
// assignments and over tokens (h elements: quantising, permuting, summing). Loads: expert_loads.hpp. Source: vLLM's
// fused_moe and the libraries it calls; constants are fitted.
#include "hw_models/kernels/moe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hw_models/kernels.hpp"
#include "hw_models/kernels/moe_loads.hpp"
#include "hw_models/kernels/moe_tiles.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/operating_point.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::uint32_t ungated_flag = 1;
constexpr std::uint32_t one_by_one_flag = 2;

}  // namespace

MoeShape moe_shape(const Kernel& kernel) {
  const auto& size = kernel.size;
  MoeShape shape{size[0], size[1], size[2], size[3], size[4], size[5], size[6], size[7]};
  shape.is_gated = (kernel.flags & ungated_flag) == 0;
  shape.leaves_one_by_one = (kernel.flags & one_by_one_flag) != 0;
  shape.type = kernel.output;
  shape.product_type = kernel.input;
  shape.weight_type = kernel.weight;
  return shape;
}

namespace {

// With scales: of 8 bits for 16 values where 4-bit values are multiplied (NVFP4), else for 32 (MXFP4).
double weight_bits(const MoeShape& shape) {
  if (shape.weight_type != DataType::fp4) return bits(shape.weight_type);
  return shape.product_type == DataType::fp4 ? 4.5 : 4.25;
}

double gates(const MoeShape& shape) { return shape.is_gated ? 2 : 1; }

// Of one expert.
double weight_elements(const MoeShape& shape) {
  return (gates(shape) + 1) * as_double(shape.hidden) * as_double(shape.intermediate);
}
double weight_bytes(const MoeShape& shape) { return weight_elements(shape) * weight_bits(shape) / 8; }

class MoeModel {
 public:
  MoeModel(const MoeShape& shape, const DeviceSpec& device)
      : shape_(shape), device_(device), constants_(device.architecture.moe), loads_(moe_loads(shape)) {
    tile_ = moe_tile(shape, loads_.busy > 0 ? loads_.rows / loads_.busy : 1, constants_);
    row_tiles_ = loads_.tiles(tile_.rows);
  }

  KernelCost cost() const {
    const auto& energy = device_.architecture.energy;
    const Energy per_flop = tensor_flop_energy(device_, shape_.product_type);
    const double flops = 2 * loads_.rows * weight_elements(shape_);
    const double all_bytes = first().traffic.all() + second().traffic.all() + passes_bytes();
    const Activity activity{per_flop * flops + energy.l2_byte * all_bytes, energy.memory_byte * all_bytes};
    const OperatingPoint point =
        operating_point(device_, activity, [&](Frequency clock) { return terms_at(clock).total(); });
    const Terms terms = terms_at(point.clock);
    const Bytes moved(std::llround(all_bytes));
    KernelCost cost = cost_at(point, Flops(flops), moved, moved);
    cost.bound_by = terms.fixed > terms.products + terms.passes ? Bound::latency
                    : terms.is_core_bound ? (point.is_power_limited ? Bound::power : Bound::tensor)
                                          : Bound::hbm;
    return cost;
  }

 private:
  struct Terms {
    double products = 0;  // seconds of both
    double passes = 0;
    double fixed = 0;
    bool is_core_bound = false;
    double total() const { return products + passes + fixed; }
  };

  // Both, of one grouped product; false: memory bound.
  struct Product {
    double seconds = 0;
    bool is_core_bound = false;
  };

  // Bytes of one grouped product.
  struct Traffic {
    double weights = 0;  // once
    double again = 0;    // weights that the next tile of rows finds evicted
    double rows = 0;     // in and out
    double all() const { return weights + again + rows; }
  };

  // Rows x columns x depth of every expert.
  struct Grouped {
    double columns = 0;
    double depth = 0;
    Traffic traffic;
  };

  Grouped grouped(double columns, double depth) const {
    const double weights = columns * depth * weight_bits(shape_) / 8;
    return {columns,
            depth,
            {weights * loads_.busy, weights * again_share(weights) * (row_tiles_ - loads_.busy),
             loads_.rows * (depth + columns) * bits(shape_.type) / 8}};
  }
  Grouped first() const { return grouped(gates(shape_) * as_double(shape_.intermediate), as_double(shape_.hidden)); }
  Grouped second() const { return grouped(as_double(shape_.hidden), as_double(shape_.intermediate)); }

  Product product(const Grouped& one, Frequency clock) const {
    const auto& [columns, depth, traffic] = one;
    const double rate = std::min(device_.tensor_flops_per_cycle(shape_.product_type) * tile_.main_loop,
                                 constants_.most_flops_per_cycle);
    double tile = 2 * tile_.rows * tile_.columns * depth / rate;
    if (constants_.converted_per_cycle > 0) {
      tile = std::max(tile, tile_.columns * depth / constants_.converted_per_cycle);
    }
    tile += constants_.ends.value();
    const double tiles = row_tiles_ * std::ceil(columns / tile_.columns);
    const double core = std::max(tile, tiles * tile / device_.sm.count) / clock.value();

    const double bandwidth = device_.reached_bandwidth().value();
    const double weights = traffic.weights + traffic.again / constants_.weights_again;
    const double memory = weights / (bandwidth * constants_.weight_stream) + traffic.rows / bandwidth;
    return {std::max(core, memory), core > memory};
  }

  // Of an expert's weights of one product, how much the next tile of rows finds evicted.
  double again_share(double weights) const {
    if (constants_.weights_kept <= 0) return 0;
    return std::clamp(weights / (as_double(device_.l2.capacity.count()) * constants_.weights_kept) - 1, 0.0, 1.0);
  }

  double passes_bytes() const {
    const double hidden = as_double(shape_.hidden);
    const double assignments = as_double(shape_.tokens) * as_double(shape_.top_k);
    const double rows = constants_.touches_all_rows ? assignments : loads_.rows;
    const double row = (gates(shape_) + 1) * as_double(shape_.intermediate) + hidden;
    const double elements = constants_.passes_rows * rows * row + constants_.passes_assignments * assignments * hidden +
                            constants_.passes_tokens * as_double(shape_.tokens) * hidden;
    return elements * bits(shape_.type) / 8;
  }

  Terms terms_at(Frequency clock) const {
    const Product up = product(first(), clock);
    const Product down = product(second(), clock);
    Terms terms;
    terms.products = up.seconds + down.seconds;
    terms.is_core_bound = up.is_core_bound;
    terms.passes = passes_bytes() / device_.reached_bandwidth().value();
    terms.fixed = constants_.fixed.seconds();
    return terms;
  }

  const MoeShape& shape_;
  const DeviceSpec& device_;
  const MoeConstants& constants_;
  MoeLoads loads_;
  MoeTile tile_;
  double row_tiles_ = 0;  // over all experts
};

class Moe final : public KernelFamily {
 public:
  std::string_view name() const override { return "moe"; }
  std::string_view meaning() const override { return "mixture of experts on one device: routing and grouped products"; }

  std::span<const KernelParameter> parameters() const override {
    static constexpr KernelParameter list[] = {
        {"tokens", "of the device"},
        {"hidden", "elements a token"},
        {"intermediate", "of an expert on this device"},
        {"top_k", "experts a token", 2},
        {"experts", "of the layer", 8},
        {"local_experts", "on this device", 8},
        {"skew", "100 x the exponent of the power law of loads; 0: all alike", 0, 0},
        {"groups", "of experts; a token keeps to half of them, as in DeepSeek-V3; 0: free", 0, 0},
    };
    return list;
  }
  std::span<const KernelFlag> flags() const override {
    static constexpr KernelFlag list[] = {
        {"ungated", ungated_flag, "one product instead of gate and up, as in Nemotron-H"},
        {"one_by_one", one_by_one_flag, "one device gets most of the assignments that rounding leaves over"},
    };
    return list;
  }

  void check_together(const Kernel& kernel) const override {
    const MoeShape shape = moe_shape(kernel);
    // Beyond any model's, and what a prediction's draws of the loads stay short for.
    const auto limit = [](std::string_view name, std::int64_t value, std::int64_t most) {
      if (value <= most) return;
      throw UserError(fmt::format("moe: expected `{}` of at most {}, got {}", name, most, value));
    };
    limit("experts", shape.experts, 4096);
    limit("top_k", shape.top_k, 256);
    limit("groups", shape.groups, 256);
    limit("skew", shape.skew, 1000);
    if (shape.top_k > shape.experts) {
      throw UserError(fmt::format("moe: {} experts a token of only {}", shape.top_k, shape.experts));
    }
    if (shape.experts % shape.local_experts != 0) {
      throw UserError(
          fmt::format("moe: {} experts do not divide among devices of {}", shape.experts, shape.local_experts));
    }
    if (shape.groups == 0) return;
    if (shape.groups > shape.experts || shape.experts % shape.groups != 0) {
      throw UserError(fmt::format("moe: {} experts do not divide into {} groups", shape.experts, shape.groups));
    }
    if (shape.top_k > shape.experts / shape.groups * ((shape.groups + 1) / 2)) {
      throw UserError(fmt::format("moe: half of the groups have fewer than {} experts", shape.top_k));
    }
  }

  Flops flops(const Kernel& kernel) const override {
    const MoeShape shape = moe_shape(kernel);
    return Flops(2 * moe_loads(shape).rows * weight_elements(shape));
  }

  // Weights of the experts that have a token, tokens in and out.
  Bytes bytes(const Kernel& kernel) const override {
    const MoeShape shape = moe_shape(kernel);
    const MoeLoads loads = moe_loads(shape);
    return Bytes(std::llround(loads.busy * weight_bytes(shape))) +
           bytes_of({shape.tokens, shape.hidden}, shape.type) * 2;
  }

  KernelCost cost(const Kernel& kernel, const DeviceSpec& device) const override {
    const MoeShape shape = moe_shape(kernel);
    return MoeModel(shape, device).cost();
  }
};

}  // namespace

Kernel moe(const MoeShape& shape) {
  Kernel kernel;
  kernel.family = "moe";
  kernel.size = {shape.tokens,  shape.hidden,        shape.intermediate, shape.top_k,
                 shape.experts, shape.local_experts, shape.skew,         shape.groups};
  kernel.flags = (shape.is_gated ? 0 : ungated_flag) | (shape.leaves_one_by_one ? one_by_one_flag : 0);
  kernel.input = shape.product_type;
  kernel.weight = shape.weight_type;
  kernel.output = shape.type;
  return kernel;
}

const KernelFamily& moe_family() {
  static const Moe family;
  return family;
}

}  // namespace warploom
