// SPDX-License-Identifier: Apache-2.0
// Settings of runs as their programs write them: the same job said in five ways gives the same numbers.
#include "workloads/captured/run_settings.hpp"

#include <gtest/gtest.h>

#include "sim/core/errors.hpp"

namespace warploom {
namespace {

constexpr const char* script = R"(#!/bin/bash
TP=4   # ranks that share a layer
GPUS_PER_NODE=8
MODEL_ARGS=(
    --num-layers 32 --hidden-size 4096
    --ffn-hidden-size 11008 --num-attention-heads 32
    --group-query-attention --num-query-groups 8
    --seq-length 4096 --max-position-embeddings 4096
    --swiglu --normalization RMSNorm --position-embedding-type rope
    --untie-embeddings-and-output-weights
)
torchrun --nproc_per_node $GPUS_PER_NODE pretrain_gpt.py "${MODEL_ARGS[@]}" \
    --tensor-model-parallel-size ${TP} --pipeline-model-parallel-size=2 \
    --sequence-parallel --micro-batch-size 1 --global-batch-size 64 \
    --use-distributed-optimizer --bf16 --recompute-granularity selective
)";

constexpr const char* log = R"([before the start of training step]
using world size: 16, data-parallel size: 2
------------------------ arguments ------------------------
  bf16 ............................................ True
  ffn_hidden_size ................................. 11008
  fp16 ............................................ False
  global_batch_size ............................... 64
  group_query_attention ........................... True
  hidden_size ..................................... 4096
  kv_channels ..................................... 128
  micro_batch_size ................................ 1
  normalization ................................... RMSNorm
  num_attention_heads ............................. 32
  num_layers ...................................... 32
  num_query_groups ................................ 8
  padded_vocab_size ............................... 32000
  pipeline_model_parallel_size .................... 2
  position_embedding_type ......................... rope
  recompute_granularity ........................... selective
  seq_length ...................................... 4096
  sequence_parallel ............................... True
  swiglu .......................................... True
  tensor_model_parallel_size ...................... 4
  untie_embeddings_and_output_weights ............. True
  use_distributed_optimizer ....................... True
  virtual_pipeline_model_parallel_size ............ None
  world_size ...................................... 16
-------------------- end of arguments ---------------------
)";

void expect_the_job(const RunSettings& settings) {
  EXPECT_EQ(settings.tensor, 4);
  EXPECT_EQ(settings.pipeline, 2);
  EXPECT_EQ(settings.layers, 32);
  EXPECT_EQ(settings.hidden, 4096);
  EXPECT_EQ(settings.ffn, 11008);
  EXPECT_EQ(settings.heads, 32);
  EXPECT_EQ(settings.kv_heads, 8);
  EXPECT_EQ(settings.sequence_length, 4096);
  EXPECT_EQ(settings.micro_batch, 1);
  EXPECT_EQ(settings.global_batch, 64);
  EXPECT_EQ(settings.sequence_parallel, true);
  EXPECT_EQ(settings.is_gated, true);
  EXPECT_EQ(settings.has_rms_norm, true);
  EXPECT_EQ(settings.has_rotary, true);
  EXPECT_EQ(settings.has_tied_embeddings, false);
  EXPECT_EQ(settings.shards_optimizer, true);
  EXPECT_EQ(settings.compute, TrainingType::bf16);
  EXPECT_EQ(settings.recompute, Recompute::selective);
}

TEST(RunSettings, OfMegatronsScriptFollowItsVariablesAndContinuedLines) {
  const RunSettings settings = parse_run_settings(script, "train.sh");
  EXPECT_EQ(settings.format, "command line");
  expect_the_job(settings);
}

TEST(RunSettings, OfMegatronsLogAreItsListOfArguments) {
  const RunSettings settings = parse_run_settings(log, "train.log");
  EXPECT_EQ(settings.format, "argument list");
  expect_the_job(settings);
  EXPECT_EQ(settings.world_size, 16);
  EXPECT_EQ(settings.padded_vocabulary, 32000);
  EXPECT_EQ(settings.head_dim, 128);
  EXPECT_EQ(settings.virtual_stages, std::nullopt);
}

TEST(RunSettings, OfAJobWithoutGroupedQueriesIgnoreTheirNumber) {
  const RunSettings settings = parse_run_settings(
      "  group_query_attention .... False\n  num_query_groups .... 1\n  num_attention_heads .... 32\n", "train.log");
  EXPECT_EQ(settings.heads, 32);
  EXPECT_EQ(settings.kv_heads, std::nullopt);
}

