// SPDX-License-Identifier: Apache-2.0
// The rules, as tables. Sources: the frameworks' defaults and published recipes at the time of the runs.
#include "workloads/validation/training_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "sim/core/errors.hpp"

namespace warploom {

bool contains_without_case(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  return part.empty() || std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

namespace {

template <class Rule, std::size_t n>
const Rule* first_match(const Rule (&rules)[n], std::string_view Rule::* pattern, std::string_view text) {
  for (const Rule& rule : rules) {
    if (contains_without_case(text, rule.*pattern)) return &rule;
  }
  return nullptr;
}

// ---- Models -------------------------------------------------------------------------------------------------------

constexpr ModelRule models[] = {
    {.name = "llama",
     .is_gated = true,
     .norm = NormKind::rms,
     .positions = PositionKind::rotary,
     .usual_vocabulary = 128256},
    {.name = "nemotron", .positions = PositionKind::rotary, .usual_vocabulary = 256000},
    {.name = "mpt", .positions = PositionKind::rotary, .has_tied_embeddings = true, .usual_vocabulary = 50368},
    {.name = "mt-nlg", .has_tied_embeddings = true, .has_biases = true, .has_dropout = true},
    {.name = "gpt", .has_tied_embeddings = true, .has_biases = true, .has_dropout = true},
};

// ---- Machines -----------------------------------------------------------------------------------------------------

struct HardwareRule {
  std::string_view hardware;
  const char* device;
  const char* cluster;
  const char* device_override = nullptr;
};
constexpr HardwareRule machines[] = {
    {"H100-96GB HBM2e", "h100_sxm_96gb_500w", "clusters/dgx_h100"},
    {"A100-40GB", "a100_sxm_40gb", "clusters/selene_a100"},
    {"A100", "a100_sxm", "clusters/selene_a100"},
    {"H100", "h100_sxm", "clusters/dgx_h100"},
    {"H200", "h200_sxm", "clusters/dgx_h200"},
    {"GB300", "gb300", "clusters/gb300_nvl72"},
    {"GB200", "gb200", "clusters/gb200_nvl72"},
    {"B300", "b300_sxm", "clusters/dgx_b300"},
    {"B200", "b200_sxm", "clusters/dgx_b200"},
};

struct InterconnectRule {
  std::string_view interconnect;
  const char* cluster;
  const char* cluster_override = nullptr;
};
constexpr InterconnectRule interconnects[] = {
    {"1:7 oversubscription", "clusters/meta_24k_h100"},
    {"NVIDIA Ampere GPUs, 8x200Gb/s NIC per node, 3-tier CLOS", "clusters/megascale_ampere"},
    {"inter-node 800 Gb/s per node", "clusters/selene_a100", "network.nic.count=4"},
};

// ---- Frameworks ---------------------------------------------------------------------------------------------------

struct FrameworkRule {
  std::string_view framework;
  AttentionKind attention;
  int zero;            // where the column is blank
  bool overlaps_data;  // gradient reduction and parameter gathers beside the passes
  bool overlaps_tensor;
  LossKind loss;
  bool is_flash_attention_2;          // on Hopper; the others call cuDNN's, as fast as FlashAttention-3
  bool is_flash_attention_1 = false;  // on Ampere, where attention is fused
};
// Megatron-LM reduced gradients after the last backward until 2023; flash attention became usual with Megatron-Core.
// Composer's tables of A100 are of early 2023, with the first FlashAttention's Triton kernel (attn_impl: triton).
// The fork of zero bubble schedules (arXiv:2401.10241) has none: its 30 GB of 1F1B over 8 stages of GPT 1.5B are
// 24 x s b h (34 + 5 a s / h) = 29.7 GB of activations, as its own table 1 counts; without scores they would be 11.6.
constexpr FrameworkRule frameworks[] = {
    {"Megatron-DeepSpeed", AttentionKind::unfused, 0, false, false, LossKind::unfused, false},
    {"Megatron-LM fork (sail-sg)", AttentionKind::unfused, 1, false, false, LossKind::unfused, false},
    {"Megatron-LM", AttentionKind::unfused, 0, false, false, LossKind::unfused, false},
    {"NeMo", AttentionKind::flash, 1, true, true, LossKind::unfused, false},
    {"Megatron-Bridge", AttentionKind::flash, 1, true, true, LossKind::fused, false},
    {"Megatron-Core", AttentionKind::flash, 1, true, true, LossKind::unfused, false},
    {"MLPerf submission", AttentionKind::flash, 1, true, true, LossKind::fused, false},
    {"Meta internal", AttentionKind::flash, 2, true, false, LossKind::unfused, true},
    {"torchtitan", AttentionKind::flash, 3, true, false, LossKind::fused, true},
    {"Composer/PyTorch FSDP", AttentionKind::flash, 3, true, false, LossKind::fused, true, true},
};

struct PrecisionRule {
  std::string_view precision;
  TrainingTypes types;
};
constexpr TrainingTypes types_of(TrainingType compute, ProductType product, TrainingType gradient) {
  TrainingTypes types;
  types.compute = compute;
  types.product = product;
  types.gradient = types.gradient_reduce = gradient;
  return types;
}
const PrecisionRule precisions[] = {
    {"nvfp4", types_of(TrainingType::bf16, ProductType::nvfp4, TrainingType::fp32)},
    {"mx", types_of(TrainingType::bf16, ProductType::mxfp8, TrainingType::fp32)},
    {"-cs", types_of(TrainingType::bf16, ProductType::fp8_current, TrainingType::fp32)},
    {"float8", types_of(TrainingType::bf16, ProductType::fp8_current, TrainingType::fp32)},
    {"fp8", types_of(TrainingType::bf16, ProductType::fp8, TrainingType::fp32)},
    {"bf16 (pure)", types_of(TrainingType::bf16, ProductType::compute, TrainingType::bf16)},
    {"bf16", types_of(TrainingType::bf16, ProductType::compute, TrainingType::fp32)},
    {"fp16", types_of(TrainingType::fp16, ProductType::compute, TrainingType::fp16)},
    {"", types_of(TrainingType::bf16, ProductType::compute, TrainingType::fp32)},
};

int zero_of(std::string_view column, int usual) {
  if (column.empty()) return usual;
  if (contains_without_case(column, "distributed optimizer")) return 1;
  if (contains_without_case(column, "ZeRO-2")) return 2;
  if (contains_without_case(column, "FSDP")) return 3;
  if (column[0] >= '0' && column[0] <= '3') return column[0] - '0';
  throw UserError("what is cut over the replicas is not understood");
}

}  // namespace

ModelRule model_rule(std::string_view model) {
  const ModelRule* rule = first_match(models, &ModelRule::name, model);
  if (rule == nullptr) throw UserError("the model's family is not described");
  return *rule;
}

TrainingMachine training_machine(const TrainingRow& row) {
  const HardwareRule* hardware = first_match(machines, &HardwareRule::hardware, row.hardware);
  if (hardware == nullptr) throw UserError(fmt::format("no cluster is described for `{}`", row.hardware));
  TrainingMachine machine;
  machine.device = hardware->device;
  machine.cluster = hardware->cluster;
  if (const auto* rule = first_match(interconnects, &InterconnectRule::interconnect, row.interconnect)) {
    machine.cluster = rule->cluster;
    if (rule->cluster_override != nullptr) machine.cluster_overrides.emplace_back(rule->cluster_override);
  }
  const FrameworkRule* framework = first_match(frameworks, &FrameworkRule::framework, row.framework);
  if (framework != nullptr && framework->is_flash_attention_2 && contains_without_case(machine.device, "h100")) {
    machine.device_overrides.emplace_back("architecture.use=architectures/hopper_flash_attention_2");
  }
  if (framework != nullptr && framework->is_flash_attention_1 && contains_without_case(machine.device, "a100")) {
    machine.device_overrides.emplace_back("architecture.use=architectures/ampere_flash_attention_1");
  }
  return machine;
}

void refuse_what_is_not_modelled(const TrainingRow& row) {
  if (row.experts.value_or(0) > 1) throw UserError("a mixture of experts is not modelled in training yet");
  if (contains_without_case(row.task, "lora")) throw UserError("LoRA is not modelled");
  if (contains_without_case(row.task, "sft")) throw UserError("packed sequences of fine-tuning are not modelled");
  if (row.framework.starts_with("MegaScale")) {
    if (!contains_without_case(row.framework, "baseline")) {
      throw UserError("MegaScale's parallel block, sliding window and overlaps are not modelled");
    }
  }
  for (const auto schedule : {"ZB", "DualPipe"}) {
    if (contains_without_case(row.schedule, schedule)) throw UserError("the schedule is not modelled");
  }
}

void apply_rules(const TrainingRow& row, TrainingJob& job) {
  const FrameworkRule* framework = first_match(frameworks, &FrameworkRule::framework, row.framework);
  if (framework == nullptr) throw UserError("the framework is not described");
  TrainingSpec& training = job.training;
  training.attention = framework->attention;
  training.loss = framework->loss;
  training.zero = zero_of(row.zero, framework->zero);
  training.overlap_gradient_reduce = training.overlap_parameter_gather = framework->overlaps_data;
  training.types = first_match(precisions, &PrecisionRule::precision, row.precision)->types;
  // Not published, in unfused times: what Megatron-LM recommends since sequence parallelism is there (2022).
  const bool recomputes_core = row.recompute.empty() && framework->attention == AttentionKind::unfused;
  if (contains_without_case(row.recompute, "full")) {
    training.recompute = Recompute::full;
  } else if (contains_without_case(row.recompute, "selective") || recomputes_core) {
    training.recompute = Recompute::selective;
  }
  const bool cuts_sequence = row.sequence_parallel.empty()
                                 ? training.recompute != Recompute::full || framework->attention == AttentionKind::flash
                                 : contains_without_case(row.sequence_parallel, "yes");
  job.layout.sequence_parallel = cuts_sequence;
  training.overlap_tensor =
      (framework->overlaps_tensor || contains_without_case(row.notes, "async tp")) && job.layout.cuts_sequence();
}

}  // namespace warploom
