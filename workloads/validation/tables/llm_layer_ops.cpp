// SPDX-License-Identifier: Apache-2.0
// Single operators of dense LLM layers (tensor-parallel shards) under a profiler, FP16.
//
// The rows are vidur's (microsoft/vidur@7d475133). Its A100s are PCIe cards of 300 W: its README names Azure's
// NC96ads_A100_v4, and products at 225 to 240 TFLOP/s and additions at 1.71 TB/s are what that card does, 10% below the
// SXM module.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/kernels/activation.hpp"
#include "hw_models/kernels/element_wise.hpp"
#include "hw_models/kernels/embedding.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/l2_residency.hpp"
#include "hw_models/kernels/norm.hpp"
#include "hw_models/kernels/rotary.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/device_lookup.hpp"
#include "workloads/validation/kernel_row.hpp"
#include "workloads/validation/tables.hpp"
#include "workloads/validation/validation_context.hpp"

namespace warploom {

namespace {

// One rank's share of a layer.
struct Shard {
  std::int64_t tokens = 0;
  std::int64_t width = 0;
  std::int64_t inner = 0;     // of the MLP
  std::int64_t heads = 0;     // of queries
  std::int64_t kv_heads = 0;  // at least one: copied where ranks are more than heads
  std::int64_t head_dim = 0;
  std::int64_t vocabulary = 0;
  bool is_gated = false;
};

Shard shard_of(const CsvRow& row) {
  const std::int64_t parts = row.positive_integer("num_tensor_parallel_workers");
  const std::int64_t heads = row.positive_integer("n_head");
  if (heads % parts != 0 || row.positive_integer("n_expanded_embd") % parts != 0) {
    throw UserError("the ranks do not divide heads and MLP");
  }
  Shard shard;
  shard.tokens = row.positive_integer("num_tokens");
  shard.width = row.positive_integer("n_embd");
  shard.inner = row.positive_integer("n_expanded_embd") / parts;
  shard.heads = std::max<std::int64_t>(heads / parts, 1);
  shard.kv_heads = std::max<std::int64_t>(row.positive_integer("n_kv_head") / parts, 1);
  shard.head_dim = shard.width / heads;
  shard.vocabulary = row.positive_integer("vocab_size") / parts;
  shard.is_gated = row.text("use_gated_mlp") == "True";
  return shard;
}

std::optional<GemmShape> linear_layer(std::string_view operation, const Shard& shard) {
  GemmShape shape{.m = shard.tokens, .n = shard.width, .k = shard.width};
  shape.input = shape.output = DataType::fp16;
  if (operation == "attn_pre_proj")
    shape.n = shard.head_dim * (shard.heads + 2 * shard.kv_heads);
  else if (operation == "attn_post_proj")
    shape.k = shard.head_dim * shard.heads;
  else if (operation == "mlp_up_proj")
    shape.n = shard.inner * (shard.is_gated ? 2 : 1);
  else if (operation == "mlp_down_proj")
    shape.k = shard.inner;
  else
    return std::nullopt;
  return shape;
}

std::optional<Kernel> memory_bound_operator(std::string_view operation, const Shard& shard) {
  const DataType type = DataType::fp16;
  const std::int64_t rows = shard.tokens;
  if (operation == "add")
    return element_wise({.elements = elements_of(rows, shard.width), .bytes_read = 4, .bytes_written = 2});
  if (operation == "input_layernorm" || operation == "post_attention_layernorm")
    return norm({.rows = rows, .width = shard.width, .type = type});
  if (operation == "mlp_act") {
    const ActivationKind kind = shard.is_gated ? ActivationKind::swiglu : ActivationKind::gelu;
    return activation({.rows = rows, .width = shard.inner, .kind = kind, .type = type});
  }
  if (operation == "attn_rope")
    return rotary({.tokens = rows, .heads = shard.heads + shard.kv_heads, .head_dim = shard.head_dim, .type = type});
  if (operation == "emb")
    return embedding({.tokens = rows, .vocabulary = shard.vocabulary, .width = shard.width, .type = type});
  return std::nullopt;
}

// Of the time of these rows, the products' share: 0.87 on A100 and 0.86 on H100 by their own latencies (no attention is
// among them).
constexpr double products_share = 0.87;
// Of the power limit, what memory-bound operators draw: the estimate that the architecture files' `among_others` stands
// on, too.
constexpr double power_between_products = 0.65;

// A product among the others of its layer. The governor holds the average at the limit, so that a product may have
// limit / (products_share + (1 - products_share) power_between_products): 5% more. In training steps, for which
// `among_others` stands in the architecture files, two thirds of the time are products, and they may have more.
DeviceSpec in_a_layer_of_products(const DeviceSpec& device) {
  DeviceSpec result = device;
  double& among = result.architecture.energy.among_others;
  among = std::min(among, 1 / (products_share + (1 - products_share) * power_between_products));
  return result;
}

std::string_view card_of(std::string_view hardware) {
  return to_lower(hardware) == "a100" ? std::string_view("a100_pcie_80gb") : hardware;
}

class LlmLayerOpsTable final : public TableKind {
 public:
  std::string_view name() const override { return "llm_layer_ops"; }
  std::string_view meaning() const override { return "single operators of dense LLM layers under a profiler"; }
  std::string_view device_column() const override { return "hw"; }
  std::span<const std::string_view> columns() const override {
    static constexpr std::array<std::string_view, 11> names = {"hw",         "op",
                                                               "num_tokens", "num_tensor_parallel_workers",
                                                               "n_head",     "n_kv_head",
                                                               "n_embd",     "n_expanded_embd",
                                                               "vocab_size", "use_gated_mlp",
                                                               "latency_us"};
    return names;
  }
  std::span<const std::string_view> shape_columns() const override {
    static constexpr std::array<std::string_view, 9> names = {
        "op",         "num_tokens",   "num_tensor_parallel_workers", "n_head", "n_kv_head", "n_embd", "n_expanded_embd",
        "vocab_size", "use_gated_mlp"};
    return names;
  }

