// SPDX-License-Identifier: Apache-2.0
// Single operators of dense LLM layers under a profiler: the linear layers (tensor-parallel shards), FP16.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/device_lookup.hpp"
#include "workloads/validation/kernel_row.hpp"
#include "workloads/validation/tables.hpp"
#include "workloads/validation/validation_context.hpp"

namespace warploom {

namespace {

// n and k of a linear layer's shard; none for another operator.
std::optional<std::pair<std::int64_t, std::int64_t>> shard_of(const CsvRow& row) {
  const std::string_view operation = row.text("op");
  const std::int64_t parts = row.positive_integer("num_tensor_parallel_workers");
  const std::int64_t width = row.positive_integer("n_embd");
  const std::int64_t heads = row.positive_integer("n_head");
  const std::int64_t kv_heads = row.positive_integer("n_kv_head");
  const std::int64_t inner = row.positive_integer("n_expanded_embd") / parts;
  const std::int64_t head = width / heads;
  const bool is_gated = row.text("use_gated_mlp") == "True";
  if (operation == "attn_pre_proj")
    return std::pair{head * (heads / parts + 2 * std::max<std::int64_t>(kv_heads / parts, 1)), width};
  if (operation == "attn_post_proj") return std::pair{width, width / parts};
  if (operation == "mlp_up_proj") return std::pair{inner * (is_gated ? 2 : 1), width};
  if (operation == "mlp_down_proj") return std::pair{width, inner};
  return std::nullopt;
}

class LlmLayerOpsTable final : public TableKind {
 public:
  std::string_view name() const override { return "llm_layer_ops"; }
  std::string_view meaning() const override { return "single operators of dense LLM layers under a profiler"; }
  std::string_view device_column() const override { return "hw"; }
  std::span<const std::string_view> columns() const override {
    static constexpr std::array<std::string_view, 9> names = {
        "hw",        "op",        "num_tokens", "num_tensor_parallel_workers",
        "n_head",    "n_kv_head", "n_embd",     "n_expanded_embd",
        "latency_us"};
    return names;
  }

  Predicted predict(const CsvRow& row, ValidationContext& context) const override {
    Predicted result;
    result.measured_us = row.positive_number("latency_us");
    const FoundDevice& device = context.device(row.text("hw"));
    const std::string operation(row.text("op"));
    const auto shard = shard_of(row);
    // Memory-bound operators of this table have their own families; a row of them would be added here.
    if (!shard) throw UserError(fmt::format("the operator {} of this table is not predicted", quoted(operation)));
    GemmShape shape;
    shape.m = row.positive_integer("num_tokens");
    shape.n = shard->first;
    shape.k = shard->second;
    shape.input = shape.output = DataType::fp16;
    const Kernel kernel = gemm(shape);
    result.device = device.name;
    result.dtype = "fp16";
    result.group = {{"op", operation}};
    result.size_class = gemm_size_class(shape.m, shape.n, shape.k, result.measured_us);
    // A profiler measures the kernel alone, in whole microseconds, among the other operators of its layer: its operands
    // are not in the L2.
    result.predicted_us = benchmark_us(kernel, device, LaunchMode::graph) - device.spec.launch.graph.microseconds();
    add_features(kernel, result.baseline);
    result.fold_key = fmt::format("{} x {}", shape.n, shape.k);
    return result;
  }
};

}  // namespace

const TableKind& llm_layer_ops_table() {
  static const LlmLayerOpsTable table;
  return table;
}

}  // namespace warploom
