// SPDX-License-Identifier: Apache-2.0
// What drawing tokens costs: passes over the logits and their probabilities, kernel by kernel.
//
// Equations, x = rows x vocabulary values: greedy reads the logits once. Else a softmax (temperature within) reads them
// and writes FP32 probabilities, going over each row twice; a draw reads half of them on average up to the token it
// falls on. With top-k or top-p a drawn token is rejected if it lies outside, which takes a pass over all
// probabilities; `rounds` of both (FlashInfer: few, as each rejection narrows the interval from both ends). `sorted`: 4
// digits of a radix sort, each reading and writing values and 8-byte places; masks, for top-p behind a softmax and a
// running sum; values back to their places; softmax, noise, division and arg max. One block of 1,024 threads a row,
// each with one 16-byte load in flight, two blocks an SM; of sorts and single operators as many as wanted. Kernels
// behind the first find in the L2 what fits. Assumes the gap of a captured graph between kernels. Source:
// flashinfer.ai/2025/03/10/ sampling.html and vLLM's PyTorch sampler (apply_top_k_top_p); no measured rows.
#include "hw_models/kernels/sampling.hpp"

#include <algorithm>
#include <vector>

#include "hw_models/kernels.hpp"
#include "hw_models/kernels/l2_residency.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/streaming.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::uint32_t greedy_flag = 1;
constexpr std::uint32_t top_k_flag = 2;
constexpr std::uint32_t top_p_flag = 4;
constexpr std::uint32_t sorted_flag = 8;

constexpr int place_bytes = 8;  // int64 indices
constexpr int probability_bytes = 4;

SamplingShape shape_of(const Kernel& kernel) {
  return {kernel.size[0],
          kernel.size[1],
          kernel.size[2],
          (kernel.flags & greedy_flag) != 0,
          (kernel.flags & top_k_flag) != 0,
          (kernel.flags & top_p_flag) != 0,
          (kernel.flags & sorted_flag) != 0,
          kernel.input};
}

// The kernels of one call, in order.
class Stages {
 public:
  explicit Stages(const SamplingShape& shape) : shape_(shape), values_(Bytes(shape.rows) * shape.vocabulary) {
    const double logit_bytes = bits(shape.type) / 8.0;
    if (shape.greedy) {
      row_blocks(logit_bytes, 0, 1);
      return;
    }
    if (shape.sorted) sort(logit_bytes);
    row_blocks(2 * logit_bytes, probability_bytes, 5, 1);
    if (shape.sorted) {
      stream(0, probability_bytes, 4);                      // exponential noise
      stream(2 * probability_bytes, probability_bytes, 1);  // divided by it
      row_blocks(probability_bytes, 0, 1);                  // arg max
      return;
    }
    const bool rejects = shape.top_k || shape.top_p;
    const double rounds = rejects ? static_cast<double>(shape.rounds) : 1;
    row_blocks(rounds * (rejects ? 1.5 : 0.5) * probability_bytes, 0, 2 * rounds);
  }

  const std::vector<StreamingWork>& all() const { return all_; }

 private:
  void sort(double value_bytes) {
    const double pair = value_bytes + place_bytes;
    constexpr int digits = 4;
    for (int i = 0; i < digits; ++i) stream(pair, pair, 4);
    if (shape_.top_k) stream(value_bytes, value_bytes, 1);  // below the k-th largest
    if (shape_.top_p) {
      row_blocks(2 * value_bytes, probability_bytes, 5, 1);  // softmax
      row_blocks(probability_bytes, probability_bytes, 1);   // running sum
      stream(probability_bytes + value_bytes, value_bytes, 1);
    }
    stream(pair, value_bytes, 0);  // back to their places
  }

  StreamingWork& stream(double read, double written, double flops) {
    StreamingWork work;
    work.read = values_ * read;
    work.written = values_ * written;
    work.vector_flops = static_cast<double>(values_.count()) * flops;
    return all_.emplace_back(work);
  }

