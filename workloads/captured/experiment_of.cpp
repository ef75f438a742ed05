// SPDX-License-Identifier: Apache-2.0
// Values chosen between trace and settings, written with their origins.
#include "workloads/captured/experiment_of.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/text.hpp"
#include "workloads/cluster_lookup.hpp"
#include "workloads/device_lookup.hpp"

namespace warploom {

namespace {

using Number = std::optional<std::int64_t>;

// A value with the words that say where it came from.
struct Found {
  Number value;
  std::string origin;
  std::int64_t or_else(std::int64_t otherwise) const { return value.value_or(otherwise); }
};

Number times(const Number& a, const Number& b) {
  constexpr std::int64_t most = 1'000'000'000'000;
  if (!a || !b || *b < 1 || *a > most / *b) return std::nullopt;
  return *a * *b;
}

class Writer {
 public:
  Writer(const CapturedShape& shape, const RunSettings& settings, const Library& library)
      : shape_(shape), settings_(settings), library_(library) {}

  InferredExperiment write(const std::string& model_file) {
    find_layout();
    find_model();
    find_batch();
    result_.model = model_json();
    result_.yaml = "# Inferred by `warploom replay --write-experiment`; each value says where it came from.\n";
    line("kind: training");
    line("name: captured step");
    line("model: " + json_string(model_file));
    write_cluster();
    write_layout();
    write_training();
    for (const auto& missing : result_.missing) line("# not in the trace, and needed: " + missing);
    return std::move(result_);
  }

 private:
  Found choose(const Number& trace, const Number& setting) const {
    if (trace && setting && *trace != *setting) {
      return {trace, fmt::format("the trace; the settings say {}", *setting)};
    }
    if (trace) return {trace, "the trace"};
    if (setting) return {setting, "the settings"};
    return {};
  }

  void need(const Found& found, const std::string& what) {
    if (!found.value) result_.missing.push_back(what);
  }

  void find_layout() {
    tensor_ = choose(shape_.tensor, settings_.tensor);
    if (shape_.tensor_is_guessed && tensor_.value) tensor_.origin += " (the heads' width beside the hidden size)";
    pipeline_ = choose(shape_.pipeline, settings_.pipeline);
    context_ = choose(shape_.context, settings_.context);
    world_ = choose(shape_.world, settings_.world_size);
    const std::int64_t a_replica = tensor_.or_else(1) * pipeline_.or_else(1) * context_.or_else(1);
    data_ = choose(shape_.data, settings_.data);
    if (!data_.value && world_.value && a_replica > 0 && *world_.value % a_replica == 0) {
      data_ = {*world_.value / a_replica, "what the other dimensions leave"};
    }
    if (!world_.value && data_.value) world_ = {times(data_.value, a_replica), "the product of the dimensions"};
    if (!world_.value) world_ = {a_replica, "the product of the dimensions: how many ranks ran is not in the trace"};
    if (!data_.value) data_ = {1, "not known"};
  }

  void find_model() {
    const Number tensor = tensor_.or_else(1);
    layers_ = choose(times(shape_.stage_layers, pipeline_.or_else(1)), settings_.layers);
    hidden_ = choose(shape_.hidden, settings_.hidden);
    heads_ = choose(times(shape_.slice_of_heads, tensor), settings_.heads);
    head_dim_ = choose(shape_.head_dim, settings_.head_dim);
    if (!head_dim_.value && hidden_.value && heads_.value && *hidden_.value % *heads_.value == 0) {
      head_dim_ = {*hidden_.value / *heads_.value, "hidden size over heads"};
    }
    ffn_ = choose(times(shape_.slice_of_ffn, tensor), settings_.ffn);
    Number kv_heads;
    if (shape_.slice_of_qkv && shape_.slice_of_heads && shape_.head_dim) {
      const std::int64_t kv = *shape_.slice_of_qkv - *shape_.slice_of_heads * *shape_.head_dim;
      if (kv > 0 && kv % (2 * *shape_.head_dim) == 0) kv_heads = times(kv / (2 * *shape_.head_dim), tensor);
    }
    kv_heads_ = choose(kv_heads, settings_.kv_heads);
    if (!kv_heads_.value) kv_heads_ = {heads_.value, "as many as heads"};
    vocabulary_ = choose(times(shape_.slice_of_vocabulary, tensor),
                         settings_.padded_vocabulary ? settings_.padded_vocabulary : settings_.vocabulary);
    is_gated_ = shape_.is_gated ? shape_.is_gated : settings_.is_gated;
    need(layers_, "the number of layers (num-layers)");
    need(hidden_, "the hidden size (hidden-size)");
    need(heads_, "the number of heads (num-attention-heads)");
    need(head_dim_, "the size of a head (kv-channels)");
    need(ffn_, "the MLP's width (ffn-hidden-size)");
    need(vocabulary_, "the vocabulary (vocab-size)");
    const Number width = times(heads_.value, head_dim_.value);
    if (is_gated_ == false && width && hidden_.value && *width != *hidden_.value) {
      result_.missing.push_back(fmt::format("a family without gates whose {} heads of {} are not its hidden size {}",
                                            *heads_.value, *head_dim_.value, *hidden_.value));
    }
    if (!is_gated_) result_.missing.emplace_back("whether the MLP is gated (swiglu)");
  }

