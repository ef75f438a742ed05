// SPDX-License-Identifier: Apache-2.0
// What fused attention costs forward: tiles and waves, products beside softmax, causal blocks of unequal length, and
// keys split among blocks where the queries are few.
//
// Equations, for a block of bq queries that steps over tiles of bk keys (bk shrinks as the head grows), in cycles:
//   products = 2 bq bk (d + v) / (rate x main_loop)    softmax = scale x bq bk / exponentials a clock
//   operands = keys' and values' bytes / L2 rate of an SM      converted = elements / conversion rate
//   busy  = max(products, softmax, operands, converted, overlap (products + softmax [+ converted]))
//   alone = products + softmax + converted + exposed latency (a pipelined kernel, which converts aside: busy)
//   step  = max(busy, alone / blocks that share the SM)
//   block = prologue + steps x step + epilogue v / 128;  causal, window: block i has the steps that its rows see
//   core  = few blocks: the longest alone; equal ones: blocks of an SM x block; unequal, longest first:
//           max(longest, sum / SMs) + half the shortest
//   t     = fixed + max(core, exposed + bytes / bandwidth), exposed: starts and ends of blocks, of the turns after the
//           first only the share in which no other block keeps memory busy
// Few queries (decoding): tiles are padded, the queries of a group fill them together, and the library's rule cuts the
// keys into parts; the parts' fp32 results are written, read and added: t += combine + 2 x their bytes / L2 bandwidth.
// A serving engine's operation writes the new keys and values to its cache before (a kernel of its own) and plans the
// batch. Bytes come from the L2 as far as a repeated operation still finds them there (`warm`). Assumes that keys and
// values of a head are read from memory once. Source: FlashAttention-2 (arXiv:2307.08691), FlashAttention-3
// (arXiv:2407.08608) and their sources for the rules; constants are fitted.
#include <algorithm>
#include <cmath>

#include "hw_models/kernels/attention_cost.hpp"
#include "hw_models/kernels/attention_sweep.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/operating_point.hpp"
#include "hw_models/streaming.hpp"

namespace warploom {

namespace {

class ForwardModel {
 public:
  ForwardModel(const AttentionShape& shape, const DeviceSpec& device);
  KernelCost cost() const;

 private:
  // `total`: a step of an SM with as many blocks as share it.
  struct StepCycles : AttentionStep {
    double alone = 0;
  };
  struct Terms {
    double core = 0;  // seconds
    double memory = 0;
    double around = 0;  // other kernels of the operation
    double fixed = 0;
    double exposed = 0;  // starts and ends of blocks that memory waits for
    double total() const { return fixed + around + std::max(core, exposed + memory); }
  };

  DataType product_type() const { return tiling_.product; }
  double kv_element() const { return bits(kv_type(shape_)) / 8.0; }

  StepCycles step_cycles() const;
  double ends_cycles() const;
  double core_cycles(const StepCycles& step) const;
  double l2_bytes() const {
    return tiling_.heads * tiling_.steps.sum * tiling_.column_tile * tiling_.kv_width * kv_element();
  }
  double memory_bytes() const { return attention_memory_bytes(shape_, tiling_, device_); }
  double seconds_around() const;
  Terms terms_at(Frequency clock) const;
  Activity activity(Flops flops) const;

