// SPDX-License-Identifier: Apache-2.0
// Published closed forms of training memory and time; the builder's rows must agree with them where they apply.
#pragma once

#include <cstdint>

#include "sim/core/units.hpp"

namespace warploom {

// What mixed-precision Adam keeps for a parameter (arXiv:1910.02054, section 3.1): 2 + 2 + 12 bytes.
struct StateBytes {
  double weights = 2;
  double gradients = 2;
  double optimizer = 12;  // FP32 copy, momentum and variance
  double total() const { return weights + gradients + optimizer; }
};

// ZeRO (arXiv:1910.02054, sections 5 to 7) over `data` ranks: stage 1 cuts the optimizer, 2 the gradients too, 3 the
// weights too; stage 0 is plain data parallelism.
double zero_bytes_a_parameter(int stage, std::int64_t data, const StateBytes& state = {});
// Bytes that a rank communicates a step, relative to plain data parallelism: 1 up to stage 2, 1.5 in stage 3.
double zero_relative_communication(int stage);

enum class ActivationMode : std::uint8_t { none, selective, full };

// Activations of one transformer layer (arXiv:2205.05198, Table 2): 16-bit, GELU, ffn = 4h, unfused attention, dropout
// masks of one byte. `none` without parallelism: s b h (34 + 5 a s / h); tensor parallelism t leaves 10 s b h whole;
// sequence parallelism cuts that too; selective recomputes the attention core (no 5 a s / h); full keeps the input.
struct LayerShape {
  double sequence = 1;
  double micro_batch = 1;
  double hidden = 1;
  double heads = 1;
  double tensor = 1;
  bool sequence_parallel = false;
};
double layer_activation_bytes(const LayerShape& shape, ActivationMode mode);

// Activations on the first pipeline stage of interleaved 1F1B, relative to plain 1F1B: 1 + (p - 1) / (p v).
double interleaved_activation_factor(double stages, double chunks);

// Pipeline bubble as a share of ideal time: (p - 1) / (v m); equal stages, no communication time.
double bubble_over_ideal(double stages, double micro_batches, double chunks = 1);

// Seconds to train: 6 N D / (devices x peak x MFU).
double training_seconds(double parameters, double tokens, double devices, FlopRate peak, double mfu);

}  // namespace warploom
