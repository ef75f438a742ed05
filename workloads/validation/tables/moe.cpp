// SPDX-License-Identifier: Apache-2.0
// Fused mixture-of-experts layers of serving engines, the rank with most tokens, repeated in a CUDA graph.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/kernels/moe.hpp"
#include "hw_models/moe_constants.hpp"
#include "sim/core/config.hpp"
#include "sim/core/errors.hpp"
#include "workloads/device_lookup.hpp"
#include "workloads/validation/kernel_row.hpp"
#include "workloads/validation/tables.hpp"
#include "workloads/validation/validation_context.hpp"

namespace warploom {

namespace {

// Scales of blocks make another kernel of a library's products, with a conversion before.
std::string style_of(std::string_view kernel, std::string_view dtype) {
  const bool has_blocks = dtype == "fp8_block";
  if (kernel.find("marlin") != std::string_view::npos) return "marlin";
  if (kernel.find("cutlass") != std::string_view::npos) return has_blocks ? "cutlass_block_scaled" : "cutlass";
  if (kernel.find("trtllm") != std::string_view::npos) return has_blocks ? "trtllm_block_scaled" : "trtllm";
  return "triton";
}

struct Types {
  std::string_view name;
  DataType product;
  DataType weight;
};

// What multiplies, and what the weights are in memory; scales of blocks are neglected.
constexpr Types types[] = {
    {"bf16", DataType::bf16, DataType::bf16},           {"fp8", DataType::fp8, DataType::fp8},
    {"fp8_block", DataType::fp8, DataType::fp8},        {"nvfp4", DataType::fp4, DataType::fp4},
    {"int4_wo", DataType::bf16, DataType::fp4},         {"w4a16_mxfp4", DataType::bf16, DataType::fp4},
    {"w4a8_mxfp4_mxfp8", DataType::fp8, DataType::fp4},
};

const Types& types_of(std::string_view dtype) {
  for (const Types& known : types) {
    if (dtype == known.name) return known;
  }
  throw UserError(fmt::format("the data type `{}` of experts is not modelled", dtype));
}

// `balanced`, `power_law_1.2`: 0, 120.
std::int64_t skew_of(const std::string& distribution) {
  if (distribution == "balanced" || distribution == "uniform") return 0;
  constexpr std::string_view prefix = "power_law_";
  if (!distribution.starts_with(prefix)) throw UserError("the distribution `" + distribution + "` is not modelled");
  const double exponent = std::strtod(distribution.c_str() + prefix.size(), nullptr);
  if (!(exponent > 0 && exponent < 100)) throw UserError("the distribution `" + distribution + "` is not modelled");
  return std::llround(100 * exponent);
}

MoeShape shape_of(const CsvRow& row) {
  const Types& type = types_of(row.text("dtype"));
  const std::int64_t tensor = row.positive_integer("tp");
  const std::int64_t devices = row.positive_integer("ep");
  MoeShape shape;
  shape.tokens = row.positive_integer("tokens");
  shape.hidden = row.positive_integer("hidden");
  shape.intermediate = std::max<std::int64_t>(1, row.positive_integer("inter") / tensor);
  shape.top_k = row.positive_integer("top_k");
  shape.experts = row.positive_integer("experts");
  if (shape.experts % devices != 0) throw UserError("the experts do not divide among the devices");
  shape.local_experts = shape.experts / devices;
  shape.skew = skew_of(std::string(row.optional_text("distribution").value_or("balanced")));
  shape.product_type = type.product;
  shape.weight_type = type.weight;
  return shape;
}

class MoeTable final : public TableKind {
 public:
  std::string_view name() const override { return "moe"; }
  std::string_view meaning() const override { return "fused mixture-of-experts layers of serving engines"; }
  std::span<const std::string_view> columns() const override {
    static constexpr std::array<std::string_view, 10> names = {"device", "dtype",   "tokens", "hidden", "inter",
                                                               "top_k",  "experts", "tp",     "ep",     "latency_us"};
    return names;
  }

  Predicted predict(const CsvRow& row, ValidationContext& context) const override {
    Predicted result;
    result.measured_us = row.positive_number("latency_us");
    const FoundDevice& found = context.device(row.text("device"));
    const std::string style = style_of(row.optional_text("kernel").value_or(""), row.text("dtype"));
    const FoundDevice& device = context.memo<FoundDevice>(found.name + " with moe " + style, [&] {
      FoundDevice changed = found;
      changed.spec.architecture.moe = read<MoeConstants>(context.config("moe/" + style));
      return changed;
    });
    const MoeShape shape = shape_of(row);
    const Kernel kernel = moe(shape);
    result.device = device.name;
    result.dtype = row.text("dtype");
    result.labels = {{"kernel", style}};
    result.size_class = shape.tokens <= 64 ? "to 64 tokens" : shape.tokens <= 1024 ? "to 1,024 tokens" : "more tokens";
    result.predicted_us = benchmark_us(kernel, device, LaunchMode::graph);
    add_features(kernel, result.baseline);
    result.fold_key = fmt::format("{} x {} of {}", shape.hidden, row.text("inter"), shape.experts);
    return result;
  }
};

}  // namespace

const TableKind& moe_table() {
  static const MoeTable table;
  return table;
}

}  // namespace warploom
