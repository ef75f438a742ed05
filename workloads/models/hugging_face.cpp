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
#include <set>
#include <span>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

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
};
constexpr std::array<Family, 4> families = {{
    {"llama", "LlamaForCausalLM"},
    {"mistral", "MistralForCausalLM"},
    {"qwen2", "Qwen2ForCausalLM", false, true},
    {"gpt2", "GPT2LMHeadModel", true, true},
}};

// Keys that mean another computation when they are set to anything but null, false, or what is named here.
struct Foreign {
  std::string_view key;
  std::string_view meaning;
  double harmless = 0;  // a number that means "not used"
};
constexpr std::array foreign_keys = {
    Foreign{"num_local_experts", "a mixture of experts"},
    Foreign{"num_experts", "a mixture of experts"},
    Foreign{"n_routed_experts", "a mixture of experts"},
    Foreign{"n_shared_experts", "a mixture of experts"},
    Foreign{"num_experts_per_tok", "a mixture of experts"},
    Foreign{"moe_intermediate_size", "a mixture of experts"},
    Foreign{"first_k_dense_replace", "a mixture of experts"},
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

constexpr std::array<std::string_view, 9> activations = {
    "silu", "swish", "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "quick_gelu", "relu", "gelu_python"};

// Reads keys once each, so that what is left over can be listed.
class Reader {
 public:
  Reader(const Json& json, const std::string& file) : json_(json), file_(file) {}

  [[noreturn]] void fail(std::string_view key, const std::string& message, std::string hint = {}) const {
    throw UserError(fmt::format("{}: `{}`: {}", file_, key, message), std::move(hint));
  }

  const Json* find(std::string_view key) {
    read_.emplace(key);
    const auto place = json_.find(key);
    return place == json_.end() || place->is_null() ? nullptr : &*place;
  }

  std::optional<std::int64_t> integer(std::string_view key, std::int64_t most) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number_integer()) fail(key, fmt::format("expected a whole number, got {}", shown(*value)));
    const bool fits = value->is_number_unsigned() ? value->get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                                                  : value->get<std::int64_t>() >= 1;
    if (!fits || value->get<std::int64_t>() < 1) {
      fail(key, fmt::format("expected 1 to {}, got {}", most, shown(*value)));
    }
    return value->get<std::int64_t>();
  }

  std::int64_t required(std::string_view key, std::int64_t most) {
    const auto value = integer(key, most);
    if (!value) fail(key, "is missing", "a model needs its layers, hidden size, heads, MLP width and vocabulary");
    return *value;
  }

  bool boolean(std::string_view key, bool otherwise) {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) fail(key, fmt::format("expected true or false, got {}", shown(*value)));
    return value->get<bool>();
  }

  double number(std::string_view key, double otherwise) {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_number()) fail(key, fmt::format("expected a number, got {}", shown(*value)));
    return value->get<double>();
  }

  std::string text(std::string_view key, std::string otherwise) {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_string()) fail(key, fmt::format("expected text, got {}", shown(*value)));
    return value->get<std::string>();
  }

  std::vector<std::string> unread() const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : json_.items()) {
      if (!read_.contains(key)) keys.push_back(key);
    }
    return keys;
  }

  static std::string shown(const Json& value) {
    return warploom::quoted(value.dump(-1, ' ', true, Json::error_handler_t::replace));
  }

 private:
  const Json& json_;
  const std::string& file_;
  std::set<std::string, std::less<>> read_;
};

bool is_used(const Json& value, double harmless) {
  if (value.is_null()) return false;
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>() != 0 && value.get<double>() != harmless;
  return !value.empty();
}

Family family_of(Reader& reader, const std::string& file) {
  const std::string type = reader.text("model_type", "");
  std::vector<std::string> known;
  for (const auto& family : families) known.emplace_back(family.model_type);
  const auto place =
      std::find_if(families.begin(), families.end(), [&](const Family& f) { return f.model_type == type; });
  if (place == families.end()) {
    throw UserError(fmt::format("{}: `model_type`: {} is not modelled", file,
                                type.empty() ? "a missing type" : warploom::quoted(type)),
                    "modelled: " + join(known));
  }
  if (const Json* list = reader.find("architectures"); list != nullptr) {
    if (!list->is_array() || list->size() != 1 || !list->front().is_string() ||
        list->front().get<std::string>() != place->architecture) {
      reader.fail("architectures", fmt::format("{} is not modelled for `{}`", Reader::shown(*list), type),
                  fmt::format("modelled: {}", place->architecture));
    }
  }
  return *place;
}

void refuse_foreign(Reader& reader) {
  for (const auto& foreign : foreign_keys) {
    const Json* value = reader.find(foreign.key);
    if (value != nullptr && is_used(*value, foreign.harmless)) {
      reader.fail(foreign.key,
                  fmt::format("{} is not modelled, and the key changes the computation ({})", foreign.meaning,
                              Reader::shown(*value)),
                  "only dense decoders with full attention are modelled");
    }
  }
  if (const Json* types = reader.find("layer_types"); types != nullptr) {
    for (const auto& type : *types) {
      if (type != "full_attention") reader.fail("layer_types", Reader::shown(type) + " is not modelled");
    }
  }
}

