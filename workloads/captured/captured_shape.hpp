// SPDX-License-Identifier: Apache-2.0
// What a captured transformer step shows of the model, the batch and the layout.
//
// A layer is read off the products of the forward pass between one attention and the next, in order: the projection
// (k = the heads' width) says the hidden size, the product back to it (n = hidden) the MLP's width, those in between
// whether it is gated, those after it the widths of queries, keys and values; a product that only stands after the last
// layer ends the pass, and is the head where it is wide enough. Groups say the layout where their descriptions tell
// what they are for; where they do not, the heads' width beside the hidden size says how many ranks share a layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/captured_run.hpp"
#include "workloads/training/training_spec.hpp"

namespace warploom {

struct CapturedShape {
  using Number = std::optional<std::int64_t>;
  std::string device;  // as the capture names it
  Number world;
  Number tensor;
  Number pipeline;
  Number context;
  Number data;
  bool tensor_is_guessed = false;  // by widths, not by a group

  // Of one rank.
  Number tokens;         // of a micro-batch
  Number attentions;     // of the forward passes: layers x micro-batches
  Number stage_layers;   // on one rank
  Number micro_batches;  // of one rank in the step
  Number slice_of_heads;
  Number slice_of_ffn;
  Number slice_of_qkv;
  Number slice_of_vocabulary;

  // Of the whole model, where the layout is known.
  Number hidden;
  Number head_dim;
  Number sequence_length;
  Number micro_batch;

  std::optional<bool> is_gated;
  std::optional<bool> has_rms_norm;
  std::optional<bool> has_flash_attention;
  std::optional<bool> sequence_parallel;
  std::optional<TrainingType> compute;
  bool has_backward = false;
};

// By the first capture that has work; its step of median length where steps are marked.
CapturedShape captured_shape(const CapturedRun& run);

}  // namespace warploom
