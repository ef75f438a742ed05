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

// FlashAttention's num_splits_heuristic: the fewest parts whose waves are within 15% as full as the best.
double parts_of_fewest_waves(double blocks, double places, double most) {
  if (blocks >= 0.8 * places) return 1;
  const auto filling = [&](double parts) {
    const double waves = blocks * parts / places;
    return waves / std::ceil(waves);
  };
  double best = 0;
  for (double parts = 1; parts <= most; ++parts) best = std::max(best, filling(parts));
  for (double parts = 1; parts <= most; ++parts) {
    if (filling(parts) >= 0.85 * best) return parts;
  }
  return 1;
}

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

  bool narrows() const { return bits(kv_type(shape_)) < bits(shape_.type); }
  DataType product_type() const {
    return narrows() && constants_.eight_bit_products && device_.has(kv_type(shape_)) ? kv_type(shape_) : shape_.type;
  }
  // Elements of a key and its value that are read.
  double kv_width() const {
    return shape_.values_in_keys ? as_double(shape_.head_dim)
                                 : as_double(shape_.head_dim) + as_double(value_dim(shape_));
  }
  double kv_element() const { return bits(kv_type(shape_)) / 8.0; }

  double keys_a_step() const;
  double parts() const;
  double resident() const;
  StepCycles step_cycles() const;
  double ends_cycles() const;
  double core_cycles(const StepCycles& step) const;
  double l2_bytes() const { return heads_ * steps_.sum * column_tile_ * kv_width() * kv_element(); }
  double partial_bytes() const;
  double share_in_l2() const;
  double kept_in_l2(double bytes) const;
  double memory_bytes() const;
  Bytes new_keys() const;
  double seconds_around() const;
  Terms terms_at(Frequency clock) const;
  Activity activity(Flops flops) const;

  const AttentionShape& shape_;
  const DeviceSpec& device_;
  const AttentionConstants& constants_;
  const DecodeConstants& decode_ = constants_.decode;
  Bytes bytes_;
  bool is_decode_ = false;
  bool packs_ = false;
  double row_tile_ = 0;
  double column_tile_ = 0;
  Steps steps_;         // of one head, not cut
  double heads_ = 0;    // that have blocks of their own
  double parts_ = 1;    // of the keys
  double blocks_ = 0;   // parts counted
  double sharing_ = 1;  // blocks on an SM at once
  double around_ = 0;   // seconds of the operation's other kernels, which move memory
};

ForwardModel::ForwardModel(const AttentionShape& shape, const DeviceSpec& device)
    : shape_(shape), device_(device), constants_(device.architecture.attention), bytes_(attention_traffic(shape).all) {
  const double queries = as_double(shape.query_length);
  const double group = as_double(shape.query_heads) / as_double(shape.kv_heads);
  is_decode_ = shape.query_length == 1 || (shape.query_length <= 16 && shape.kv_length >= 4 * shape.query_length);
  packs_ = group > 1 && (is_decode_ ? shape.window == 0 || decode_.packs_windowed
                                    : constants_.packs_groups &&
                                          (shape.serving || std::fmod(queries, constants_.tile_queries) != 0));
  row_tile_ = is_decode_ ? decode_.tile_queries : constants_.tile_queries;
  column_tile_ = keys_a_step();
  Sweep sweep;
  sweep.rows = packs_ ? queries * group : queries;
  sweep.columns = as_double(shape.kv_length);
  sweep.row_tile = row_tile_;
  sweep.column_tile = column_tile_;
  sweep.first = as_double(shape.kv_length) - queries + 1;
  sweep.pack = packs_ ? group : 1;
  sweep.window = as_double(shape.window);
  sweep.causal = shape.causal;
  steps_ = steps_of(sweep);
  heads_ = as_double(shape.batch) * as_double(packs_ ? shape.kv_heads : shape.query_heads);
  parts_ = parts();
  blocks_ = heads_ * steps_.blocks * parts_;
  sharing_ = resident();
  around_ = seconds_around();
}

// Shared memory holds fewer keys of longer heads; libraries have powers of two.
double ForwardModel::keys_a_step() const {
  const double keys = is_decode_ ? decode_.tile_keys : constants_.tile_keys;
  return std::clamp(std::exp2(std::floor(std::log2(keys * 256.0 / kv_width()))), 16.0, 256.0);
}

