// SPDX-License-Identifier: Apache-2.0
// Attention of serving engines, prefill (causal) and decoding: the write to the cache, planning and the kernel in one
// number, repeated in a CUDA graph.
#include <fmt/format.h>

#include <array>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/kernels/attention.hpp"
#include "sim/core/errors.hpp"
#include "workloads/device_lookup.hpp"
#include "workloads/validation/attention_style.hpp"
#include "workloads/validation/kernel_row.hpp"
#include "workloads/validation/tables.hpp"
#include "workloads/validation/validation_context.hpp"

namespace warploom {

namespace {

// `vllm_flash_attn`: an engine's whole operation; `flash_attention_3`: the bare kernel, as papers measure it.
bool is_of_an_engine(std::string_view kernel) {
  for (const std::string_view engine : {"vllm", "sglang", "trtllm"}) {
    if (kernel.starts_with(engine)) return true;
  }
  return kernel.empty();
}

class AttentionTable final : public TableKind {
 public:
  std::string_view name() const override { return "attention"; }
  std::string_view meaning() const override { return "attention of serving engines: heads, lengths and their latency"; }
  std::span<const std::string_view> columns() const override {
    static constexpr std::array<std::string_view, 10> names = {
        "device", "dtype", "batch", "q_len", "kv_len", "q_heads", "kv_heads", "head_dim", "kv_dtype", "latency_us"};
    return names;
  }
  // Each device runs its own library's kernel for it, as frameworks do.
  std::span<const std::string_view> shape_columns() const override {
    static constexpr std::array<std::string_view, 10> names = {"phase",  "dtype",   "kv_dtype", "batch",    "q_len",
                                                               "kv_len", "q_heads", "kv_heads", "head_dim", "window"};
    return names;
  }

  Predicted predict(const CsvRow& row, ValidationContext& context) const override {
    Predicted result;
    result.measured_us = row.positive_number("latency_us");
    const std::string kernel(row.optional_text("kernel").value_or(""));
    const FoundDevice& device = device_with_attention(row.text("device"), kernel, context);
    AttentionShape shape;
    shape.batch = row.positive_integer("batch");
    shape.query_heads = row.positive_integer("q_heads");
    shape.kv_heads = row.positive_integer("kv_heads");
    shape.query_length = row.positive_integer("q_len");
    shape.kv_length = row.positive_integer("kv_len");
    shape.head_dim = row.positive_integer("head_dim");
    shape.window = row.optional_integer("window").value_or(0);
    shape.type = data_type_of(row.text("dtype"));
    shape.kv_type = data_type_of(row.text("kv_dtype"));
    shape.serving = is_of_an_engine(kernel);
    shape.warm = true;
    const Kernel attended = attention(shape);
    label_attention(row, device, result);
    if (const std::string style = attention_style(kernel); !style.empty()) result.tuned_by = "attention/" + style;
    result.labels = {{"kernel", kernel}};
    result.size_class = shape.window > 0 ? "windowed" : "all keys";
    result.predicted_us = benchmark_us(attended, device, LaunchMode::graph);
    if (shape.serving) result.predicted_us += graph_replay_us(device, context);
    add_features(attended, result.baseline);
    result.fold_key = fmt::format("{} {}/{} x {}", kernel, shape.query_heads, shape.kv_heads, shape.head_dim);
    return result;
  }
};

}  // namespace

const TableKind& attention_table() {
  static const AttentionTable table;
  return table;
}

}  // namespace warploom
