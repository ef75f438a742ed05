// SPDX-License-Identifier: Apache-2.0
// What a mixture-of-experts layer costs on the device with the most tokens: two grouped products and passes around
// them.
//
// Equations, expert e with m_e rows, hidden h, intermediate i: products of m_e x 2i x h and m_e x h x i in tiles of
// bm x bn; bm is the power of two at the mean rows of a busy expert, within the library's bounds.
//   tile  = 2 bm bn K / (rate x main_loop) + ends     core = max(tile, tiles x tile / SMs)
//   bytes = weights of the experts that have a token + rows in and out
//   t     = fixed + sum over both of max(core, bytes / (reached x stream)) + passes' bytes / reached
// Passes of a plain implementation: activation (reads 2i, writes i a row), sum (reads h a row, writes h a token), at
// the rows' 16 bits. Loads: expert_loads.hpp. Assumes that a tile of weights is read once, whatever the rows. Source:
// vLLM's fused_moe and the libraries it calls; constants are fitted.
#include "hw_models/kernels/moe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hw_models/kernels.hpp"
#include "hw_models/kernels/expert_loads.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/operating_point.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

double as_double(std::int64_t value) { return static_cast<double>(value); }

MoeShape shape_of(const Kernel& kernel) {
  const auto& size = kernel.size;
  MoeShape shape{size[0], size[1], size[2], size[3], size[4], size[5], size[6]};
  shape.type = kernel.output;
  shape.product_type = kernel.input;
  shape.weight_type = kernel.weight;
  return shape;
}

struct Loads {
  double rows = 0;  // of this device
  double busy = 0;  // experts that have some
  std::vector<std::int64_t> of_expert;
};

Loads loads_of(const MoeShape& shape) {
  Loads loads;
  loads.of_expert = expert_loads(
      {shape.tokens, shape.top_k, shape.experts, shape.local_experts, static_cast<double>(shape.skew) / 100});
  for (const std::int64_t load : loads.of_expert) {
    loads.rows += as_double(load);
    loads.busy += load > 0 ? 1 : 0;
  }
  return loads;
}

// Weights of one expert: gate, up and down.
double weight_bytes(const MoeShape& shape) {
  return 3 * as_double(shape.hidden) * as_double(shape.intermediate) * bits(shape.weight_type) / 8;
}

class MoeModel {
 public:
  MoeModel(const MoeShape& shape, const DeviceSpec& device)
      : shape_(shape), device_(device), constants_(device.architecture.moe), loads_(loads_of(shape)) {
    const double mean = loads_.busy > 0 ? loads_.rows / loads_.busy : 1;
    rows_a_tile_ = std::clamp(std::exp2(std::ceil(std::log2(std::max(1.0, mean)))),
                              as_double(constants_.tile_tokens_minimum), as_double(constants_.tile_tokens_maximum));
    for (const std::int64_t load : loads_.of_expert) row_tiles_ += std::ceil(as_double(load) / rows_a_tile_);
  }

