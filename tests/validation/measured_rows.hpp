// SPDX-License-Identifier: Apache-2.0
// A row of words as a kernel and its cost; kernel_rows.cpp lists the rows.
#pragma once

#include <sstream>
#include <string>

#include "hw_models/device.hpp"
#include "hw_models/kernels.hpp"
#include "hw_models/kernels/activation.hpp"
#include "hw_models/kernels/element_wise.hpp"
#include "hw_models/kernels/embedding.hpp"
#include "hw_models/kernels/flash_attention.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/norm.hpp"
#include "hw_models/kernels/rotary.hpp"
#include "sim/core/errors.hpp"

namespace warploom::validation {

inline DataType type_of(const std::string& text) {
  for (const auto& [type, known] : data_type_names) {
    if (text == known) return type;
  }
  throw UserError("no data type `" + text + "`");
}

inline Kernel kernel_of_row(const std::string& line) {
  std::istringstream words(line);
  std::string family;
  words >> family;
  const auto number = [&] {
    std::int64_t value = 0;
    words >> value;
    return value;
  };
  const auto type = [&] {
    std::string text;
    words >> text;
    return type_of(text);
  };
  if (family == "gemm") {
    GemmShape shape;
    shape.input = type();
    shape.output = shape.input;
    shape.m = number();
    shape.n = number();
    shape.k = number();
    shape.is_warm = true;
    return gemm(shape);
  }
  if (family == "attention") {
    FlashAttentionShape shape;
    shape.type = type();
    shape.batch = number();
    shape.query_heads = number();
    shape.kv_heads = number();
    shape.query_length = number();
    shape.kv_length = number();
    shape.head_dim = number();
    return flash_attention(shape);
  }
  const std::int64_t a = number();
  const std::int64_t b = number();
  if (family == "norm") return norm({.rows = a, .width = b});
  if (family == "swiglu") return activation({.rows = a, .width = b});
  if (family == "gelu") return activation({.rows = a, .width = b, .kind = ActivationKind::gelu});
  if (family == "rotary") return rotary({.tokens = a, .heads = b, .head_dim = number()});
  if (family == "embedding") return embedding({.tokens = a, .vocabulary = 1, .width = b});
  if (family == "add") return element_wise({.elements = a, .bytes_read = 4, .bytes_written = 2, .flops = 1});
  throw UserError("no kernel `" + family + "`");
}

// A benchmark of kernels shorter than about 1 ms ends before the governor has settled: H100's measured GEMM rates step down
// by 5% there, whatever the shape. Until then the board draws more than its limit. (A training step is always settled.)
inline constexpr Time settling = 1_ms;
inline constexpr double unsettled_power = 1.12;

// A serving engine writes keys and values into its cache before it attends: one more pass over them, as simple as a rotation.
inline Time cache_write(const Kernel& attention, const DeviceSpec& device) {
  const auto& [batch, query_heads, kv_heads, query_length, kv_length, head_dim, unused, unused_too] = attention.size;
  const Kernel write = rotary({.tokens = batch * query_length, .heads = 2 * kv_heads, .head_dim = head_dim, .type = attention.input});
  return kernel_family(write.family).cost(write, device).duration;
}

inline KernelCost cost_of_row(const std::string& line, const DeviceSpec& device) {
  const Kernel kernel = kernel_of_row(line);
  const KernelFamily& family = kernel_family(kernel.family);
  family.check(kernel);
  KernelCost cost = family.cost(kernel, device);
  if (cost.duration < settling) {
    DeviceSpec unsettled = device;
    unsettled.power.limit = device.power.limit * unsettled_power;
    cost = family.cost(kernel, unsettled);
  }
  if (kernel.family == "flash_attention") cost.duration += cache_write(kernel, device);
  return cost;
}

}  // namespace warploom::validation
