// SPDX-License-Identifier: Apache-2.0
// Hugging Face files as published: parameter counts, KV caches, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/core/errors.hpp"
#include "workloads/models/hugging_face.hpp"

namespace warploom {
namespace {

using namespace warploom::literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Model library_model(const std::string& name) {
  return read_hugging_face(std::string(WARPLOOM_SOURCE_DIR) + "/configs/models/" + name + ".json");
}

// A small Llama with one more key; later keys of a JSON object win.
Model with(const std::string& more) {
  return parse_hugging_face(R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64,
      "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 2,
      "vocab_size": 1000, "max_position_embeddings": 4096)" +
                                (more.empty() ? "" : ", " + more) + "}",
                            "some.json");
}

std::string refusal(const std::string& more) {
  try {
    with(more);
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Model, HasThePublishedParameterCounts) {
  struct Published {
    std::string name;
    double billions;  // as the model cards of Meta, Qwen, Mistral and OpenAI, and arXiv:2005.14165, 2205.05198 give it
    double digit;     // worth of the last one given
  };
  for (const auto& [name, billions, digit] : std::vector<Published>{
           {"llama2_7b", 6.74, 0.01},     {"llama2_13b", 13.02, 0.01}, {"llama2_70b", 68.98, 0.01},
           {"llama3_2_1b", 1.24, 0.01},   {"llama3_8b", 8.03, 0.01},   {"llama3_70b", 70.6, 0.1},
           {"llama3_405b", 405.85, 0.01}, {"qwen2_5_7b", 7.62, 0.01},  {"qwen2_5_72b", 72.7, 0.1},
           {"qwen3_8b", 8.19, 0.01},      {"qwen3_32b", 32.8, 0.1},    {"qwen3_30b_a3b", 30.5, 0.1},
           {"qwen3_235b_a22b", 235, 1},   {"mixtral_8x7b", 46.7, 0.1}, {"mixtral_8x22b", 141, 1},
           {"gpt2_xl", 1.558, 0.001},     {"gpt3_175b", 175, 1},       {"megatron_22b", 22, 1},
           {"megatron_530b", 530, 1},     {"megatron_1t", 1007, 2},
       }) {
    EXPECT_NEAR(static_cast<double>(library_model(name).parameters()) / 1e9, billions, digit) << name;
  }
}

TEST(Model, CountsOfTheExpertsThoseThatATokenUses) {
  EXPECT_NEAR(static_cast<double>(library_model("mixtral_8x7b").active_parameters()), 12.9e9, 0.05e9);
  EXPECT_NEAR(static_cast<double>(library_model("mixtral_8x22b").active_parameters()), 39e9, 0.5e9);
  EXPECT_NEAR(static_cast<double>(library_model("qwen3_30b_a3b").active_parameters()), 3.3e9, 0.1e9);
  EXPECT_NEAR(static_cast<double>(library_model("qwen3_235b_a22b").active_parameters()), 22e9, 0.5e9);
  const Model dense = library_model("llama3_8b");
  EXPECT_EQ(dense.active_parameters(), dense.parameters());
}

TEST(Model, CutsMatricesOverTensorRanksAndKeepsNormsWhole) {
  const Model model = library_model("llama3_8b");
  const std::int64_t norms = 2 * model.hidden;
  EXPECT_EQ((model.layer_parameters_a_rank(8) - norms) * 8, model.layer_parameters() - norms);
}

// A3, A4: Llama 3 70B has the 80 layers, 8 KV heads of 128.
TEST(Model, KeepsThePublishedBytesOfKeysAndValuesAToken) {
  const Model model = library_model("llama3_70b");
  EXPECT_EQ(model.kv_cache_per_token(DataType::bf16), 320_KiB);
  EXPECT_EQ(model.kv_cache_per_token(DataType::bf16) * 8192, Bytes(5 * (std::int64_t{1} << 29)));  // 2.5 GiB
  EXPECT_EQ(model.kv_cache_per_token(DataType::bf16) * 131072, 40_GiB);
  Model all_heads = model;
  all_heads.kv_heads = 64;
  EXPECT_EQ(all_heads.kv_cache_per_token(DataType::bf16), model.kv_cache_per_token(DataType::bf16) * 8);
}

TEST(Model, WeighsTwoBytesAParameterInBf16) {
  const Model model = library_model("llama3_70b");
  EXPECT_EQ(model.weights(DataType::bf16).count(), 2 * model.parameters());
}

// A11: a model of 100T parameters made of Llama's parts; 200 TB = 181.9 TiB.
TEST(Model, OfAHundredTrillionParametersWeighsTwoHundredTerabytes) {
  Model model = library_model("llama3_405b");
  model.hidden = 131072;
  model.heads = 1024;
  model.ffn = 4 * model.hidden;
  model.layers = 1;
  const std::int64_t ends = model.parameters() - model.layer_parameters();
  model.layers = (100'000'000'000'000 - ends) / model.layer_parameters();
  const Bytes weights = model.weights(DataType::bf16);
  EXPECT_NEAR(weights / 1_TB, 200, 0.5);
  EXPECT_NEAR(Bytes(200'000'000'000'000) / 1_TiB, 181.9, 0.05);
  const auto devices = [](Bytes of_each) {
    return (Bytes(200'000'000'000'000).count() + of_each.count() - 1) / of_each.count();
  };
  EXPECT_EQ(devices(192_GB), 1042);
  EXPECT_EQ(devices(180_GB), 1112);
  EXPECT_EQ(devices(288_GB), 695);
}

TEST(HuggingFace, ListsTheKeysThatItIgnores) {
  EXPECT_THAT(with(R"("rope_theta": 500000.0, "use_cache": true)").ignored_keys,
              ElementsAre("rope_theta", "use_cache"));
}

TEST(HuggingFace, CountsTiedEmbeddingsOnce) {
  EXPECT_EQ(with("").parameters() - with(R"("tie_word_embeddings": true)").parameters(), 64 * 1000);
}

TEST(HuggingFace, CountsAttentionBiases) {
  const auto biases = with(R"("attention_bias": true)").layer_parameters() - with("").layer_parameters();
  EXPECT_EQ(biases, (64 + 2 * 16) + 64);
}

TEST(HuggingFace, TakesHeadSizesThatTheHiddenSizeDoesNotImply) {
  EXPECT_EQ(with(R"("head_dim": 16)").query_width(), 8 * 16);
  EXPECT_EQ(with(R"("head_dim": null)").head_dim, 8);
}

TEST(HuggingFace, GivesQwen3AScaleForQueriesAndOneForKeys) {
  const Model model = library_model("qwen3_8b");
  Model without = model;
  without.has_qk_norm = false;
  EXPECT_EQ(model.layer_parameters() - without.layer_parameters(), 2 * model.head_dim);
}

// A Mixtral of 2 layers; later keys win.
Model with_experts(const std::string& more) {
  return with(R"("model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "num_local_experts": 4,
      "num_experts_per_tok": 2, )" +
              more);
}

TEST(HuggingFace, CountsRouterAndExperts) {
  const Model model = with_experts(R"("mlp_bias": false)");
  const Model dense = with("");
  EXPECT_EQ(model.layer_parameters() - dense.layer_parameters(), 3 * 3 * 64 * 256 + 4 * 64);
  EXPECT_EQ(model.parameters() - model.active_parameters(), 2 * 2 * 3 * 64 * 256);
}

TEST(HuggingFace, RefusesExpertsThatDoNotFitTogether) {
  EXPECT_THAT([] { with_experts(R"("num_experts_per_tok": 5)"); },
              ::testing::ThrowsMessage<UserError>(HasSubstr("5 of 4 experts a token")));
  EXPECT_THAT([] { with_experts(R"("decoder_sparse_step": 2)"); },
              ::testing::ThrowsMessage<UserError>(HasSubstr("dense layers among those of experts")));
  EXPECT_THAT([] { with_experts(R"("mlp_only_layers": [0])"); },
              ::testing::ThrowsMessage<UserError>(HasSubstr("dense layers among those of experts")));
  EXPECT_THAT([] { with_experts(R"("num_local_experts": null)"); },
              ::testing::ThrowsMessage<UserError>(HasSubstr("`num_local_experts`: is missing")));
}

TEST(HuggingFace, RefusesExpertKeysOfOtherFamiliesOfExperts) {
  for (const std::string key : {"n_shared_experts", "first_k_dense_replace", "moe_intermediate_size"}) {
    EXPECT_THAT([&] { with_experts("\"" + key + "\": 1"); },
                ::testing::ThrowsMessage<UserError>(HasSubstr("`" + key + "`")))
        << key;
    EXPECT_NO_THROW(with_experts("\"" + key + "\": null"));
  }
}

TEST(HuggingFace, ReadsGptFiles) {
  const Model model = library_model("gpt3_175b");
  EXPECT_EQ(model.ffn, 4 * 12288);
  EXPECT_EQ(model.kv_heads, 96);
  EXPECT_FALSE(model.is_gated);
  EXPECT_TRUE(model.has_tied_embeddings);
  EXPECT_TRUE(model.has_dropout);
  EXPECT_EQ(model.positions, PositionKind::learned);
}

TEST(HuggingFace, RefusesKeysThatChangeTheComputation) {
  for (const std::string key :
       {R"("num_local_experts": 8)", R"("n_routed_experts": 256)", R"("kv_lora_rank": 512)", R"("q_lora_rank": 1536)",
        R"("partial_rotary_factor": 0.5)", R"("use_parallel_residual": true)", R"("quantization_config": {"bits": 4})",
        R"("text_config": {"hidden_size": 64})", R"("final_logit_softcapping": 30.0)", R"("is_encoder_decoder": true)",
        R"("sliding_window": 1024)", R"("layer_types": ["full_attention", "sliding_attention"])"}) {
    const std::string name = key.substr(1, key.find('"', 1) - 1);
    EXPECT_THAT(refusal(key), HasSubstr("some.json: `" + name + "`")) << key;
    EXPECT_THAT(refusal(key), HasSubstr("not modelled")) << key;
  }
}

TEST(HuggingFace, AcceptsThoseKeysWhereTheyAreSwitchedOff) {
  for (const std::string key :
       {R"("num_local_experts": 0)", R"("q_lora_rank": null)", R"("partial_rotary_factor": 1.0)",
        R"("use_parallel_residual": false)", R"("sliding_window": null)", R"("sliding_window": 4096)",
        R"("use_sliding_window": false, "sliding_window": 128)", R"("layer_types": ["full_attention"])",
        R"("quantization_config": null)"}) {
    EXPECT_EQ(refusal(key), "accepted") << key;
  }
}

TEST(HuggingFace, RefusesUnknownFamilies) {
  EXPECT_THAT(refusal(R"("model_type": "mamba")"), HasSubstr("`model_type`: `mamba` is not modelled"));
  EXPECT_THAT(refusal(R"("model_type": "mamba")"),
              HasSubstr("llama, mistral, mixtral, qwen2, qwen2_moe, qwen3, qwen3_moe, gpt2"));
  EXPECT_THAT(refusal(R"("architectures": ["LlamaForSequenceClassification"])"), HasSubstr("`architectures`"));
  EXPECT_THAT(refusal(R"("hidden_act": "relu2")"), HasSubstr("`hidden_act`: `relu2` is not modelled"));
}

TEST(HuggingFace, RefusesAbsurdValues) {
  EXPECT_THAT(refusal(R"("num_hidden_layers": 1000000000000)"),
              HasSubstr("`num_hidden_layers`: expected 1 to 100000, got `1000000000000`"));
  EXPECT_THAT(refusal(R"("num_hidden_layers": 18446744073709551615)"), HasSubstr("`num_hidden_layers`"));
  EXPECT_THAT(refusal(R"("num_hidden_layers": 100000, "hidden_size": 8000000, "intermediate_size": 100000000)"),
              HasSubstr("parameters"));
  EXPECT_THAT(refusal(R"("hidden_size": -1)"), HasSubstr("`hidden_size`"));
  EXPECT_THAT(refusal(R"("hidden_size": 64.5)"), HasSubstr("expected a whole number"));
  EXPECT_THAT(refusal(R"("num_key_value_heads": 3)"), HasSubstr("3 does not divide the 8 heads"));
  EXPECT_THAT(refusal(R"("num_attention_heads": 7)"), HasSubstr("`num_"));
  EXPECT_THAT(refusal(R"("vocab_size": null)"), HasSubstr("`vocab_size`: is missing"));
}

TEST(HuggingFace, RefusesWhatIsNotAModelFile) {
  EXPECT_THROW(parse_hugging_face("\x7f\x45\x4c\x46\x02\x01", "x"), UserError);
  EXPECT_THROW(parse_hugging_face("[]", "x"), UserError);
  EXPECT_THROW(parse_hugging_face("", "x"), UserError);
  EXPECT_THROW(parse_hugging_face(std::string(100'000, '['), "x"), UserError);
  EXPECT_THROW(parse_hugging_face(std::string(2 << 20, ' '), "x"), UserError);
  EXPECT_THROW(read_hugging_face("/nowhere/config.json"), UserError);
}

}  // namespace
}  // namespace warploom
