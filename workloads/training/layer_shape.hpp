// SPDX-License-Identifier: Apache-2.0
// One micro-batch in one transformer layer on one rank: its kernels and the bytes of its tensors.
#pragma once

#include <cstdint>

#include "sim/work/kernel.hpp"
#include "workloads/training/training_job.hpp"

namespace warploom {

// A product of activations and weights, and the two products of its backward.
struct ProductKernels {
  Kernel forward;          // [tokens, in] x [in, out]
  Kernel input_gradient;   // [tokens, out] x [out, in]
  Kernel weight_gradient;  // [out, tokens] x [tokens, in], added to what is there
};

struct ForwardBackward {
  Kernel forward;
  Kernel backward;
};

struct LayerKernels {
  ForwardBackward norm;
  ProductKernels qkv;
  ForwardBackward rotary;
  ForwardBackward attention;
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
  Kernel loss_largest;  // of each token's logits
  Kernel loss_sums;     // of exponentials, and the target's logit
  Kernel loss_backward;
};
LayerKernels layer_kernels(const TrainingJob& job);

// Bytes of one rank.
struct LayerBytes {
  std::int64_t whole = 0;  // [tokens, hidden], as the matrix products see it
  std::int64_t local = 0;  // the same as norms and residuals see it: cut with sequence parallelism
  std::int64_t mask = 0;   // dropout, one byte an element of `local`
  std::int64_t qkv = 0;
  std::int64_t attention = 0;    // its output
  std::int64_t log_sum_exp = 0;  // FP32, one a query and head
  std::int64_t first_mlp = 0;    // before the activation
  std::int64_t activation = 0;   // after it
  std::int64_t logits = 0;       // [tokens, vocabulary / t] in the compute type
  std::int64_t softmax = 0;      // the same in FP32, kept for the backward
  std::int64_t statistics = 0;   // one FP32 a token
};
LayerBytes layer_bytes(const TrainingJob& job);

}  // namespace warploom
