// SPDX-License-Identifier: Apache-2.0
// Which key of which program means what.
#include "workloads/captured/run_settings.hpp"

#include <fmt/format.h>

#include <charconv>
#include <set>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "sim/core/whole_file.hpp"
#include "workloads/captured/setting_text.hpp"

namespace warploom {

namespace {

constexpr std::int64_t most = 1'000'000'000;

struct NumberKey {
  std::string_view key;
  RunSettings::Number RunSettings::* member;
};
// Megatron-LM's arguments.py; torchtitan's job_config (`table.key`); vLLM's EngineArgs.
constexpr NumberKey number_keys[] = {
    {"tensor_model_parallel_size", &RunSettings::tensor},
    {"tensor_parallel_size", &RunSettings::tensor},
    {"parallelism.tensor_parallel_degree", &RunSettings::tensor},
    {"training.tensor_parallel_degree", &RunSettings::tensor},
    {"pipeline_model_parallel_size", &RunSettings::pipeline},
    {"pipeline_parallel_size", &RunSettings::pipeline},
    {"parallelism.pipeline_parallel_degree", &RunSettings::pipeline},
    {"experimental.pipeline_parallel_degree", &RunSettings::pipeline},
    {"context_parallel_size", &RunSettings::context},
    {"parallelism.context_parallel_degree", &RunSettings::context},
    {"experimental.context_parallel_degree", &RunSettings::context},
    {"data_parallel_size", &RunSettings::data},
    {"parallelism.data_parallel_shard_degree", &RunSettings::data_shard},
    {"training.data_parallel_shard_degree", &RunSettings::data_shard},
    {"parallelism.data_parallel_replicate_degree", &RunSettings::data_replicate},
    {"training.data_parallel_replicate_degree", &RunSettings::data_replicate},
    {"expert_model_parallel_size", &RunSettings::expert},
    {"parallelism.expert_parallel_degree", &RunSettings::expert},
    {"virtual_pipeline_model_parallel_size", &RunSettings::virtual_stages},
    {"num_virtual_stages_per_pipeline_rank", &RunSettings::virtual_stages},
    {"num_layers_per_virtual_pipeline_stage", &RunSettings::layers_a_chunk},
    {"world_size", &RunSettings::world_size},
    {"micro_batch_size", &RunSettings::micro_batch},
    {"parallelism.pipeline_parallel_microbatch_size", &RunSettings::micro_batch},
    {"training.local_batch_size", &RunSettings::local_batch},
    {"training.batch_size", &RunSettings::local_batch},
    {"global_batch_size", &RunSettings::global_batch},
    {"training.global_batch_size", &RunSettings::global_batch},
    {"seq_length", &RunSettings::sequence_length},
    {"training.seq_len", &RunSettings::sequence_length},
    {"num_layers", &RunSettings::layers},
    {"hidden_size", &RunSettings::hidden},
    {"ffn_hidden_size", &RunSettings::ffn},
    {"num_attention_heads", &RunSettings::heads},
    {"num_query_groups", &RunSettings::kv_heads},
    {"kv_channels", &RunSettings::head_dim},
    {"vocab_size", &RunSettings::vocabulary},
    {"padded_vocab_size", &RunSettings::padded_vocabulary},
    {"max_position_embeddings", &RunSettings::positions},
    {"max_model_len", &RunSettings::positions},
};

struct FlagKey {
  std::string_view key;
  std::optional<bool> RunSettings::* member;
  bool when_set = true;
};
constexpr FlagKey flag_keys[] = {
    {"sequence_parallel", &RunSettings::sequence_parallel},
    {"swiglu", &RunSettings::is_gated},
    {"untie_embeddings_and_output_weights", &RunSettings::has_tied_embeddings, false},
    {"use_flash_attn", &RunSettings::has_flash_attention},
    {"use_distributed_optimizer", &RunSettings::shards_optimizer},
    {"use_rotary_position_embeddings", &RunSettings::has_rotary},
    {"group_query_attention", &RunSettings::has_grouped_queries},
};

class Reader {
 public:
  explicit Reader(const std::string& file) { settings_.file = file; }

  RunSettings read(std::string_view text) {
    const SettingText read = read_setting_text(text, settings_.file);
    settings_.format = read.format;
    std::set<std::string> used;
    for (const Setting& setting : read.settings) {
      if (setting.value == "None" || setting.value == "null" || setting.value == "~") continue;
      if (take(setting)) {
        used.insert(setting.key);
      } else {
        ++settings_.ignored;
      }
    }
    settings_.used = static_cast<std::int64_t>(used.size());
    if (used.empty()) {
      throw UserError(fmt::format("{}: holds no settings of a run that are known here", settings_.file),
                      "expected Megatron-LM's arguments (a command line, or the list in its log), a torchtitan job "
                      "file or vLLM's engine arguments");
    }
    follow();
    return std::move(settings_);
  }

