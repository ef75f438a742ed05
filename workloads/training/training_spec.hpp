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
  selective,  // outputs of norms and MLP activations (flash attention never keeps its scores)
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

struct TrainingTypes {
  TrainingType compute = TrainingType::bf16;
  TrainingType gradient = TrainingType::fp32;
  TrainingType gradient_reduce = TrainingType::fp32;

  static auto fields() {
    return field_list(
        field("compute", &TrainingTypes::compute, "weights, activations and their gradients").optional(),
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
  TrainingTypes types;
  int zero = 1;
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
        field("types", &TrainingSpec::types, "number formats").optional(),
        field("zero", &TrainingSpec::zero,
              "what is cut over the replicas: 0 nothing, 1 the optimizer's state (gradients are reduce-scattered, "
              "parameters gathered), 2 gradients too: freed as soon as they are reduced")
            .optional()
            .in(0, 2),
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