// A window counts when it is switched on and shorter than the longest sequence.
void refuse_window(Reader& reader, std::int64_t max_positions) {
  const bool is_on = reader.boolean("use_sliding_window", true);
  reader.find("max_window_layers");
  const auto window = reader.integer("sliding_window", std::int64_t{1} << 40);
  if (is_on && window && *window < max_positions) {
    reader.fail("sliding_window", fmt::format("attention in a window of {} tokens is not modelled", *window),
                "set it to null if the run does not use it");
  }
}

void read_sizes(Reader& reader, const Family& family, Model& model) {
  const bool gpt2 = family.is_gpt2;
  model.layers = reader.required(gpt2 ? "n_layer" : "num_hidden_layers", 100'000);
  model.hidden = reader.required(gpt2 ? "n_embd" : "hidden_size", 10'000'000);
  model.heads = reader.required(gpt2 ? "n_head" : "num_attention_heads", 1'000'000);
  model.vocab = reader.required("vocab_size", 100'000'000);
  model.max_positions =
      reader.integer(gpt2 ? "n_positions" : "max_position_embeddings", std::int64_t{1} << 40).value_or(2048);
  const char* heads_key = gpt2 ? "n_head" : "num_attention_heads";
  if (gpt2) {
    model.ffn = reader.integer("n_inner", 100'000'000).value_or(4 * model.hidden);
    model.kv_heads = model.heads;
  } else {
    model.ffn = reader.required("intermediate_size", 100'000'000);
    model.kv_heads = reader.integer("num_key_value_heads", 1'000'000).value_or(model.heads);
    if (model.heads % model.kv_heads != 0) {
      reader.fail("num_key_value_heads", fmt::format("{} does not divide the {} heads", model.kv_heads, model.heads));
    }
  }
  const auto head_dim = gpt2 ? std::nullopt : reader.integer("head_dim", 100'000);
  if (!head_dim && model.hidden % model.heads != 0) {
    reader.fail(heads_key, fmt::format("{} does not divide the hidden size {}", model.heads, model.hidden));
  }
  model.head_dim = head_dim.value_or(model.hidden / model.heads);
}

// Each size may be in range and their product still absurd: in floating point first, before anything is counted.
void refuse_absurd_size(const Model& model, const std::string& file) {
  constexpr double most = 1e16;
  const auto hidden = static_cast<double>(model.hidden);
  const double heads = static_cast<double>(model.heads) * static_cast<double>(model.head_dim);
  const double layer = hidden * (4 * heads + 3 * static_cast<double>(model.ffn));
  const double ends = hidden * (2 * static_cast<double>(model.vocab) + static_cast<double>(model.max_positions));
  const double parameters = static_cast<double>(model.layers) * layer + ends;
  if (parameters > most) {
    throw UserError(fmt::format("{}: a model of {:.1e} parameters", file, parameters),
                    fmt::format("sizes that multiply to at most {:.0e} parameters are modelled", most));
  }
}

void read_details(Reader& reader, const Family& family, Model& model) {
  const bool gpt2 = family.is_gpt2;
  model.is_gated = !gpt2;
  const char* activation_key = gpt2 ? "activation_function" : "hidden_act";
  model.activation = reader.text(activation_key, gpt2 ? "gelu_new" : "silu");
  if (std::find(activations.begin(), activations.end(), model.activation) == activations.end()) {
    reader.fail(activation_key, fmt::format("{} is not modelled", warploom::quoted(model.activation)),
                fmt::format("modelled: {}", fmt::join(activations, ", ")));
  }
  model.norm = gpt2 ? NormKind::layer : NormKind::rms;
  model.positions = gpt2 ? PositionKind::learned : PositionKind::rotary;
  model.has_tied_embeddings = reader.boolean("tie_word_embeddings", gpt2);
  model.has_qkv_bias = reader.boolean("attention_bias", family.has_qkv_bias);
  // Qwen2 has biases on Q, K and V alone.
  model.has_output_bias = gpt2 || (model.has_qkv_bias && !family.has_qkv_bias);
  model.has_mlp_bias = reader.boolean("mlp_bias", gpt2);
  const double dropout = gpt2 ? reader.number("resid_pdrop", 0.1) : 0.0;
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

  Reader reader(json, file);
  Model model;
  refuse_foreign(reader);  // before the type: the reason why is more telling than the name
  const Family family = family_of(reader, file);
  read_sizes(reader, family, model);
  read_details(reader, family, model);
  refuse_absurd_size(model, file);
  refuse_window(reader, model.max_positions);
  model.name = reader.text("_name_or_path", "");
  if (model.name.empty()) model.name = std::filesystem::path(file).stem().string();
  model.ignored_keys = reader.unread();
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