 private:
  [[noreturn]] void fail(const Setting& setting, std::string_view expected, std::string hint = {}) const {
    const std::string place = setting.line > 0 ? fmt::format("{}:{}", settings_.file, setting.line) : settings_.file;
    throw UserError(
        fmt::format("{}: `{}`: expected {}, got {}", place, setting.key, expected, warploom::quoted(setting.value)),
        std::move(hint));
  }

  std::optional<std::int64_t> number(const Setting& setting) const {
    std::string digits;
    for (const char c : setting.value) {
      if (c != '_') digits += c;
    }
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value > most) {
      fail(setting, fmt::format("a whole number up to {}", most),
           setting.value.starts_with('$') ? "a variable of a shell: give the list of arguments in the log instead"
                                          : std::string());
    }
    return value < 1 ? std::nullopt : std::optional(value);  // -1 and 0: as the program finds best
  }

  bool flag(const Setting& setting) const {
    const std::string value = to_lower(setting.value);
    return !(value == "false" || value == "0" || value == "no" || value == "off");
  }

  bool take(const Setting& setting) {
    for (const auto& [key, member] : number_keys) {
      if (setting.key != key) continue;
      settings_.*member = number(setting);
      return true;
    }
    for (const auto& [key, member, when_set] : flag_keys) {
      if (setting.key != key) continue;
      settings_.*member = flag(setting) == when_set;
      return true;
    }
    return take_type(setting) || take_word(setting);
  }

  bool take_type(const Setting& setting) {
    const auto& [key, value, line] = setting;
    if (key == "bf16" || key == "fp16") {
      if (flag(setting)) settings_.compute = key == "bf16" ? TrainingType::bf16 : TrainingType::fp16;
      return true;
    }
    if (key != "dtype" && key != "training.mixed_precision_param" && key != "params_dtype") return false;
    const std::string word = to_lower(value);
    if (word.find("bfloat16") != std::string::npos || word == "bf16") {
      settings_.compute = TrainingType::bf16;
    } else if (word.find("float16") != std::string::npos || word == "half" || word == "fp16") {
      settings_.compute = TrainingType::fp16;
    } else if (word.find("float32") != std::string::npos || word == "float" || word == "fp32") {
      settings_.compute = TrainingType::fp32;
    } else if (word != "auto") {
      fail(setting, "bfloat16, float16 or float32");
    }
    return true;
  }

  bool take_word(const Setting& setting) {
    const auto& [key, value, line] = setting;
    const std::string word = to_lower(value);
    if (key == "normalization" || key == "model.norm_type") {
      settings_.has_rms_norm = word.find("rms") != std::string::npos;
    } else if (key == "position_embedding_type") {
      settings_.has_rotary = word == "rope";
    } else if (key == "recompute_granularity" || key == "activation_checkpoint.mode") {
      if (word != "full" && word != "selective" && word != "none") fail(setting, "full, selective or none");
      settings_.recompute = word == "full" ? Recompute::full : word == "none" ? Recompute::none : Recompute::selective;
    } else if (key == "recompute_activations") {
      if (flag(setting)) settings_.recompute = Recompute::selective;
    } else if (key == "model" || key == "model.name") {
      settings_.model = value + flavor_;
    } else if (key == "model.flavor") {
      flavor_ = "_" + value;
      if (!settings_.model.empty()) settings_.model += flavor_;
    } else {
      return false;
    }
    return true;
  }

  // Nothing where it is absurd.
  static RunSettings::Number product(std::int64_t a, std::int64_t b) {
    return a <= most / b ? RunSettings::Number(a * b) : std::nullopt;
  }

  // What one setting says of another.
  void follow() {
    auto& s = settings_;
    if (s.has_grouped_queries == false) s.kv_heads.reset();
    if (!s.data && (s.data_shard || s.data_replicate)) {
      // An absent degree of sharding is "all that is left".
      if (s.data_shard) s.data = product(*s.data_shard, s.data_replicate.value_or(1));
    }
    if (!s.micro_batch && s.local_batch && s.pipeline.value_or(1) == 1) s.micro_batch = s.local_batch;
    if (!s.virtual_stages && s.layers_a_chunk && s.layers) {
      const std::int64_t a_stage = *s.layers / s.pipeline.value_or(1);
      if (a_stage % *s.layers_a_chunk == 0) s.virtual_stages = a_stage / *s.layers_a_chunk;
    }
    if (!s.global_batch && s.local_batch && s.data) s.global_batch = product(*s.local_batch, *s.data);
  }

  RunSettings settings_;
  std::string flavor_;
};

}  // namespace

RunSettings parse_run_settings(std::string_view text, const std::string& file) { return Reader(file).read(text); }

RunSettings read_run_settings(const std::string& path) { return parse_run_settings(read_whole_file(path), path); }

}  // namespace warploom
