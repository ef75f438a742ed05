// SPDX-License-Identifier: Apache-2.0
// The settings that a run was started with, of whichever program: what a trace does not show, these fill in.
//
// Read are Megatron-LM's arguments (a command line or script, or the list of arguments that it prints into its log:
// `tensor_model_parallel_size ......... 8`), torchtitan's job file (TOML) and vLLM's engine arguments (a command line,
// JSON or YAML). Of TOML and YAML what such files use: tables, and keys with numbers, words and Booleans; lists and
// nested values are passed over, as are all settings that say nothing of what is computed where.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "workloads/training/training_spec.hpp"

namespace warploom {

struct RunSettings {
  using Number = std::optional<std::int64_t>;
  std::string file;
  std::string format;  // "command line", "argument list", "TOML", "JSON", "YAML"
  std::string model;   // as the file names it

  Number tensor;
  Number pipeline;
  Number context;
  Number data;
  Number data_shard;  // torchtitan: `data` is the product of both
  Number data_replicate;
  Number expert;
  Number virtual_stages;
  Number layers_a_chunk;  // Megatron's other way to say it
  Number world_size;
  Number micro_batch;
  Number local_batch;  // sequences of a step on one replica
  Number global_batch;
  Number sequence_length;

  Number layers;
  Number hidden;
  Number ffn;
  Number heads;
  Number kv_heads;
  Number head_dim;
  Number vocabulary;
  Number padded_vocabulary;
  Number positions;

  std::optional<bool> sequence_parallel;
  std::optional<bool> is_gated;
  std::optional<bool> has_tied_embeddings;
  std::optional<bool> has_rms_norm;
  std::optional<bool> has_rotary;
  std::optional<bool> has_flash_attention;
  std::optional<bool> shards_optimizer;
  std::optional<bool> has_grouped_queries;
  std::optional<TrainingType> compute;
  std::optional<Recompute> recompute;

  std::int64_t used = 0;     // settings of the file that are among these
  std::int64_t ignored = 0;  // and that are not
};

// `file` stands for the text in messages. Throws UserError for a text that holds no settings, and for values that are
// no such thing as their key.
RunSettings parse_run_settings(std::string_view text, const std::string& file);
RunSettings read_run_settings(const std::string& path);

}  // namespace warploom
