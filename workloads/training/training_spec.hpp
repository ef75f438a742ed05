// SPDX-License-Identifier: Apache-2.0
// What a training step computes and how, apart from model, layout and machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/core/config.hpp"
#include "sim/work/data_type.hpp"

namespace warploom {

// What is computed again in the backward pass instead of being kept.
enum class Recompute : std::uint8_t {
  none,
  selective,  // unfused attention: its core (scores, softmax, dropout); flash: outputs of norms and MLP activations
  full,       // whole layers: only their inputs are kept
};
template <>
struct EnumNames<Recompute> {
  static constexpr std::pair<Recompute, std::string_view> values[] = {
      {Recompute::none, "none"}, {Recompute::selective, "selective"}, {Recompute::full, "full"}};
};

// How the FLOPs that a step is worth are counted.
enum class FlopConvention : std::uint8_t { parameters, attention_causal, attention_full };
template <>
struct EnumNames<FlopConvention> {
  static constexpr std::pair<FlopConvention, std::string_view> values[] = {
      {FlopConvention::parameters, "6nd"},
      {FlopConvention::attention_causal, "6nd_attention_causal"},
      {FlopConvention::attention_full, "6nd_attention_full"}};
};

// Number formats that training can use.
enum class TrainingType : std::uint8_t { fp32, bf16, fp16 };
template <>
struct EnumNames<TrainingType> {
  static constexpr std::pair<TrainingType, std::string_view> values[] = {
      {TrainingType::fp32, "fp32"}, {TrainingType::bf16, "bf16"}, {TrainingType::fp16, "fp16"}};
};
constexpr DataType data_type(TrainingType type) {
  switch (type) {
    case TrainingType::fp32:
      return DataType::fp32;
    case TrainingType::bf16:
      return DataType::bf16;
    case TrainingType::fp16:
      return DataType::fp16;
  }
  return DataType::bf16;
}

// What the matrix products of layers take (embedding, head, attention and norms stay in the compute type). Quantised,
// every operand is converted before its product, for the backward in a transposed copy as well (Transformer Engine).
enum class ProductType : std::uint8_t {
  compute,
  fp8,          // one scale a tensor from the largest values of steps before (delayed scaling)
  fp8_current,  // one scale a tensor, from its own largest value: one more pass over it
  mxfp8,        // a scale for 32 values
  nvfp4,        // a scale for 16 values
};
template <>
struct EnumNames<ProductType> {
  static constexpr std::pair<ProductType, std::string_view> values[] = {{ProductType::compute, "compute"},
                                                                        {ProductType::fp8, "fp8"},
                                                                        {ProductType::fp8_current, "fp8_current"},
                                                                        {ProductType::mxfp8, "mxfp8"},
                                                                        {ProductType::nvfp4, "nvfp4"}};
};

// How attention is computed.
enum class AttentionKind : std::uint8_t {
  flash,    // one kernel, no scores in memory
  unfused,  // batched products, softmax and dropout one after the other (arXiv:2104.04473, arXiv:2205.05198)
};
template <>
struct EnumNames<AttentionKind> {
  static constexpr std::pair<AttentionKind, std::string_view> values[] = {{AttentionKind::flash, "flash"},
                                                                          {AttentionKind::unfused, "unfused"}};
};

// How the loss is computed from the logits.
enum class LossKind : std::uint8_t {
  fused,    // one pass a part: largest, sums, gradient
  unfused,  // an FP32 copy of the logits and a kernel a step, as Megatron-LM's vocab_parallel_cross_entropy
};
template <>
struct EnumNames<LossKind> {
  static constexpr std::pair<LossKind, std::string_view> values[] = {{LossKind::fused, "fused"},
                                                                     {LossKind::unfused, "unfused"}};
};

struct TrainingTypes {
  TrainingType compute = TrainingType::bf16;
  ProductType product = ProductType::compute;
  TrainingType gradient = TrainingType::fp32;
  TrainingType gradient_reduce = TrainingType::fp32;

  DataType product_type() const {
    switch (product) {
      case ProductType::compute:
        return data_type(compute);
      case ProductType::fp8:
      case ProductType::fp8_current:
      case ProductType::mxfp8:
        return DataType::fp8;
      case ProductType::nvfp4:
        return DataType::fp4;
    }
    return data_type(compute);
  }