double ForwardModel::parts() const {
  if (!is_decode_ || (decode_.splits_grouped_only && !packs_)) return 1;
  const double blocks = heads_ * steps_.blocks;
  const double tiles = steps_.longest;
  if (tiles <= decode_.split_minimum_tiles) return 1;
  const double sms = device_.sm.count;
  const double most = std::min({tiles, static_cast<double>(decode_.split_maximum), sms});
  double parts = 1;
  switch (decode_.split) {
    case SplitRule::none:
      break;
    case SplitRule::fewest_waves:
      parts = parts_of_fewest_waves(blocks, sms * decode_.blocks_an_sm, most);
      break;
    case SplitRule::even_load:
      parts = std::ceil(tiles / std::ceil(1.1 * blocks * tiles / sms));
      break;
    case SplitRule::fill:
      parts = std::floor(sms * decode_.blocks_an_sm / blocks);
      break;
  }
  parts = std::clamp(parts, 1.0, most);
  return std::ceil(tiles / std::ceil(tiles / parts));  // none is empty
}

// As many as the kernel is built for and shared memory holds (a tile of queries, two of keys).
double ForwardModel::resident() const {
  const double wanted = is_decode_ ? decode_.blocks_an_sm : constants_.blocks_an_sm;
  const double block = (row_tile_ * as_double(shape_.head_dim) + column_tile_ * kv_width()) * bits(shape_.type) / 8;
  const double fit = std::floor(static_cast<double>(device_.sm.shared_memory.count()) / block);
  return std::clamp(std::min(wanted, std::ceil(blocks_ / device_.sm.count)), 1.0, std::max(1.0, fit));
}

ForwardModel::StepCycles ForwardModel::step_cycles() const {
  const double scores = row_tile_ * column_tile_;
  const double d = as_double(shape_.head_dim);
  StepCycles step;
  step.products = 2 * scores * (d + as_double(value_dim(shape_))) /
                  (device_.tensor_flops_per_cycle(product_type()) * constants_.main_loop);
  step.softmax = constants_.softmax_cycles_scale * scores / device_.sm.special_function_lanes;
  const double converted =
      narrows() && constants_.converted_per_cycle > 0 ? column_tile_ * kv_width() / constants_.converted_per_cycle : 0;
  step.operands = column_tile_ * kv_width() * kv_element() / operand_rate(device_, blocks_);
  const double sum = step.products + step.softmax + (constants_.is_pipelined ? 0 : converted);
  const double busy =
      std::max({step.products, step.softmax, step.operands, converted, constants_.softmax_overlap * sum});
  step.alone = constants_.is_pipelined
                   ? busy
                   : std::max(busy, sum + constants_.exposed_latency * device_.memory.latency.value());
  step.total = std::max(busy, step.alone / sharing_);
  return step;
}

double ForwardModel::ends_cycles() const {
  const double by_head = as_double(value_dim(shape_)) / 128;
  if (!is_decode_) return constants_.prologue.value() + constants_.epilogue.value() * by_head;
  const bool is_cut = shape_.window > 0 && shape_.window < shape_.kv_length;
  return decode_.prologue.value() + decode_.epilogue.value() * by_head + (is_cut ? decode_.window_start.value() : 0);
}

double ForwardModel::core_cycles(const StepCycles& step) const {
  const double sms = device_.sm.count;
  const double ends = ends_cycles();
  const double longest_steps = std::ceil(steps_.longest / parts_);
  if (blocks_ <= sms) return longest_steps * step.alone + ends;
  if (steps_.longest == steps_.shortest)
    return std::ceil(blocks_ / sms) * (longest_steps * step.total + ends / sharing_);
  const double sum = heads_ * (steps_.sum * step.total + steps_.blocks * parts_ * ends / sharing_);
  const double longest = longest_steps * step.total + ends;
  const double shortest = steps_.shortest * step.total + ends;
  return std::max(longest, sum / sms) + shortest / 2;
}

// fp32 results of the parts, written and read.
double ForwardModel::partial_bytes() const {
  if (parts_ == 1) return 0;
  const double rows = as_double(shape_.batch) * as_double(shape_.query_heads) * as_double(shape_.query_length);
  return 2 * 4 * parts_ * rows * as_double(value_dim(shape_));
}

// A train of the same operation finds what the L2 holds; beyond its capacity each evicts what it will need next.
double ForwardModel::share_in_l2() const {
  return shape_.warm ? kept_in_l2(static_cast<double>((bytes_ + new_keys() * 2).count())) : 0;
}