  void row_blocks(double read, double written, double flops, int exponentials = 0) {
    StreamingWork& work = stream(read, written, flops);
    work.exponentials = static_cast<double>(values_.count()) * exponentials;
    work.blocks = shape_.rows;
    work.bytes_in_flight_per_sm = 1024 * 16;  // of one block
  }

  SamplingShape shape_;
  Bytes values_;  // their number
  std::vector<StreamingWork> all_;
};

class Sampling final : public KernelFamily {
 public:
  std::string_view name() const override { return "sampling"; }
  std::string_view meaning() const override { return "next tokens drawn from logits"; }

  std::span<const KernelParameter> parameters() const override {
    static constexpr KernelParameter list[] = {
        {"rows", "sequences that need a token"},
        {"vocabulary", "logits of each"},
        {"rounds", "draws until one lies within top-k and top-p", 2},
    };
    return list;
  }
  std::span<const KernelFlag> flags() const override {
    static constexpr KernelFlag list[] = {
        {"greedy", greedy_flag, "the largest logit, nothing drawn"},
        {"top_k", top_k_flag, "only of the k likeliest tokens"},
        {"top_p", top_p_flag, "only of the likeliest tokens that together reach p"},
        {"sorted", sorted_flag, "these by sorting, with operators of a framework; without: by rejection (FlashInfer)"},
    };
    return list;
  }

  void check_together(const Kernel& kernel) const override {
    const SamplingShape shape = shape_of(kernel);
    if (shape.greedy && (shape.top_k || shape.top_p)) throw UserError("sampling: `greedy` goes without the others");
    if (shape.sorted && !shape.top_k && !shape.top_p)
      throw UserError("sampling: `sorted` goes with `top_k` or `top_p`");
  }

  Flops flops(const Kernel& kernel) const override {
    double sum = 0;
    const Stages stages(shape_of(kernel));
    for (const StreamingWork& work : stages.all()) sum += work.vector_flops;
    return Flops(sum);
  }
  // Compulsory: logits in, tokens out.
  Bytes bytes(const Kernel& kernel) const override {
    const SamplingShape shape = shape_of(kernel);
    return bytes_of({shape.rows, shape.vocabulary}, shape.type) + Bytes(shape.rows) * place_bytes;
  }

  KernelCost cost(const Kernel& kernel, const DeviceSpec& device) const override {
    const Stages stages(shape_of(kernel));
    KernelCost sum;
    sum.sm_share = 0;
    double energy = 0;
    Time longest;
    bool is_first = true;
    for (StreamingWork work : stages.all()) {
      // Two blocks an SM at most; the blocks of `blocks` rows are spread over all SMs first.
      const bool has_two = work.blocks > device.sm.count;
      work.bytes_in_flight_per_sm *= has_two ? 2 : 1;
      if (!is_first) work.share_in_l2 = share_found_in_l2(work.bytes(), device);
      const KernelCost cost = streaming_cost(work, device);
      const Time gap = is_first ? Time::zero() : device.launch.graph;
      if (cost.duration > longest) {
        longest = cost.duration;
        sum.bound_by = cost.bound_by;
      }
      energy += cost.power.value() * cost.duration.seconds();
      sum.sm_share = std::max(sum.sm_share, cost.sm_share);
      sum.duration += cost.duration + gap;
      sum.hbm_bytes += cost.hbm_bytes;
      sum.l2_bytes += cost.l2_bytes;
      sum.flops = sum.flops + cost.flops;
      is_first = false;
    }
    sum.power = Power(energy / sum.duration.seconds());
    return sum;
  }
};

}  // namespace

Kernel sampling(const SamplingShape& shape) {
  Kernel kernel;
  kernel.family = "sampling";
  kernel.size = {shape.rows, shape.vocabulary, shape.rounds};
  kernel.input = shape.type;
  kernel.flags = (shape.greedy ? greedy_flag : 0) | (shape.top_k ? top_k_flag : 0) | (shape.top_p ? top_p_flag : 0) |
                 (shape.sorted ? sorted_flag : 0);
  return kernel;
}

const KernelFamily& sampling_family() {
  static const Sampling family;
  return family;
}

}  // namespace warploom
