// SPDX-License-Identifier: Apache-2.0
// The sizes of a config.json first, then what follows from them.
#include "bindings/report/model_description.hpp"

#include <fmt/format.h>

#include "sim/core/text.hpp"

namespace warploom {

namespace {

void add_mlp(const Model& model, Description& description) {
  const auto add = [&](const char* name, std::int64_t value, const char* how) {
    description.derived.push_back({name, std::to_string(value), how});
  };
  if (!model.has_experts())
    return add("MLP width", model.ffn,
               model.is_gated ? "gated: two such products, then one back" : "of the one product before the activation");
  add("experts", model.experts.count, "a layer, in place of an MLP");
  add("experts a token", model.experts.per_token, "that the router sends it to");
  add("expert width", model.experts.ffn, "of one expert");
  if (model.experts.shared_ffn > 0)
    add("shared width", model.experts.shared_ffn, "of the expert that every token passes");
}

}  // namespace

std::string parameters_in_words(std::int64_t parameters) {
  const auto billions = static_cast<double>(parameters) / 1e9;
  return billions < 1000 ? fmt::format("{:.3g} G", billions) : fmt::format("{:.3g} T", billions / 1000);
}

Description describe_model(const std::string& name, const Model& model) {
  Description description;
  description.name = name;
  description.meaning = model.has_experts() ? "model, a decoder with a mixture of experts" : "model, a dense decoder";
  const auto add = [&](const char* what, std::string value, std::string how) {
    description.derived.push_back({what, std::move(value), std::move(how)});
  };
  add("layers", std::to_string(model.layers), "of its file");
  add("hidden", std::to_string(model.hidden), "elements a token");
  add("heads", std::to_string(model.heads), "of the queries");
  add("KV heads", std::to_string(model.kv_heads), "of keys and values");
  add("head size", std::to_string(model.head_dim), "elements");
  add_mlp(model, description);
  add("vocabulary", std::to_string(model.vocab),
      model.has_tied_embeddings ? "the head shares the embedding's table" : "embedding and head have a table each");
  add("parameters", parameters_in_words(model.parameters()), "layers, embedding, positions, last norm and head");
  add("active", parameters_in_words(model.active_parameters()), "of them used by one token");
  add("KV cache", fmt::format("{} B a token", model.kv_cache_per_token(DataType::bf16).count()),
      "keys and values of all layers in bf16");
  if (!model.ignored_keys.empty())
    add("keys ignored", std::to_string(model.ignored_keys.size()), "without effect: " + join(model.ignored_keys));
  return description;
}

}  // namespace warploom
