// SPDX-License-Identifier: Apache-2.0
// Hugging Face config.json to Model: which keys count in which family, and which must not be set.
#include "workloads/models/hugging_face.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/models/model_keys.hpp"

namespace warploom {

namespace {

using Json = nlohmann::json;

constexpr std::size_t max_file_bytes = std::size_t{1} << 20;
constexpr int max_depth = 32;

// What differs between the families beside names of keys.
struct Family {
  std::string_view model_type;
  std::string_view architecture;
  bool is_gpt2 = false;
  bool has_qkv_bias = false;  // when no key says so
  bool has_qk_norm = false;
  bool has_experts = false;
};
constexpr std::array<Family, 8> families = {{
    {.model_type = "llama", .architecture = "LlamaForCausalLM"},
    {.model_type = "mistral", .architecture = "MistralForCausalLM"},
    {.model_type = "mixtral", .architecture = "MixtralForCausalLM", .has_experts = true},
    {.model_type = "qwen2", .architecture = "Qwen2ForCausalLM", .has_qkv_bias = true},
    {.model_type = "qwen2_moe", .architecture = "Qwen2MoeForCausalLM", .has_qkv_bias = true, .has_experts = true},
    {.model_type = "qwen3", .architecture = "Qwen3ForCausalLM", .has_qk_norm = true},
    {.model_type = "qwen3_moe", .architecture = "Qwen3MoeForCausalLM", .has_qk_norm = true, .has_experts = true},
    {.model_type = "gpt2", .architecture = "GPT2LMHeadModel", .is_gpt2 = true, .has_qkv_bias = true},
}};

// Keys that mean another computation when they are set to anything but null, false, or what is named here.
struct Foreign {
  std::string_view key;
  std::string_view meaning;
  double harmless = 0;  // a number that means "not used"
};
constexpr std::array foreign_keys = {
    Foreign{"kv_lora_rank", "multi-head latent attention"},
    Foreign{"q_lora_rank", "multi-head latent attention"},
    Foreign{"qk_nope_head_dim", "multi-head latent attention"},
    Foreign{"qk_rope_head_dim", "multi-head latent attention"},
    Foreign{"v_head_dim", "multi-head latent attention"},
    Foreign{"num_nextn_predict_layers", "multi-token prediction"},
    Foreign{"partial_rotary_factor", "rotary positions on a part of each head", 1},
    Foreign{"rotary_pct", "rotary positions on a part of each head", 1},
    Foreign{"rotary_dim", "rotary positions on a part of each head"},
    Foreign{"use_qk_norm", "normalised queries and keys"},
    Foreign{"qk_layernorm", "normalised queries and keys"},
    Foreign{"attn_logit_softcapping", "capped attention scores"},
    Foreign{"final_logit_softcapping", "capped logits"},
    Foreign{"alibi", "linear position biases"},
    Foreign{"multi_query", "multi-query attention under its old name"},
    Foreign{"new_decoder_architecture", "parallel attention and MLP"},
    Foreign{"parallel_attn", "parallel attention and MLP"},
    Foreign{"use_parallel_residual", "parallel attention and MLP"},
    Foreign{"add_cross_attention", "cross-attention"},
    Foreign{"is_encoder_decoder", "an encoder"},
    Foreign{"num_encoder_layers", "an encoder"},
    Foreign{"encoder_layers", "an encoder"},
    Foreign{"vision_config", "an image encoder"},
    Foreign{"audio_config", "an audio encoder"},
    Foreign{"text_config", "a model of several parts"},
    Foreign{"quantization_config", "quantised weights"},
    Foreign{"state_size", "a state-space layer"},
    Foreign{"mamba_d_state", "a state-space layer"},
    Foreign{"attn_layer_period", "layers of different kinds"},
    Foreign{"hybrid_override_pattern", "layers of different kinds"},
    Foreign{"cross_layer_attention_share", "keys and values shared between layers"},
    Foreign{"num_kv_shared_layers", "keys and values shared between layers"},
};

// What belongs to the families of experts, and to no other.
constexpr std::array<std::string_view, 9> expert_keys = {
    "num_local_experts",   "num_experts",           "n_routed_experts",      "n_shared_experts",
    "num_experts_per_tok", "moe_intermediate_size", "first_k_dense_replace", "shared_expert_intermediate_size",
    "num_shared_experts"};

constexpr std::array<std::string_view, 9> activations = {
    "silu", "swish", "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "quick_gelu", "relu", "gelu_python"};

bool is_used(const Json& value, double harmless) {
  if (value.is_null()) return false;
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>() != 0 && value.get<double>() != harmless;
  return !value.empty();
}

const Family* find_family(std::string_view type) {
  const auto place = std::ranges::find(families, type, &Family::model_type);
  return place == families.end() ? nullptr : &*place;
}

const Family& family_of(ModelKeys& keys, const std::string& file) {
  const std::string type = keys.text("model_type", "");
  std::vector<std::string> known;
  for (const auto& family : families) known.emplace_back(family.model_type);
  const Family* place = find_family(type);
  if (place == nullptr) {
    throw UserError(fmt::format("{}: `model_type`: {} is not modelled", file,
                                type.empty() ? "a missing type" : warploom::quoted(type)),
                    "modelled: " + join(known));
  }
  if (const Json* list = keys.find("architectures"); list != nullptr) {
    if (!list->is_array() || list->size() != 1 || !list->front().is_string() ||
        list->front().get<std::string>() != place->architecture) {
      keys.fail("architectures", fmt::format("{} is not modelled for `{}`", ModelKeys::shown(*list), type),
                fmt::format("modelled: {}", place->architecture));
    }
  }
  return *place;
}

void refuse_used(ModelKeys& keys, std::string_view key, std::string_view meaning, double harmless) {
  const Json* value = keys.find(key);
  if (value == nullptr || !is_used(*value, harmless)) return;
  keys.fail(
      key,
      fmt::format("{} is not modelled, and the key changes the computation ({})", meaning, ModelKeys::shown(*value)),
      "decoders with full attention are modelled, and the experts of Mixtral and Qwen");
}

void refuse_foreign(ModelKeys& keys) {
  for (const auto& foreign : foreign_keys) refuse_used(keys, foreign.key, foreign.meaning, foreign.harmless);
  const Family* family = find_family(keys.text("model_type", ""));
  if (family == nullptr || !family->has_experts) {
    for (const auto key : expert_keys) refuse_used(keys, key, "a mixture of experts of this family", 0);
  }
  if (const Json* types = keys.find("layer_types"); types != nullptr) {
    for (const auto& type : *types) {
      if (type != "full_attention") keys.fail("layer_types", ModelKeys::shown(type) + " is not modelled");
    }
  }
}

// A window counts when it is switched on and shorter than the longest sequence.
void refuse_window(ModelKeys& keys, std::int64_t max_positions) {
  const bool is_on = keys.boolean("use_sliding_window", true);
  keys.find("max_window_layers");
  const auto window = keys.integer("sliding_window", std::int64_t{1} << 40);
  if (is_on && window && *window < max_positions) {
    keys.fail("sliding_window", fmt::format("attention in a window of {} tokens is not modelled", *window),
              "set it to null if the run does not use it");
  }
}

void read_sizes(ModelKeys& keys, const Family& family, Model& model) {
  const bool gpt2 = family.is_gpt2;
  model.layers = keys.required(gpt2 ? "n_layer" : "num_hidden_layers", 100'000);
  model.hidden = keys.required(gpt2 ? "n_embd" : "hidden_size", 10'000'000);
  model.heads = keys.required(gpt2 ? "n_head" : "num_attention_heads", 1'000'000);
  model.vocab = keys.required("vocab_size", 100'000'000);
  model.max_positions =
      keys.integer(gpt2 ? "n_positions" : "max_position_embeddings", std::int64_t{1} << 40).value_or(2048);
  const char* heads_key = gpt2 ? "n_head" : "num_attention_heads";
  if (gpt2) {
    model.ffn = keys.integer("n_inner", 100'000'000).value_or(4 * model.hidden);
    model.kv_heads = model.heads;
  } else {
    // Of some families of experts no layer has this width.
    model.ffn = family.has_experts ? keys.integer("intermediate_size", 100'000'000).value_or(model.hidden)
                                   : keys.required("intermediate_size", 100'000'000);
    model.kv_heads = keys.integer("num_key_value_heads", 1'000'000).value_or(model.heads);
    if (model.heads % model.kv_heads != 0) {
      keys.fail("num_key_value_heads", fmt::format("{} does not divide the {} heads", model.kv_heads, model.heads));
    }
  }
  auto head_dim = gpt2 ? std::nullopt : keys.integer("head_dim", 100'000);
  // Qwen 3's default is a number, not the hidden size over the heads.
  if (!head_dim && family.has_qk_norm) head_dim = 128;
  if (!head_dim && model.hidden % model.heads != 0) {
    keys.fail(heads_key, fmt::format("{} does not divide the hidden size {}", model.heads, model.hidden));
  }
  model.head_dim = head_dim.value_or(model.hidden / model.heads);
}

// Each size may be in range and their product still absurd: in floating point first, before anything is counted.
void refuse_absurd_size(const Model& model, const std::string& file) {
  constexpr double most = 1e16;
  const auto hidden = static_cast<double>(model.hidden);
  const double heads = static_cast<double>(model.heads) * static_cast<double>(model.head_dim);
  const double experts = static_cast<double>(model.experts.count) * static_cast<double>(model.experts.ffn) +
                         static_cast<double>(model.experts.shared_ffn);
  const double layer = hidden * (4 * heads + 3 * (static_cast<double>(model.ffn) + experts));
  const double ends = hidden * (2 * static_cast<double>(model.vocab) + static_cast<double>(model.max_positions));
  const double parameters = static_cast<double>(model.layers) * layer + ends;
  if (parameters > most) {
    throw UserError(fmt::format("{}: a model of {:.1e} parameters", file, parameters),
                    fmt::format("sizes that multiply to at most {:.0e} parameters are modelled", most));
  }
}

// Mixtral calls them local experts, of the MLP's width; Qwen gives them a width of their own.
void read_experts(ModelKeys& keys, const Family& family, Model& model) {
  if (!family.has_experts) return;
  constexpr std::int64_t most = 100'000;
  constexpr std::int64_t widest = 100'000'000;
  const bool mixtral = family.model_type == "mixtral";
  const char* count = mixtral ? "num_local_experts" : "num_experts";
  model.experts.count = keys.required(count, most);
  model.experts.per_token = keys.required("num_experts_per_tok", most);
  if (model.experts.per_token > model.experts.count) {
    keys.fail("num_experts_per_tok",
              fmt::format("{} of {} experts a token", model.experts.per_token, model.experts.count));
  }
  model.experts.ffn = mixtral ? model.ffn : keys.required("moe_intermediate_size", widest);
  if (family.model_type == "qwen2_moe") {
    model.experts.shared_ffn = keys.integer("shared_expert_intermediate_size", widest).value_or(5632);
  }
  if (keys.integer("decoder_sparse_step", most).value_or(1) != 1) {
    keys.fail("decoder_sparse_step", "dense layers among those of experts are not modelled");
  }
  if (const Json* dense = keys.find("mlp_only_layers"); dense != nullptr && !dense->empty()) {
    keys.fail("mlp_only_layers", "dense layers among those of experts are not modelled");
  }
  // What another family of experts says of its layers would change these.
  for (const auto key : expert_keys) {
    if (!keys.was_read(key)) refuse_used(keys, key, fmt::format("`{}` of `{}`", key, family.model_type), 0);
  }
}

void read_details(ModelKeys& keys, const Family& family, Model& model) {
  const bool gpt2 = family.is_gpt2;
  model.is_gated = !gpt2;
  const char* activation_key = gpt2 ? "activation_function" : "hidden_act";
  model.activation = keys.text(activation_key, gpt2 ? "gelu_new" : "silu");
  if (std::find(activations.begin(), activations.end(), model.activation) == activations.end()) {
    keys.fail(activation_key, fmt::format("{} is not modelled", warploom::quoted(model.activation)),
              fmt::format("modelled: {}", fmt::join(activations, ", ")));
  }
  model.norm = gpt2 ? NormKind::layer : NormKind::rms;
  model.positions = gpt2 ? PositionKind::learned : PositionKind::rotary;
  model.has_tied_embeddings = keys.boolean("tie_word_embeddings", gpt2);
  model.has_qkv_bias = keys.boolean("attention_bias", family.has_qkv_bias);
  // Qwen2 has biases on Q, K and V alone.
  model.has_output_bias = gpt2 || (model.has_qkv_bias && !family.has_qkv_bias);
  model.has_mlp_bias = keys.boolean("mlp_bias", gpt2);
  model.has_qk_norm = family.has_qk_norm;
  const double dropout = gpt2 ? keys.number("resid_pdrop", 0.1) : 0.0;
  model.has_dropout = dropout > 0;
}

}  // namespace

Model parse_hugging_face(std::string_view text, const std::string& file) {
  if (text.size() > max_file_bytes)
    throw UserError(fmt::format("{}: larger than 1 MiB: not a model's config.json", file));
  const auto watch_depth = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > max_depth) throw UserError(fmt::format("{}: nested deeper than {} levels", file, max_depth));
    return true;
  };
  Json json;
  try {
    json = Json::parse(text.begin(), text.end(), watch_depth);
  } catch (const Json::exception& error) {
    throw UserError(fmt::format("{}: not JSON: {}", file, warploom::quoted(error.what())),
                    "expected a Hugging Face config.json");
  }
  if (!json.is_object())
    throw UserError(fmt::format("{}: expected a JSON object", file), "expected a Hugging Face config.json");

  ModelKeys keys(json, file);
  Model model;
  refuse_foreign(keys);  // before the type: the reason why is more telling than the name
  const Family& family = family_of(keys, file);
  read_sizes(keys, family, model);
  read_experts(keys, family, model);
  read_details(keys, family, model);
  refuse_absurd_size(model, file);
  refuse_window(keys, model.max_positions);
  model.name = keys.text("_name_or_path", "");
  if (model.name.empty()) model.name = std::filesystem::path(file).stem().string();
  model.ignored_keys = keys.unread();
  return model;
}

Model read_hugging_face(const std::string& path) {
  std::filesystem::path file = path;
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) file /= "config.json";
  std::ifstream in(file, std::ios::binary);
  if (!in) throw UserError(fmt::format("{}: cannot be read", file.string()), "expected a Hugging Face config.json");
  std::string text(max_file_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return parse_hugging_face(text, file.string());
}

}  // namespace warploom