  static auto fields() {
    return field_list(
        field("compute", &TrainingTypes::compute, "weights, activations and their gradients").optional(),
        field("product", &TrainingTypes::product,
              "what the matrix products of layers take: `compute`, the type above, or quantised operands")
            .optional(),
        field("gradient", &TrainingTypes::gradient, "what weight gradients are accumulated in").optional(),
        field("gradient_reduce", &TrainingTypes::gradient_reduce,
              "what weight gradients are reduced in between replicas")
            .optional());
  }
};

struct TrainingSpec {
  std::int64_t sequence_length = 0;
  std::int64_t global_batch = 0;  // set in either case once the experiment is read
  std::int64_t global_tokens = 0;
  std::int64_t micro_batch = 1;
  ConfigValue schedule;
  Recompute recompute = Recompute::none;
  AttentionKind attention = AttentionKind::flash;
  LossKind loss = LossKind::fused;
  TrainingTypes types;
  int zero = 1;
  bool overlap_tensor = false;
  bool overlap_gradient_reduce = true;
  bool overlap_parameter_gather = true;
  std::int64_t bucket_parameters = 0;
  std::optional<std::int64_t> padded_vocabulary;
  FlopConvention flop_convention = FlopConvention::attention_causal;
  Time iteration_overhead = Time::zero();
  Time synchronisation = Time::zero();

  static auto fields() {
    return field_list(
        field("sequence_length", &TrainingSpec::sequence_length, "tokens of a sequence").in(1, 100'000'000),
        field("global_batch", &TrainingSpec::global_batch, "sequences of a step, over all replicas")
            .optional()
            .in(1, 1'000'000'000),
        field("global_tokens", &TrainingSpec::global_tokens,
              "instead of global_batch: tokens of a step, over all replicas")
            .optional()
            .in(1, 1'000'000'000'000),
        field("micro_batch", &TrainingSpec::micro_batch, "sequences of a micro-batch").optional().in(1, 1'000'000),
        field("schedule", &TrainingSpec::schedule,
              "pipeline schedule; default: 1f1b, with virtual stages interleaved_1f1b")
            .optional(),
        field("recompute", &TrainingSpec::recompute, "what is computed again instead of kept").optional(),
        field("attention", &TrainingSpec::attention, "fused attention, or one kernel after the other").optional(),
        field("loss", &TrainingSpec::loss, "cross-entropy fused, or one kernel after the other on FP32 logits")
            .optional(),
        field("types", &TrainingSpec::types, "number formats").optional(),
        field(
            "zero", &TrainingSpec::zero,
            "what is cut over the replicas: 0 nothing, 1 the optimizer's state (gradients are reduce-scattered, "
            "parameters gathered), 2 gradients too: freed as soon as they are reduced, 3 weights too (FSDP): gathered "
            "a layer at a time, forward and backward of every micro-batch")
            .optional()
            .in(0, 3),
        field("overlap_tensor", &TrainingSpec::overlap_tensor,
              "with sequence parallelism: gathers and reductions of the tensor ranks go piece by piece beside the "
              "pieces of the product that needs or makes them (Transformer Engine's user buffers)")
            .optional(),
        field("overlap_gradient_reduce", &TrainingSpec::overlap_gradient_reduce,
              "reduce a bucket of gradients as soon as its last micro-batch is done; else all at the end")
            .optional(),
        field("overlap_parameter_gather", &TrainingSpec::overlap_parameter_gather,
              "gather updated parameters during the first forward of the next step; else at the end of the step")
            .optional(),
        field(
            "bucket_parameters", &TrainingSpec::bucket_parameters,
            "least parameters of a gradient bucket; 0: as Megatron, the larger of 40 million and 1 million x replicas")
            .optional()
            .in(0, 1'000'000'000'000),
        field("padded_vocabulary", &TrainingSpec::padded_vocabulary,
              "vocabulary with padding, so that the tensor ranks divide it")
            .in(1, 100'000'000),
        field("flop_convention", &TrainingSpec::flop_convention, "how model FLOPs are counted").optional(),
        field("iteration_overhead", &TrainingSpec::iteration_overhead,
              "host work at the start of every step (data, logging) that nothing overlaps")
            .optional(),
        field("synchronisation", &TrainingSpec::synchronisation,
              "host time to read the gradient norm before the optimizer starts")
            .optional());
  }
};

}  // namespace warploom