TEST(RunSettings, OfTorchtitanAreThoseOfItsTables) {
  const RunSettings settings = parse_run_settings(R"(
# 64 devices
[model]
name = "llama3"
flavor = "8B"
[optimizer]
lr = 3e-4   # no matter here
[training]
local_batch_size = 2
seq_len = 8_192
steps = 1000
[parallelism]
data_parallel_replicate_degree = 2
data_parallel_shard_degree = 8
tensor_parallel_degree = 4
pipeline_parallel_degree = 1
[activation_checkpoint]
mode = "full"  # ["none", "selective", "full"]
)",
                                                  "llama3_8b.toml");
  EXPECT_EQ(settings.format, "TOML");
  EXPECT_EQ(settings.model, "llama3_8B");
  EXPECT_EQ(settings.tensor, 4);
  EXPECT_EQ(settings.data, 2 * 8);
  EXPECT_EQ(settings.micro_batch, 2);
  EXPECT_EQ(settings.global_batch, 2 * 16);
  EXPECT_EQ(settings.sequence_length, 8192);
  EXPECT_EQ(settings.recompute, Recompute::full);
}

TEST(RunSettings, OfTorchtitanLeaveOutWhatItFindsByItself) {
  const RunSettings settings =
      parse_run_settings("[parallelism]\ndata_parallel_shard_degree = -1\ntensor_parallel_degree = 8\n", "job.toml");
  EXPECT_EQ(settings.tensor, 8);
  EXPECT_EQ(settings.data, std::nullopt);
}

TEST(RunSettings, OfVllmAreTheSameAsCommandLineJsonAndYaml) {
  const char* texts[] = {
      "vllm serve meta-llama/Llama-3.1-70B --tensor-parallel-size 8 --pipeline-parallel-size 2 --dtype bfloat16 "
      "--max-model-len 16384",
      R"({"model": "meta-llama/Llama-3.1-70B", "tensor_parallel_size": 8, "pipeline_parallel_size": 2,
          "dtype": "bfloat16", "max_model_len": 16384, "enforce_eager": true})",
      "model: meta-llama/Llama-3.1-70B\ntensor-parallel-size: 8\npipeline-parallel-size: 2  # two nodes\n"
      "dtype: \"bfloat16\"\nmax-model-len: 16384\n"};
  const char* formats[] = {"command line", "JSON", "YAML"};
  for (int i = 0; i < 3; ++i) {
    const RunSettings settings = parse_run_settings(texts[i], "vllm");
    EXPECT_EQ(settings.format, formats[i]);
    EXPECT_EQ(settings.model, "meta-llama/Llama-3.1-70B");
    EXPECT_EQ(settings.tensor, 8);
    EXPECT_EQ(settings.pipeline, 2);
    EXPECT_EQ(settings.compute, TrainingType::bf16);
    EXPECT_EQ(settings.positions, 16384);
  }
}

std::string refusal(const std::string& text) {
  try {
    parse_run_settings(text, "settings");
  } catch (const UserError& error) {
    return error.message();
  }
  return "read";
}

TEST(RunSettings, RefuseWhatIsNoValueOfItsKeyByLine) {
  EXPECT_EQ(refusal("--num-layers 12 \\\n --tensor-model-parallel-size many"),
            "settings:2: `tensor_model_parallel_size`: expected a whole number up to 1000000000, got `many`");
  EXPECT_EQ(refusal("--tensor-model-parallel-size $TP"),
            "settings:1: `tensor_model_parallel_size`: expected a whole number up to 1000000000, got `$TP`");
  EXPECT_NE(refusal("[training]\nseq_len = 99999999999999999999\n"), "read");
  EXPECT_NE(refusal("--recompute-granularity sometimes"), "read");
}

TEST(RunSettings, RefuseATextThatHoldsNone) {
  for (const char* text : {"", "hello", "{}", "{", "[a]\n", "--verbose", "\xff\xfe\0", "key: value"}) {
    EXPECT_NE(refusal(text), "read") << text;
  }
  EXPECT_NE(refusal(std::string(1000, '[')), "read");
  EXPECT_NE(refusal("{\"a\":" + std::string(100'000, '[')), "read");
}

TEST(RunSettings, WhoseProductsAreAbsurdAreLeftOut) {
  const RunSettings settings = parse_run_settings(
      "[parallelism]\ndata_parallel_shard_degree = 1000000000\ndata_parallel_replicate_degree = 1000000000\n"
      "[training]\nlocal_batch_size = 1000000000\n",
      "job.toml");
  EXPECT_EQ(settings.data, std::nullopt);
  EXPECT_EQ(settings.global_batch, std::nullopt);
}

}  // namespace
}  // namespace warploom
