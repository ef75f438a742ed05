// SPDX-License-Identifier: Apache-2.0
// Operators by name; sizes by bisection.
#include "workloads/replay/op_kernel.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "hw_models/kernels/attention.hpp"
#include "hw_models/kernels/element_wise.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/norm.hpp"
#include "hw_models/kernels/softmax.hpp"
#include "sim/core/text.hpp"
#include "traces/collective_names.hpp"
#include "workloads/replay/shape_text.hpp"

namespace warploom {

namespace {

// No operator of a real model has a side or a product beyond these; what claims it comes from a broken file.
constexpr std::int64_t longest_side = std::int64_t{1} << 31;
constexpr std::int64_t most_elements = std::int64_t{1} << 44;

struct Operator {
  std::string name;  // lower case, without "aten::"
  std::vector<Shape> shapes;
  std::vector<std::string> types;
  std::string_view values;

  bool is(std::string_view text) const { return name == text; }
  bool has(std::string_view text) const { return name.find(text) != std::string::npos; }
  const Shape& shape(std::size_t i) const {
    static const Shape none;
    return i < shapes.size() ? shapes[i] : none;
  }
  DataType type(std::size_t i, DataType fallback = DataType::bf16) const {
    return i < types.size() ? captured_type(types[i]).value_or(fallback) : fallback;
  }
};

bool is_sane(const std::vector<Shape>& shapes) {
  return std::all_of(shapes.begin(), shapes.end(), [](const Shape& shape) {
    return element_count(shape) <= most_elements &&
           std::all_of(shape.begin(), shape.end(), [](std::int64_t side) { return side >= 0 && side <= longest_side; });
  });
}

std::optional<Kernel> product(std::int64_t batch, const Shape& a, const Shape& b, DataType type) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const std::int64_t m = a[a.size() - 2];
  const std::int64_t k = a.back();
  const std::int64_t n = b.back();
  if (b[b.size() - 2] != k || m < 1 || n < 1 || k < 1 || batch < 1) return std::nullopt;
  GemmShape shape;
  shape.batch = batch;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  shape.input = type;
  shape.output = type;
  return gemm(shape);
}

std::optional<Kernel> gemm_of(const Operator& op) {
  const std::size_t first = op.has("addmm") || op.has("baddbmm") ? 1 : 0;
  const Shape& a = op.shape(first);
  const Shape& b = op.shape(first + 1);
  const DataType type = op.type(first);
  if (op.is("linear")) {  // [..., k] x [n, k]
    if (a.empty() || b.size() != 2 || a.back() != b[1] || a.back() < 1) return std::nullopt;
    return product(1, {element_count(a) / a.back(), a.back()}, {b[1], b[0]}, type);
  }
  if (op.has("bmm")) return a.size() == 3 ? product(a[0], a, b, type) : std::nullopt;
  if (op.is("mm") || op.is("addmm") || op.is("_addmm_activation") || op.has("_scaled_mm") || op.has("_int_mm")) {
    return product(1, a, b, type);
  }
  if (op.has("matmul")) {
    if (a.size() == 2 && b.size() == 2) {
      if (a[1] == b[0]) return product(1, a, b, type);
      if (a[1] == b[1]) return product(1, a, {b[1], b[0]}, type);  // Ascend: either may lie transposed
      if (a[0] == b[0]) return product(1, {a[1], a[0]}, b, type);
      return a[0] == b[1] ? product(1, {a[1], a[0]}, {b[1], b[0]}, type) : std::nullopt;
    }
    if (b.size() == 2 && !a.empty() && a.back() > 0) {
      return product(1, {element_count(a) / a.back(), a.back()}, b, type);
    }
    if (a.size() >= 3 && b.size() == a.size() && a.back() > 0) {
      const std::int64_t matrix = a.back() * a[a.size() - 2];
      return matrix > 0 ? product(element_count(a) / matrix, a, b, type) : std::nullopt;
    }
  }
  return std::nullopt;
}

// The numbers of the i-th list in "Concrete Inputs": ["", "", "", "[2, 2]", "[3, 3]", ...].
Shape listed_value(std::string_view values, std::size_t i) {
  const auto words = parse_words(values);
  if (i >= words.size()) return {};
  const auto shapes = parse_shapes("[" + words[i] + "]");
  return shapes.empty() ? Shape{} : shapes.front();
}

// As a product: m = images x output pixels, n = output channels, k = input channels of a group x window.
std::optional<Kernel> convolution_of(const Operator& op) {
  if (!op.has("conv")) return std::nullopt;
  const bool is_backward = op.has("backward");
  const std::size_t first = is_backward ? 1 : 0;
  const Shape& input = op.shape(first);
  const Shape& weight = op.shape(first + 1);
  if (input.size() < 3 || weight.size() != input.size() || input.size() > 5) return std::nullopt;
  std::int64_t pixels = 1;
  if (is_backward) {
    const Shape& gradient = op.shape(0);
    if (gradient.size() != input.size()) return std::nullopt;
    for (std::size_t i = 2; i < gradient.size(); ++i) pixels *= gradient[i];
  } else {
    const Shape stride = listed_value(op.values, 3);
    const Shape padding = listed_value(op.values, 4);
    if (stride.size() + 2 != input.size() || padding.size() + 2 != input.size()) return std::nullopt;
    for (std::size_t i = 2; i < input.size(); ++i) {
      if (stride[i - 2] < 1) return std::nullopt;
      const std::int64_t room = input[i] + 2 * padding[i - 2] - weight[i];
      if (room < 0) return std::nullopt;
      pixels *= room / stride[i - 2] + 1;
    }
  }
  std::int64_t depth = weight[1];
  for (std::size_t i = 2; i < weight.size(); ++i) depth *= weight[i];
  return product(1, {input[0] * pixels, depth}, {depth, weight[0]}, op.type(first, DataType::fp32));
}

std::optional<Kernel> attention_of(const Operator& op) {
  const bool is_backward = op.has("backward");
  const std::size_t first = is_backward ? 1 : 0;  // the gradient comes first
  const Shape& q = op.shape(first);
  const Shape& k = op.shape(first + 1);
  if (q.size() != 4 || k.size() != 4) return std::nullopt;
  // [batch, heads, length, width] for scaled_dot_product_*, [batch, length, heads, width] for the kernels' own.
  const bool heads_first = op.has("scaled_dot_product");
  AttentionShape shape;
  shape.batch = q[0];
  shape.query_heads = heads_first ? q[1] : q[2];
  shape.kv_heads = heads_first ? k[1] : k[2];
  shape.query_length = heads_first ? q[2] : q[1];
  shape.kv_length = heads_first ? k[2] : k[1];
  shape.head_dim = q[3];
  shape.backward = is_backward;
  const auto words = parse_words(op.values);
  // "is_causal" is the only flag of these operators that stands as a Boolean beside the dropout mask's.
  shape.causal = std::count(words.begin(), words.end(), "True") > 0;
  shape.type = op.type(first);
  const bool is_sane = shape.batch > 0 && shape.query_heads > 0 && shape.kv_heads > 0 &&
                       shape.query_heads % std::max<std::int64_t>(shape.kv_heads, 1) == 0 && shape.query_length > 0 &&
                       shape.kv_length > 0 && shape.head_dim > 0 && shape.head_dim <= 512;
  if (!is_sane || bits(shape.type) != 16) return std::nullopt;
  return attention(shape);
}

std::optional<Kernel> row_kernel_of(const Operator& op) {
  const Shape& input = op.shape(0);
  if (input.empty() || input.back() < 1) return std::nullopt;
  const std::int64_t rows = element_count(input) / input.back();
  if (rows < 1) return std::nullopt;
  const DataType type = op.type(0, DataType::fp32);
  if (op.has("softmax") && !op.has("log")) {
    SoftmaxShape shape;
    shape.matrices = 1;
    shape.rows = rows;
    shape.width = input.back();
    shape.backward = op.has("backward");
    shape.type = type;
    shape.framework = !shape.backward;
    return softmax(shape);
  }
  if (op.has("layer_norm") || op.has("rms_norm")) {
    NormShape shape;
    shape.rows = rows;
    shape.width = input.back();
    shape.kind = op.has("layer") ? NormKind::layer : NormKind::rms;
    shape.backward = op.has("backward");
    shape.type = type;
    shape.framework = shape.kind == NormKind::layer && !shape.backward;
    return norm(shape);
  }
  return std::nullopt;
}

// All inputs are read once, what is as large as the largest is written.
std::optional<Kernel> stream_of(const Operator& op) {
  std::int64_t largest = 0;
  double bytes = 0;
  std::int64_t written = 4;
  for (std::size_t i = 0; i < op.shapes.size(); ++i) {
    if (op.shapes[i].empty()) continue;
    const std::int64_t elements = element_count(op.shapes[i]);
    const std::int64_t each = i < op.types.size() ? element_bytes(op.types[i]).value_or(4) : 4;
    bytes += static_cast<double>(elements) * static_cast<double>(each);
    if (elements > largest) {
      largest = elements;
      written = each;
    }
  }
  if (largest == 0) return std::nullopt;
  ElementWiseShape shape;
  shape.elements = largest;
  shape.bytes_read = std::clamp<std::int64_t>(std::llround(bytes / static_cast<double>(largest)), 1, 64);
  shape.bytes_written = written;
  return element_wise(shape);
}

Kernel of_size(OpClass op_class, DataType type, std::int64_t size) {
  switch (op_class) {
    case OpClass::gemm: {
      GemmShape shape;
      shape.m = shape.n = shape.k = size;
      shape.input = shape.output = type;
      return gemm(shape);
    }
    case OpClass::attention: {
      AttentionShape shape;
      shape.query_heads = shape.kv_heads = 32;
      shape.query_length = shape.kv_length = size;
      shape.type = bits(type) == 16 ? type : DataType::bf16;
      return attention(shape);
    }
    default: {
      ElementWiseShape shape;
      shape.elements = size * 1024;
      return element_wise(shape);
    }
  }
}

}  // namespace