  const AttentionShape& shape_;
  const DeviceSpec& device_;
  const AttentionConstants& constants_;
  const DecodeConstants& decode_ = constants_.decode;
  AttentionTiling tiling_;
  double around_ = 0;  // seconds of the operation's other kernels, which move memory
};

ForwardModel::ForwardModel(const AttentionShape& shape, const DeviceSpec& device)
    : shape_(shape),
      device_(device),
      constants_(device.architecture.attention),
      tiling_(attention_tiling(shape, device)),
      around_(seconds_around()) {}

ForwardModel::StepCycles ForwardModel::step_cycles() const {
  const double scores = tiling_.row_tile * tiling_.column_tile;
  const double d = as_double(shape_.head_dim);
  StepCycles step;
  step.products = 2 * scores * (d + as_double(value_dim(shape_))) /
                  (device_.tensor_flops_per_cycle(product_type()) * constants_.main_loop);
  step.softmax = constants_.softmax_cycles_scale * scores / device_.sm.special_function_lanes;
  const double converted = narrows(shape_) && constants_.converted_per_cycle > 0
                               ? tiling_.column_tile * tiling_.kv_width / constants_.converted_per_cycle
                               : 0;
  step.operands = tiling_.column_tile * tiling_.kv_width * kv_element() / operand_rate(device_, tiling_.blocks);
  const double sum = step.products + step.softmax + (constants_.is_pipelined ? 0 : converted);
  const double busy =
      std::max({step.products, step.softmax, step.operands, converted, constants_.softmax_overlap * sum});
  step.alone = constants_.is_pipelined
                   ? busy
                   : std::max(busy, sum + constants_.exposed_latency * device_.memory.latency.value());
  step.total = std::max(busy, step.alone / tiling_.sharing);
  return step;
}

double ForwardModel::ends_cycles() const {
  const double by_head = as_double(value_dim(shape_)) / 128;
  if (!tiling_.is_decode) return constants_.prologue.value() + constants_.epilogue.value() * by_head;
  const bool is_cut = shape_.window > 0 && shape_.window < shape_.kv_length;
  return decode_.prologue.value() + decode_.epilogue.value() * by_head + (is_cut ? decode_.window_start.value() : 0);
}

double ForwardModel::core_cycles(const StepCycles& step) const {
  const double sms = device_.sm.count;
  const double ends = ends_cycles();
  const double longest_steps = tiling_.part_tiles;
  if (tiling_.blocks <= sms) return longest_steps * step.alone + ends;
  if (tiling_.steps.longest == tiling_.steps.shortest)
    return std::ceil(tiling_.blocks / sms) * (longest_steps * step.total + ends / tiling_.sharing);
  const double sum =
      tiling_.heads * (tiling_.steps.sum * step.total + tiling_.steps.blocks * tiling_.parts * ends / tiling_.sharing);
  const double longest = longest_steps * step.total + ends;
  const double shortest = tiling_.steps.shortest * step.total + ends;
  return std::max(longest, sum / sms) + shortest / 2;
}

// The kernels around it, all of which move memory.
double ForwardModel::seconds_around() const {
  const double gap = device_.launch.graph.seconds();
  double seconds = 0;
  if (tiling_.parts > 1)
    seconds +=
        decode_.combine.seconds() + decode_.combine_part.value() * tiling_.parts / device_.clock.highest().value();
  if (!shape_.serving) return seconds;
  seconds += constants_.scheduling.seconds();
  StreamingWork write;
  write.read = new_keys(shape_);
  write.written = bytes_of({shape_.batch, shape_.query_length, 2 * shape_.kv_heads, shape_.head_dim}, kv_type(shape_));
  write.bytes_per_cycle_per_sm =
      narrows(shape_) ? device_.architecture.streaming.cache_write_8bit : device_.architecture.streaming.cache_write;
  write.blocks = shape_.batch * shape_.query_length;
  write.share_in_l2 = share_in_l2(shape_, device_);
  seconds += gap + streaming_cost(write, device_).duration.seconds();
  if (tiling_.is_decode && tiling_.packs && decode_.copies_groups && shape_.batch > 1 && shape_.kv_heads > 1) {
    StreamingWork copy;
    copy.read = copy.written =
        bytes_of({shape_.batch, shape_.query_length, shape_.query_heads, shape_.head_dim}, shape_.type);
    copy.bytes_per_cycle_per_sm = device_.architecture.streaming.element_wise;
    copy.share_in_l2 = share_in_l2(shape_, device_);
    seconds += 2 * (gap + streaming_cost(copy, device_).duration.seconds());
  }
  return seconds;
}

ForwardModel::Terms ForwardModel::terms_at(Frequency clock) const {
  const double in_l2 = share_in_l2(shape_, device_);
  const double bytes = memory_bytes();
  const double l2_bandwidth = device_.l2_bandwidth_at(clock).value();
  Terms terms;
  terms.core = core_cycles(step_cycles()) / clock.value();
  const double ends = ends_cycles() / clock.value();
  const double turns = std::max(1.0, tiling_.blocks / (device_.sm.count * tiling_.sharing));
  terms.exposed = ends * (1 + (1 - constants_.ends_overlap) * (turns - 1));
  terms.memory = (1 - in_l2) * bytes / device_.reached_bandwidth().value() + in_l2 * bytes / l2_bandwidth;
  terms.around = around_ + partial_bytes(shape_, tiling_) / l2_bandwidth;
  if (product_type() != shape_.type) {  // queries are read and written narrow before; starts while the write still runs
    const double queries = as_double(shape_.batch) * as_double(shape_.query_length) * as_double(shape_.query_heads) *
                           as_double(shape_.head_dim);
    const double both = queries * (bits(shape_.type) + bits(product_type())) / 8;
    terms.around += both * ((1 - in_l2) / device_.reached_bandwidth().value() + in_l2 / l2_bandwidth);
  }
  terms.fixed = constants_.fixed.seconds();
  return terms;
}

Activity ForwardModel::activity(Flops flops) const {
  const double scores = tiling_.heads * tiling_.steps.sum * tiling_.row_tile * tiling_.column_tile;
  return attention_activity(device_, product_type(), flops, scores, l2_bytes(), memory_bytes());
}

KernelCost ForwardModel::cost() const {
  const Flops flops = attention_flops(shape_);
  const auto seconds_at = [&](Frequency clock) { return terms_at(clock).total(); };
  const OperatingPoint point = operating_point(device_, activity(flops), seconds_at);
  const Terms terms = terms_at(point.clock);
  const StepCycles step = step_cycles();
  KernelCost cost = cost_at(point, flops, Bytes(std::llround(memory_bytes())),
                            Bytes(std::llround(l2_bytes() + partial_bytes(shape_, tiling_))));
  cost.sm_share = std::min(1.0, tiling_.blocks / device_.sm.count);
  if (terms.fixed + terms.around + terms.exposed > std::max(terms.core - terms.exposed, terms.memory)) {
    cost.bound_by = Bound::latency;
  } else if (terms.exposed + terms.memory >= terms.core) {
    cost.bound_by = Bound::hbm;
  } else {
    cost.bound_by = main_loop_bound(step, point);
  }
  return cost;
}

}  // namespace

KernelCost attention_forward_cost(const AttentionShape& shape, const DeviceSpec& device) {
  return ForwardModel(shape, device).cost();
}

}  // namespace warploom
