// SPDX-License-Identifier: Apache-2.0
// One micro-batch in one transformer layer on one rank: its kernels and the bytes of its tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/work/kernel.hpp"
#include "workloads/training/training_job.hpp"

namespace warploom {

// A product of activations and weights, and the two products of its backward.
struct ProductKernels {
  Kernel forward;          // [tokens, in] x [in, out]
  Kernel input_gradient;   // [tokens, out] x [out, in]
  Kernel weight_gradient;  // [out, tokens] x [tokens, in], added to what is there
  // Only with quantised operands.
  std::optional<Kernel> quantise_input;  // where no kernel before it does it on its way
  std::optional<Kernel> quantise_gradient;
  // Copies for the weight gradient, where the conversion does not make them on its way.
  std::optional<Kernel> transpose_input;
  std::optional<Kernel> transpose_gradient;
};

// One of several kernels that follow each other.
struct NamedKernel {
  std::string_view name;
  Kernel kernel;
  bool waits_for_shift = false;  // for the next keys and values from a context-parallel neighbour
};
using KernelChain = std::vector<NamedKernel>;

struct ForwardBackward {
  Kernel forward;
  Kernel backward;
};

struct LayerKernels {
  ForwardBackward norm;
  ProductKernels qkv;
  KernelChain query_key_forward;  // norms of heads and rotation
  KernelChain query_key_backward;
  KernelChain attention_forward;
  KernelChain attention_backward;
  ProductKernels projection;
  ProductKernels first_mlp;
  ForwardBackward activation;
  ProductKernels second_mlp;
  Kernel residual_add;
  Kernel gradient_add;
  Kernel dropout_backward;
  // At the ends of the model.
  ForwardBackward embedding;
  Kernel position_add;
  ProductKernels head;
  KernelChain loss_largest;  // of each token's logits
  KernelChain loss_sums;     // of exponentials, and the target's logit
  KernelChain loss_after;    // once the sums of all ranks are there
  KernelChain loss_backward;
};
LayerKernels layer_kernels(const TrainingJob& job);

// Bytes of one rank.
struct LayerBytes {
  std::int64_t whole = 0;  // [tokens, hidden], as the matrix products see it
  std::int64_t local = 0;  // the same as norms and residuals see it: cut with sequence parallelism
  std::int64_t mask = 0;   // dropout, one byte an element of `local`
  std::int64_t qkv = 0;
  std::int64_t query_key = 0;    // normalised queries and keys, kept beside what they were made of
  std::int64_t attention = 0;    // its output
  std::int64_t log_sum_exp = 0;  // FP32, one a query and head; unfused attention has none
  std::int64_t scores = 0;       // unfused: after softmax and after dropout, and the mask of one byte
  std::int64_t shifted = 0;      // keys and values that a context-parallel rank passes on
  std::int64_t moved = 0;        // as `whole`, in the type in which sequence parallelism gathers it
  std::int64_t first_mlp = 0;    // before the activation
  std::int64_t activation = 0;   // after it
  std::int64_t logits = 0;       // [tokens, vocabulary / t] in the compute type
  std::int64_t softmax = 0;      // the same in FP32, kept for the backward
  std::int64_t statistics = 0;   // one FP32 a token
};
LayerBytes layer_bytes(const TrainingJob& job);

}  // namespace warploom
