// SPDX-License-Identifier: Apache-2.0
// Kernels and calls in the words of the tables' classes.
#include "workloads/validation/prediction_bands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "hw_models/kernels.hpp"
#include "sim/core/text.hpp"
#include "workloads/validation/collective_row.hpp"
#include "workloads/validation/kernel_row.hpp"
#include "workloads/validation/moe_communication_row.hpp"

namespace warploom {

namespace {

bool is_quantised(const Kernel& kernel) { return bits(kernel.input) <= 8; }

bool has_flag(const Kernel& kernel, std::string_view name) {
  const auto flags = kernel_family(kernel.family).flags();
  const auto flag = std::ranges::find(flags, name, &KernelFlag::name);
  return flag != flags.end() && (kernel.flags & flag->bit) != 0;
}

struct TableClass {
  std::string kind;
  std::string size_class;
  std::string dtype;
  std::string besides;  // what the table's rows hold besides the kernel
};

TableClass gemm_class(const Kernel& kernel, std::string_view precision, double us) {
  const auto& size = kernel.size;  // batch, m, n, k
  const std::string dtype(precision);
  if (kernel.input == DataType::fp32) {
    return {"gemm_fp32",
            fmt::format("{} {}", size[0] > 1 ? "bmm" : "linear", us < 1000 ? "under 1 ms" : "1 ms and more"), dtype,
            ""};
  }
  const std::string size_class = gemm_size_class(size[1], size[2], size[3], us);
  if (is_quantised(kernel)) return {"gemm_quantized", size_class, dtype, "the quantisation of the activations"};
  return {"gemm", size_class, dtype, ""};
}

std::optional<TableClass> class_of(const Kernel& kernel, std::string_view precision, Time predicted) {
  const double us = predicted.microseconds();
  const auto& size = kernel.size;
  if (kernel.family == "gemm") return gemm_class(kernel, precision, us);
  if (kernel.family == "moe") {
    return TableClass{"moe",
                      size[0] <= 64     ? "to 64 tokens"
                      : size[0] <= 1024 ? "to 1,024 tokens"
                                        : "more tokens",
                      std::string(precision), ""};
  }
  const bool is_latent = kernel.family == "mla";
  if (!is_latent && kernel.family != "attention") return std::nullopt;
  // attention: batch, query_heads, kv_heads, query_length, kv_length, head_dim, window; mla: batch, heads, query_length
  const char* phase = (is_latent ? size[2] : size[3]) == 1 ? "decode" : "prefill";
  std::string dtype(precision);
  if (kernel.weight != kernel.input) dtype += fmt::format(" ({} keys)", name(kernel.weight));
  const std::string besides = has_flag(kernel, "serving") ? "" : "the engine's planning and its write to the cache";
  if (is_latent)
    return TableClass{"mla", fmt::format("{} {}", phase, us < 100 ? "under 100 us" : "100 us and more"), dtype,
                      besides};
  return TableClass{"attention", fmt::format("{} {}", phase, size[6] > 0 ? "windowed" : "all keys"), dtype, besides};
}

// Two types of the same width, rates and kernels.
std::string_view twin_of(std::string_view dtype) {
  if (dtype == "fp16") return "bf16";
  return dtype == "bf16" ? "fp16" : "";
}

// Measured in one node with even loads; other data types than the measured ones and uneven loads borrow.
std::optional<ErrorBand> moe_band(const Call& call, std::string_view device, std::int64_t ranks,
                                  const ErrorBands& bands) {
  const bool is_dispatch = call.kind == CollectiveKind::moe_dispatch;
  const std::string_view mode = name(call.moe->mode);
  auto band = bands.collective_band(device, is_dispatch ? "dispatch" : "combine", mode, ranks,
                                    moe_tokens_class(call.moe->tokens), fmt::format("moe_{}", mode));
  const std::string_view type = name(is_dispatch ? call.moe->dispatch_type : call.moe->combine_type);
  if (band && (band->dtype != type || call.moe->imbalance > 1)) band->is_borrowed = true;
  return band;
}

}  // namespace

std::optional<ErrorBand> kernel_band(const Kernel& kernel, const BandDevice& device, std::string_view precision,
                                     Time predicted, const ErrorBands& bands) {
  const auto table_class = class_of(kernel, precision, predicted);
  if (!table_class) return std::nullopt;
  auto band = bands.band(table_class->kind, device, table_class->dtype, table_class->size_class);
  if (!band) {
    band = bands.band(table_class->kind, device, twin_of(table_class->dtype), table_class->size_class);
    if (band) band->is_borrowed = true;
  }
  if (band && !table_class->besides.empty()) {
    band->is_borrowed = true;
    band->besides = table_class->besides;
  }
  return band;
}

std::optional<ErrorBand> collective_band(const Call& call, std::string_view device, std::int64_t ranks, bool in_a_node,
                                         const ErrorBands& bands) {
  if (call.moe) return in_a_node ? moe_band(call, device, ranks, bands) : std::nullopt;
  constexpr int least_rows = 4;  // of fewer no percentile says anything
  const auto band = bands.collective_band(device, name(call.kind), in_a_node ? "one" : "several", ranks,
                                          size_class_of(call.bytes.count()));
  if (!band || band->rows < least_rows) return std::nullopt;
  return band;
}

std::string description(const ErrorBand& band) {
  std::vector<std::string> words = {band.kind, band.dtype, band.size_class};
  std::erase(words, "");
  return fmt::format("{}{}{}, {}, {} rows", band.is_borrowed ? "borrowed from " : "", join(words, " "),
                     band.besides.empty() ? "" : " with " + band.besides, band.device, band.rows);
}

}  // namespace warploom