  Predicted predict(const CsvRow& row, ValidationContext& context) const override {
    Predicted result;
    result.measured_us = row.positive_number("latency_us");
    const FoundDevice& device = context.device(card_of(row.text("hw")));
    const std::string operation(row.text("op"));
    const Shard shard = shard_of(row);
    result.device = device.name;
    result.dtype = "fp16";
    result.group = {{"op", operation}};
    // A profiler measures kernels alone, in whole microseconds, among the other operators of their layer: weights are
    // not in the L2, what the operator before has just written is.
    if (const auto layer = linear_layer(operation, shard)) {
      const Kernel kernel = gemm(*layer);
      result.size_class = gemm_size_class(layer->m, layer->n, layer->k, result.measured_us);
      result.predicted_us = alone_us(kernel, device, in_a_layer_of_products(device.spec), LaunchMode::stream);
      add_features(kernel, result.baseline);
      result.fold_key = fmt::format("{} x {}", layer->n, layer->k);
      return result;
    }
    auto kernel = memory_bound_operator(operation, shard);
    if (!kernel) throw UserError(fmt::format("the operator {} is not modelled", quoted(operation)));
    if (operation != "emb") kernel->flags |= warm_stream_flag;
    // Phi adds twice in one operator: attention and MLP run side by side. A table that names no model has none.
    const int times =
        operation == "add" && row.optional_text("model").value_or("").find("phi") != std::string_view::npos ? 2 : 1;
    result.size_class = result.measured_us < 10 ? "under 10 us" : "10 us and more";
    result.predicted_us = times * alone_us(*kernel, device, device.spec, LaunchMode::stream);
    for (int i = 0; i < times; ++i) add_features(*kernel, result.baseline);
    result.fold_key = fmt::format("{}", shard.width);
    return result;
  }
};

}  // namespace

const TableKind& llm_layer_ops_table() {
  static const LlmLayerOpsTable table;
  return table;
}

}  // namespace warploom