  void find_batch() {
    sequence_ = choose(times(shape_.sequence_length, context_.or_else(1)), settings_.sequence_length);
    micro_batch_ = choose(shape_.micro_batch, settings_.micro_batch);
    if (!micro_batch_.value) micro_batch_ = {1, "not known"};
    Number micro_batches = shape_.micro_batches;
    if (!micro_batches && shape_.attentions && layers_.value) {
      const std::int64_t here = *layers_.value / pipeline_.or_else(1);
      if (here > 0 && *shape_.attentions % here == 0) micro_batches = *shape_.attentions / here;
    }
    global_batch_ = choose(times(times(micro_batches, micro_batch_.value), data_.value), settings_.global_batch);
    need(sequence_, "the length of a sequence (seq-length)");
    need(global_batch_, "sequences of a step (global-batch-size)");
  }

  // Families that are modelled: gated ones with RMS norms and rotary positions, and GPT-2's.
  std::string model_json() const {
    if (!result_.missing.empty()) return {};
    const bool is_tied = settings_.has_tied_embeddings.value_or(!*is_gated_);
    const std::int64_t positions = std::max(settings_.positions.value_or(0), *sequence_.value);
    std::string text =
        fmt::format("{{\n  \"_name_or_path\": {},\n",
                    json_string(settings_.model.empty() ? std::string("captured model") : settings_.model));
    const auto number = [&](std::string_view key, std::int64_t value) {
      text += fmt::format("  \"{}\": {},\n", key, value);
    };
    if (*is_gated_) {
      text +=
          "  \"architectures\": [\"LlamaForCausalLM\"],\n  \"model_type\": \"llama\",\n  \"hidden_act\": \"silu\",\n";
      number("hidden_size", *hidden_.value);
      number("intermediate_size", *ffn_.value);
      number("num_hidden_layers", *layers_.value);
      number("num_attention_heads", *heads_.value);
      number("num_key_value_heads", *kv_heads_.value);
      number("head_dim", *head_dim_.value);
      number("max_position_embeddings", positions);
    } else {
      text +=
          "  \"architectures\": [\"GPT2LMHeadModel\"],\n  \"model_type\": \"gpt2\",\n"
          "  \"activation_function\": \"gelu_new\",\n  \"resid_pdrop\": 0.0,\n";
      number("n_embd", *hidden_.value);
      number("n_head", *heads_.value);
      number("n_inner", *ffn_.value);
      number("n_layer", *layers_.value);
      number("n_positions", positions);
    }
    number("vocab_size", *vocabulary_.value);
    return text + fmt::format("  \"tie_word_embeddings\": {}\n}}\n", is_tied);
  }

  void line(const std::string& text, const std::string& origin = {}) {
    std::string comment;
    for (const char c : origin) comment += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    result_.yaml += comment.empty() ? text + "\n" : fmt::format("{:<40} # {}\n", text, comment);
  }
  void value(const std::string& key, const Found& found) {
    if (found.value) {
      line(fmt::format("  {}: {}", key, *found.value), found.origin);
    } else {
      line(fmt::format("  # not in the trace: {}", key));
    }
  }

