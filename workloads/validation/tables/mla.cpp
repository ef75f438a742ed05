// SPDX-License-Identifier: Apache-2.0
// Latent attention of serving engines with DeepSeek's dimensions, repeated in a CUDA graph.
#include <fmt/format.h>

#include <array>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/kernels/mla.hpp"
#include "workloads/device_lookup.hpp"
#include "workloads/validation/attention_style.hpp"
#include "workloads/validation/kernel_row.hpp"
#include "workloads/validation/tables.hpp"
#include "workloads/validation/validation_context.hpp"

namespace warploom {

namespace {

class MlaTable final : public TableKind {
 public:
  std::string_view name() const override { return "mla"; }
  std::string_view meaning() const override { return "latent attention of serving engines (latent 512, rope 64)"; }
  std::span<const std::string_view> columns() const override {
    static constexpr std::array<std::string_view, 8> names = {"device", "dtype",   "batch",    "q_len",
                                                              "kv_len", "q_heads", "kv_dtype", "latency_us"};
    return names;
  }
  std::span<const std::string_view> shape_columns() const override {
    static constexpr std::array<std::string_view, 8> names = {"phase", "kernel", "dtype",  "kv_dtype",
                                                              "batch", "q_len",  "kv_len", "q_heads"};
    return names;
  }

  Predicted predict(const CsvRow& row, ValidationContext& context) const override {
    Predicted result;
    result.measured_us = row.positive_number("latency_us");
    const std::string kernel(row.optional_text("kernel").value_or(""));
    const FoundDevice& device = device_with_attention(row.text("device"), kernel, context);
    MlaShape shape;
    shape.batch = row.positive_integer("batch");
    shape.heads = row.positive_integer("q_heads");
    shape.query_length = row.positive_integer("q_len");
    shape.kv_length = row.positive_integer("kv_len");
    shape.type = data_type_of(row.text("dtype"));
    shape.kv_type = data_type_of(row.text("kv_dtype"));
    shape.serving = true;
    shape.warm = true;
    const Kernel attended = mla(shape);
    label_attention(row, device, result);
    result.size_class = result.measured_us < 100 ? "under 100 us" : "100 us and more";
    result.predicted_us = benchmark_us(attended, device, LaunchMode::graph) + graph_replay_us(device, context);
    add_features(attended, result.baseline);
    result.fold_key = fmt::format("{} heads x {}", shape.heads, shape.kv_length);
    return result;
  }
};

}  // namespace

const TableKind& mla_table() {
  static const MlaTable table;
  return table;
}

}  // namespace warploom
