// SPDX-License-Identifier: Apache-2.0
// Kernels and calls in the words of the tables' classes.
#include "workloads/validation/prediction_bands.hpp"

#include <fmt/format.h>

#include "workloads/validation/collective_row.hpp"
#include "workloads/validation/kernel_row.hpp"

namespace warploom {

namespace {

bool is_quantised(const Kernel& kernel) { return bits(kernel.input) <= 8; }

struct TableClass {
  std::string kind;
  std::string size_class;
};

std::optional<TableClass> class_of(const Kernel& kernel, Time predicted) {
  const double us = predicted.microseconds();
  const auto& size = kernel.size;
  if (kernel.family == "gemm" && kernel.input == DataType::fp32) {
    return TableClass{"gemm_fp32",
                      fmt::format("{} {}", size[0] > 1 ? "bmm" : "linear", us < 1000 ? "under 1 ms" : "1 ms and more")};
  }
  if (kernel.family == "gemm") {
    return TableClass{is_quantised(kernel) ? "gemm_quantized" : "gemm", gemm_size_class(size[1], size[2], size[3], us)};
  }
  if (kernel.family == "attention") {
    // batch, query_heads, kv_heads, query_length, kv_length, head_dim, window
    return TableClass{"attention",
                      fmt::format("{} {}", size[3] == 1 ? "decode" : "prefill", size[6] > 0 ? "windowed" : "all keys")};
  }
  if (kernel.family == "moe") {
    const auto tokens = size[0];
    return TableClass{"moe", tokens <= 64 ? "to 64 tokens" : tokens <= 1024 ? "to 1,024 tokens" : "more tokens"};
  }
  if (kernel.family == "mla") return TableClass{"mla", us < 100 ? "decode under 100 us" : "decode 100 us and more"};
  return std::nullopt;
}

}  // namespace

std::optional<ErrorBand> kernel_band(const Kernel& kernel, std::string_view device, std::string_view precision,
                                     Time predicted, const ErrorBands& bands) {
  const auto table_class = class_of(kernel, predicted);
  if (!table_class) return std::nullopt;
  return bands.band(table_class->kind, device, precision, table_class->size_class);
}

std::optional<ErrorBand> collective_band(const Call& call, std::string_view device, std::int64_t ranks, bool in_a_node,
                                         const ErrorBands& bands) {
  return bands.band("collectives", device, "fp16",
                    fmt::format("{} {} {} {}", name(call.kind), in_a_node ? "one" : "several", ranks,
                                size_class_of(call.bytes.count())));
}

std::string description(const ErrorBand& band) {
  return fmt::format("{}{} {} {}, {}, {} rows", band.is_borrowed ? "borrowed from " : "", band.kind, band.dtype,
                     band.size_class, band.device, band.rows);
}

}  // namespace warploom