  void write_cluster() {
    const auto device = DeviceLookup(library_).canonical_name(shape_.device);
    const ClusterLookup clusters(library_);
    const std::string* cluster = device ? clusters.find(*device) : nullptr;
    if (cluster != nullptr) {
      line(fmt::format("cluster: {{use: {}}}", *cluster), "the trace's device: " + shape_.device);
    } else {
      result_.missing.push_back(shape_.device.empty() ? std::string("the device (cluster: {use: clusters/...})")
                                                      : fmt::format("a cluster of {} (the library has none)",
                                                                    warploom::quoted(shape_.device)));
      line("# not in the trace: cluster: {use: clusters/...}");
    }
    line(fmt::format("devices: {}", *world_.value), world_.origin);
  }

  void write_layout() {
    line("layout:");
    value("tensor", tensor_);
    if (pipeline_.value) value("pipeline", pipeline_);
    if (context_.value) value("context", context_);
    value("data", data_);
    if (settings_.virtual_stages && *settings_.virtual_stages > 1) {
      value("virtual_stages", {settings_.virtual_stages, "the settings"});
    }
    if (tensor_.or_else(1) > 1) {
      const auto cut = shape_.sequence_parallel ? shape_.sequence_parallel : settings_.sequence_parallel;
      if (cut)
        line(fmt::format("  sequence_parallel: {}", *cut), shape_.sequence_parallel ? "the trace" : "the settings");
    }
  }

  void write_training() {
    line("training:");
    value("sequence_length", sequence_);
    value("global_batch", global_batch_);
    value("micro_batch", micro_batch_);
    if (vocabulary_.value) value("padded_vocabulary", vocabulary_);
    const auto type = shape_.compute ? shape_.compute : settings_.compute;
    if (type) {
      const std::string_view word = *type == TrainingType::fp16   ? "fp16"
                                    : *type == TrainingType::bf16 ? "bf16"
                                                                  : "fp32";
      line(fmt::format("  types: {{compute: {}}}", word), shape_.compute ? "the trace" : "the settings");
    } else {
      line("  # not in the trace: types");
    }
    const auto flash = shape_.has_flash_attention ? shape_.has_flash_attention : settings_.has_flash_attention;
    if (flash) {
      line(fmt::format("  attention: {}", *flash ? "flash" : "unfused"),
           shape_.has_flash_attention ? "the trace" : "the settings");
    }
    if (settings_.recompute) {
      line(fmt::format("  recompute: {}", *settings_.recompute == Recompute::full        ? "full"
                                          : *settings_.recompute == Recompute::selective ? "selective"
                                                                                         : "none"),
           "the settings");
    } else {
      line("  # not in the trace: recompute");
    }
    if (settings_.data_shard && *settings_.data_shard > 1) {
      line("  zero: 3", "the settings: weights are cut over the replicas");
    } else if (settings_.shards_optimizer) {
      line(fmt::format("  zero: {}", *settings_.shards_optimizer ? 1 : 0), "the settings");
    } else {
      line("  # not in the trace: zero");
    }
    const auto rms = shape_.has_rms_norm ? shape_.has_rms_norm : settings_.has_rms_norm;
    if (rms && is_gated_ && *rms != *is_gated_) {
      line(fmt::format("# The run's norms are {} norms: families {} gates are modelled with {} ones.",
                       *rms ? "RMS" : "layer", *is_gated_ ? "with" : "without", *is_gated_ ? "RMS" : "layer"));
    }
    if (!shape_.has_backward)
      line("# The trace shows no backward pass: the experiment is the whole step all the same.");
  }

  const CapturedShape& shape_;
  const RunSettings& settings_;
  const Library& library_;
  InferredExperiment result_;
  Found tensor_, pipeline_, context_, data_, world_;
  Found layers_, hidden_, heads_, head_dim_, kv_heads_, ffn_, vocabulary_;
  Found sequence_, micro_batch_, global_batch_;
  std::optional<bool> is_gated_;
};

}  // namespace

InferredExperiment experiment_of(const CapturedShape& shape, const RunSettings& settings, const std::string& model_file,
                                 const Library& library) {
  return Writer(shape, settings, library).write(model_file);
}

InferredExperiment experiment_of(const CapturedRun& run, const RunSettings& settings, const std::string& model_file,
                                 const Library& library) {
  return experiment_of(captured_shape(run), settings, model_file, library);
}

}  // namespace warploom
