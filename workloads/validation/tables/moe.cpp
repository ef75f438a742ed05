// SPDX-License-Identifier: Apache-2.0
// Fused mixture-of-experts layers of serving engines, the rank with most tokens, repeated in a CUDA graph.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/detailed_cache.hpp"
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

// vLLM's `fused_moe` with tokens already assigned, as the collectors first called it; later ones call whole layers.
bool is_first_collector(std::string_view kernel) { return kernel == "vllm_fused_moe"; }

// Scales of blocks and weights of 4 bits make other kernels of a library.
std::string style_of(std::string_view kernel, std::string_view dtype, std::string_view architecture) {
  const auto has = [&](std::string_view part) { return kernel.find(part) != std::string_view::npos; };
  const bool has_blocks = dtype == "fp8_block";
  if (is_first_collector(kernel)) return "triton_first_defaults";
  if (has("marlin")) return dtype == "int4_wo" ? "marlin_int4" : "marlin";
  if (has("cutlass")) {
    return has_blocks ? "cutlass_block_scaled" : architecture == "Blackwell" ? "cutlass_blackwell" : "cutlass";
  }
  if (has("trtllm")) {
    return has_blocks                  ? "trtllm_block_scaled"
           : dtype == "w4a16_mxfp4"    ? "trtllm_w4a16"
           : dtype.starts_with("w4a8") ? "trtllm_w4a8"
                                       : "trtllm";
  }
  if (dtype == "w4a16_mxfp4") return "triton_kernels";
  return has_blocks ? "triton_block_scaled" : "triton";
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

// What the columns don't say: published models whose experts are no SwiGLU, or are chosen by groups. A row is known by
// its sizes, which no other published model shares. `hidden` is the width that experts work on: of Nemotron 3 Super and
// Ultra (LatentMoE) a latent of a quarter of the model's; some rows have the model's width instead.
struct PublishedLayer {
  std::int64_t hidden;
  std::int64_t intermediate;
  std::int64_t top_k;
  std::int64_t experts;
  bool is_gated;
  std::int64_t groups;  // a token keeps to half of them; 0: free
};

constexpr PublishedLayer published[] = {
    // DeepSeek-V3 (arXiv:2412.19437, config.json: n_group 8, topk_group 4): SwiGLU, experts of four of eight groups
    {7168, 2048, 8, 256, true, 8},
    // Nemotron 3 Nano 30B-A3B (arXiv:2512.20848): squared ReLU, which has no gate
    {2688, 1856, 6, 128, false, 0},
    // Nemotron 3 Super 120B-A12B (arXiv:2604.12374): squared ReLU, hidden 4096, latent 1024
    {1024, 2688, 22, 512, false, 0},
    {4096, 2688, 22, 512, false, 0},
    // Nemotron 3 Ultra 550B-A55B (its config.json on Hugging Face): squared ReLU, hidden 8192, latent 2048
    {2048, 5120, 22, 512, false, 0},
};

void add_published(MoeShape& shape, std::int64_t whole_intermediate) {
  for (const PublishedLayer& layer : published) {
    if (layer.hidden != shape.hidden || layer.intermediate != whole_intermediate || layer.top_k != shape.top_k ||
        layer.experts != shape.experts) {
      continue;
    }
    shape.is_gated = layer.is_gated;
    shape.groups = layer.groups;
  }
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
  if (row.positive_integer("inter") % tensor != 0) throw UserError("the ranks do not divide an expert's columns");
  MoeShape shape;
  shape.tokens = row.positive_integer("tokens");
  shape.hidden = row.positive_integer("hidden");
  shape.intermediate = row.positive_integer("inter") / tensor;
  shape.top_k = row.positive_integer("top_k");
  shape.experts = row.positive_integer("experts");
  if (shape.experts % devices != 0) throw UserError("the experts do not divide among the devices");
  shape.local_experts = shape.experts / devices;
  shape.skew = skew_of(std::string(row.optional_text("distribution").value_or("balanced")));
  if (is_first_collector(row.optional_text("kernel").value_or(""))) {
    shape.leaves_one_by_one = true;
  } else {
    add_published(shape, row.positive_integer("inter"));
  }
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
    const std::string style =
        style_of(row.optional_text("kernel").value_or(""), row.text("dtype"), found.spec.architecture.name);
    const FoundDevice& device = context.memo<FoundDevice>(found.name + " with moe " + style, [&] {
      FoundDevice changed = found;
      changed.spec.architecture.moe = read<MoeConstants>(context.config("moe/" + style));
      if (changed.cache) changed.key = device_key(changed.spec);
      return changed;
    });
    const MoeShape shape = shape_of(row);
    const Kernel kernel = moe(shape);
    result.device = device.name;
    result.dtype = row.text("dtype");
    result.labels = {{"kernel", style}};
    result.tuned_by = "moe/" + style;
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