double ForwardModel::kept_in_l2(double bytes) const {
  return std::clamp((1.2 - bytes / static_cast<double>(device_.l2.capacity.count())) / 0.5, 0.0, 1.0);
}

// Keys and values are read again for the second and later heads of a group that are not packed.
double ForwardModel::memory_bytes() const {
  const auto compulsory = static_cast<double>(bytes_.count());
  if (!constants_.heads_outermost || packs_) return compulsory;
  const Bytes queries_and_results =
      bytes_of({shape_.batch, shape_.query_heads, shape_.query_length, shape_.head_dim}, shape_.type) * 2;
  const double keys = compulsory - static_cast<double>(queries_and_results.count());
  const double heads_a_group = as_double(shape_.query_heads) / as_double(shape_.kv_heads);
  const double one_head = keys / as_double(shape_.kv_heads) +
                          static_cast<double>(queries_and_results.count()) / as_double(shape_.query_heads);
  return compulsory + keys * (heads_a_group - 1) * (1 - kept_in_l2(one_head));
}

// Of the tokens that the operation brings, as the engine hands them over.
Bytes ForwardModel::new_keys() const {
  return shape_.serving
             ? bytes_of({shape_.batch, shape_.query_length, 2 * shape_.kv_heads, shape_.head_dim}, shape_.type)
             : Bytes{0};
}

// The kernels around it, all of which move memory.
double ForwardModel::seconds_around() const {
  const double gap = device_.launch.graph.seconds();
  double seconds = 0;
  if (parts_ > 1)
    seconds += decode_.combine.seconds() + decode_.combine_part.value() * parts_ / device_.clock.max.value();
  if (!shape_.serving) return seconds;
  seconds += constants_.scheduling.seconds();
  StreamingWork write;
  write.read = new_keys();
  write.written = bytes_of({shape_.batch, shape_.query_length, 2 * shape_.kv_heads, shape_.head_dim}, kv_type(shape_));
  write.bytes_per_cycle_per_sm =
      narrows() ? device_.architecture.streaming.cache_write_8bit : device_.architecture.streaming.cache_write;
  write.blocks = shape_.batch * shape_.query_length;
  write.share_in_l2 = share_in_l2();
  seconds += gap + streaming_cost(write, device_).duration.seconds();
  if (is_decode_ && packs_ && decode_.copies_groups && shape_.batch > 1 && shape_.kv_heads > 1) {
    StreamingWork copy;
    copy.read = copy.written =
        bytes_of({shape_.batch, shape_.query_length, shape_.query_heads, shape_.head_dim}, shape_.type);
    copy.bytes_per_cycle_per_sm = device_.architecture.streaming.element_wise;
    copy.share_in_l2 = share_in_l2();
    seconds += 2 * (gap + streaming_cost(copy, device_).duration.seconds());
  }
  return seconds;
}

ForwardModel::Terms ForwardModel::terms_at(Frequency clock) const {
  const double in_l2 = share_in_l2();
  const double bytes = memory_bytes();
  const double l2_bandwidth = device_.l2_bandwidth_at(clock).value();
  Terms terms;
  terms.core = core_cycles(step_cycles()) / clock.value();
  const double ends = ends_cycles() / clock.value();
  const double turns = std::max(1.0, blocks_ / (device_.sm.count * sharing_));
  terms.exposed = ends * (1 + (1 - constants_.ends_overlap) * (turns - 1));
  terms.memory = (1 - in_l2) * bytes / device_.reached_bandwidth().value() + in_l2 * bytes / l2_bandwidth;
  terms.around = around_ + partial_bytes() / l2_bandwidth;
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
  const double scores = heads_ * steps_.sum * row_tile_ * column_tile_;
  return attention_activity(device_, product_type(), flops, scores, l2_bytes(), memory_bytes());
}

KernelCost ForwardModel::cost() const {
  const Flops flops = attention_flops(shape_);
  const auto seconds_at = [&](Frequency clock) { return terms_at(clock).total(); };
  const OperatingPoint point = operating_point(device_, activity(flops), seconds_at);
  const Terms terms = terms_at(point.clock);
  const StepCycles step = step_cycles();
  KernelCost cost =
      cost_at(point, flops, Bytes(std::llround(memory_bytes())), Bytes(std::llround(l2_bytes() + partial_bytes())));
  cost.sm_share = std::min(1.0, blocks_ / device_.sm.count);
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
