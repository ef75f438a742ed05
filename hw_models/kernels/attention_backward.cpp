// SPDX-License-Identifier: Apache-2.0
// What the gradient of fused attention costs.
//
// Equations: a block of bk keys steps over bq queries with five products and one exponential a score, in cycles:
//   step  = max(products, softmax, operands, overlap (products + softmax)),  products = 10 bq bk d / (rate x main_loop)
//   block = prologue + steps x step + epilogue;  core = waves x block, unequal blocks as in attention_forward.cpp
//   t     = 3 fixed + max(core / f, bytes / HBM) + bytes aside / HBM
// The gradient of the queries is added up in fp32 through the L2. A kernel before (row sums of O dO, clearing that
// gradient) and one after (converting it) move memory alone. Source: FlashAttention-2 (arXiv:2307.08691),
// FlashAttention-3 (arXiv:2407.08608).
#include <algorithm>
#include <cmath>

#include "hw_models/kernels/attention_cost.hpp"
#include "hw_models/kernels/attention_sweep.hpp"
#include "hw_models/operating_point.hpp"

namespace warploom {

namespace {

class BackwardModel {
 public:
  BackwardModel(const AttentionShape& shape, const DeviceSpec& device)
      : shape_(shape), device_(device), constants_(device.architecture.attention), traffic_(attention_traffic(shape)) {
    // Key block j meets the queries from its first key on; counted from the last key, block by block, that is `pack` 1.
    Sweep sweep;
    sweep.rows = static_cast<double>(shape.kv_length);
    sweep.columns = static_cast<double>(shape.query_length);
    sweep.row_tile = row_tile_;
    sweep.column_tile = column_tile_;
    sweep.causal = shape.causal;
    sweep.window = static_cast<double>(shape.window);
    steps_ = steps_of(sweep);
    heads_ = static_cast<double>(shape.batch) * static_cast<double>(shape.query_heads);
    blocks_ = heads_ * steps_.blocks;
  }

  KernelCost cost() const {
    const Flops flops = attention_flops(shape_);
    const auto seconds_at = [&](Frequency clock) { return terms_at(clock).total(); };
    const OperatingPoint point = operating_point(device_, activity(flops), seconds_at);
    const Terms terms = terms_at(point.clock);
    const AttentionStep step = step_cycles();
    KernelCost cost = cost_at(point, flops, traffic_.all, Bytes(std::llround(l2_bytes())));
    cost.sm_share = std::min(1.0, blocks_ / device_.sm.count);
    if (terms.fixed > std::max(terms.core, terms.memory)) {
      cost.bound_by = Bound::latency;
    } else if (terms.memory + terms.aside >= terms.core) {
      cost.bound_by = Bound::hbm;
    } else {
      cost.bound_by = main_loop_bound(step, point);
    }
    return cost;
  }

 private:
  struct Terms {
    double core = 0;  // seconds
    double memory = 0;
    double aside = 0;
    double fixed = 0;
    double total() const { return fixed + aside + std::max(core, memory); }
  };

  AttentionStep step_cycles() const {
    const double scores = row_tile_ * column_tile_;
    const double d = static_cast<double>(shape_.head_dim);
    AttentionStep step;
    step.products = 10 * scores * d / (device_.tensor_flops_per_cycle(shape_.type) * constants_.backward_main_loop);
    step.softmax = constants_.softmax_cycles_scale * scores / device_.sm.special_function_lanes;
    step.operands = l2_bytes_a_step() / operand_rate(device_, blocks_);
    const double overlap = constants_.backward_overlap;
    step.total = std::max({step.products, step.softmax, step.operands, overlap * (step.products + step.softmax)});
    return step;
  }

  // Queries, their output's gradient, and their own gradient in fp32.
  double l2_bytes_a_step() const {
    return column_tile_ * static_cast<double>(shape_.head_dim) * (2 * bits(shape_.type) / 8.0 + 4);
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
    const double bandwidth = device_.reached_bandwidth().value();
    Terms terms;
    terms.core = cycles / clock.value();
    terms.memory = static_cast<double>((traffic_.all - traffic_.aside).count()) / bandwidth;
    terms.aside = static_cast<double>(traffic_.aside.count()) / bandwidth;
    terms.fixed = constants_.fixed.seconds() * 3;
    return terms;
  }

  Activity activity(Flops flops) const {
    const double scores = heads_ * steps_.sum * row_tile_ * column_tile_;
    return attention_activity(device_, shape_.type, flops, scores, l2_bytes(),
                              static_cast<double>(traffic_.all.count()));
  }

  const AttentionShape& shape_;
  const DeviceSpec& device_;
  const AttentionConstants& constants_;
  AttentionTraffic traffic_;
  double row_tile_ = constants_.backward_tile_keys;
  double column_tile_ = constants_.backward_tile_queries;
  Steps steps_;
  double heads_ = 0;
  double blocks_ = 0;
};

}  // namespace

KernelCost attention_backward_cost(const AttentionShape& shape, const DeviceSpec& device) {
  return BackwardModel(shape, device).cost();
}

}  // namespace warploom