  KernelCost cost(Flops flops, Bytes bytes) const {
    const auto& energy = device_.architecture.energy;
    const auto flop = energy.tensor_flop.find(std::string(name(shape_.product_type)));
    const Energy per_flop = flop != energy.tensor_flop.end() ? flop->second : Energy{0};
    const double all_bytes = as_double(bytes.count()) + passes_bytes();
    const Activity activity{per_flop * flops.value() + energy.l2_byte * all_bytes, energy.memory_byte * all_bytes};
    const OperatingPoint point =
        operating_point(device_, activity, [&](Frequency clock) { return terms_at(clock).total(); });
    const Terms terms = terms_at(point.clock);
    KernelCost cost;
    cost.duration = Time::from_seconds(point.seconds);
    cost.hbm_bytes = Bytes(std::llround(all_bytes));
    cost.l2_bytes = cost.hbm_bytes;
    cost.flops = flops;
    cost.power = point.power;
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

  // Rows x columns x depth of every expert.
  double core_seconds(double columns, double depth, Frequency clock) const {
    const double rate = std::min(device_.tensor_flops_per_cycle(shape_.product_type) * constants_.main_loop,
                                 constants_.most_flops_per_cycle);
    const double tile = 2 * rows_a_tile_ * constants_.tile_columns * depth / rate + constants_.ends.value();
    const double tiles = row_tiles_ * std::ceil(columns / constants_.tile_columns);
    return std::max(tile, tiles * tile / device_.sm.count) / clock.value();
  }

  double passes_bytes() const {
    const double all = as_double(shape_.tokens) * as_double(shape_.top_k);
    const double rows = constants_.touches_all_rows ? all : loads_.rows;
    const double elements = rows * (3 * as_double(shape_.intermediate) + as_double(shape_.hidden)) +
                            as_double(shape_.tokens) * as_double(shape_.hidden);
    return constants_.auxiliary * elements * bits(shape_.type) / 8;
  }

  Terms terms_at(Frequency clock) const {
    const double h = as_double(shape_.hidden);
    const double i = as_double(shape_.intermediate);
    const double weights = loads_.busy * weight_bytes(shape_);
    const double element = bits(shape_.type) / 8.0;
    const double bandwidth = device_.reached_bandwidth().value();
    const double stream = bandwidth * constants_.weight_stream;
    const double first = core_seconds(2 * i, h, clock);
    const double second = core_seconds(h, i, clock);
    const double first_memory = weights * 2 / 3 / stream + loads_.rows * (h + 2 * i) * element / bandwidth;
    const double second_memory = weights / 3 / stream + loads_.rows * (h + i) * element / bandwidth;
    Terms terms;
    terms.products = std::max(first, first_memory) + std::max(second, second_memory);
    terms.is_core_bound = first > first_memory;
    terms.passes = passes_bytes() / bandwidth;
    terms.fixed = constants_.fixed.seconds();
    return terms;
  }

  const MoeShape& shape_;
  const DeviceSpec& device_;
  const MoeConstants& constants_;
  Loads loads_;
  double rows_a_tile_ = 1;
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
    };
    return list;
  }

  void check_together(const Kernel& kernel) const override {
    const MoeShape shape = shape_of(kernel);
    constexpr std::int64_t most = 1 << 20;
    if (shape.experts > most) throw UserError(fmt::format("moe: expected `experts` of at most {}", most));
    if (shape.top_k > shape.experts) {
      throw UserError(fmt::format("moe: {} experts a token of only {}", shape.top_k, shape.experts));
    }
    if (shape.experts % shape.local_experts != 0) {
      throw UserError(
          fmt::format("moe: {} experts do not divide among devices of {}", shape.experts, shape.local_experts));
    }
  }

  Flops flops(const Kernel& kernel) const override {
    const MoeShape shape = shape_of(kernel);
    return Flops(6 * loads_of(shape).rows * as_double(shape.hidden) * as_double(shape.intermediate));
  }

  // Weights of the experts that have a token, tokens in and out.
  Bytes bytes(const Kernel& kernel) const override {
    const MoeShape shape = shape_of(kernel);
    const Loads loads = loads_of(shape);
    return Bytes(std::llround(loads.busy * weight_bytes(shape))) +
           bytes_of({shape.tokens, shape.hidden}, shape.type) * 2;
  }

  KernelCost cost(const Kernel& kernel, const DeviceSpec& device) const override {
    const MoeShape shape = shape_of(kernel);
    return MoeModel(shape, device).cost(flops(kernel), bytes(kernel));
  }
};

}  // namespace

Kernel moe(const MoeShape& shape) {
  Kernel kernel;
  kernel.family = "moe";
  kernel.size = {shape.tokens,  shape.hidden,        shape.intermediate, shape.top_k,
                 shape.experts, shape.local_experts, shape.skew};
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