std::optional<Kernel> kernel_of_operator(const OperatorTexts& texts, OpClass op_class) {
  Operator op;
  op.name = to_lower(texts.name);
  if (op.name.starts_with("aten::")) op.name.erase(0, 6);
  op.shapes = parse_shapes(texts.shapes);
  op.types = parse_words(texts.types);
  op.values = texts.values;
  if (op.shapes.empty() || !is_sane(op.shapes)) return std::nullopt;
  switch (op_class) {
    case OpClass::gemm: {
      if (auto kernel = gemm_of(op)) return kernel;
      return convolution_of(op);
    }
    case OpClass::attention:
      return attention_of(op);
    case OpClass::communication:
    case OpClass::copy:
      return std::nullopt;
    default: {
      if (auto kernel = row_kernel_of(op)) return kernel;
      return stream_of(op);
    }
  }
}

std::optional<Kernel> kernel_of_duration(OpClass op_class, DataType type, Time duration,
                                         const std::function<Time(const Kernel&)>& time_of) {
  const std::int64_t step = op_class == OpClass::gemm || op_class == OpClass::attention ? 128 : 1;
  std::int64_t low = 1;
  std::int64_t high = op_class == OpClass::gemm ? 512 : op_class == OpClass::attention ? 4096 : std::int64_t{1} << 24;
  if (time_of(of_size(op_class, type, low * step)) > duration) return std::nullopt;
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (time_of(of_size(op_class, type, middle * step)) <= duration) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return of_size(op_class, type, low * step);
}

DataType type_in_name(std::string_view kernel, DataType fallback) {
  const std::string lower = to_lower(kernel);
  const auto has = [&](const char* text) { return lower.find(text) != std::string::npos; };
  if (has("e4m3") || has("e5m2") || has("fp8") || has("float_e4")) return DataType::fp8;
  if (has("bf16") || has("bfloat16") || has("nvjet_tst")) return DataType::bf16;
  if (has("tf32")) return DataType::tf32;
  if (has("f16f16") || has("fp16") || has("_h16816") || has("s884gemm_fp16") || has("half") || has("hgemm")) {
    return DataType::fp16;
  }
  if (has("sgemm") || has("_f32f32") || has("scudnn") || has("sgemv")) return DataType::fp32;
  if (has("int8") || has("i8i8")) return DataType::int8;
  return fallback;
}

}  // namespace warploom
