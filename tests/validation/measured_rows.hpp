// SPDX-License-Identifier: Apache-2.0
// Measured kernels: tables of them, a row of words as a kernel, and its cost as the measurement saw it.
#pragma once

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "hw_models/device.hpp"
#include "hw_models/kernels.hpp"
#include "hw_models/kernels/activation.hpp"
#include "hw_models/kernels/attention.hpp"
#include "hw_models/kernels/element_wise.hpp"
#include "hw_models/kernels/embedding.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/norm.hpp"
#include "hw_models/kernels/rotary.hpp"
#include "sim/core/errors.hpp"

namespace warploom::validation {

// A CSV file with a header, no quotes.
class MeasuredTable {
 public:
  class Row {
   public:
    Row(const std::unordered_map<std::string, std::size_t>& columns, std::vector<std::string> cells)
        : columns_(&columns), cells_(std::move(cells)) {}
    const std::string& text(const std::string& column) const { return cells_.at(columns_->at(column)); }
    double number(const std::string& column) const { return std::stod(text(column)); }

   private:
    const std::unordered_map<std::string, std::size_t>* columns_;
    std::vector<std::string> cells_;
  };

  explicit MeasuredTable(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw UserError("cannot read `" + path + "`");
    std::string line;
    std::getline(file, line);
    for (const std::string& name : cells_of(line)) columns_.emplace(name, columns_.size());
    while (std::getline(file, line)) rows_.emplace_back(columns_, cells_of(line));
  }
  MeasuredTable(const MeasuredTable&) = delete;  // rows point to columns
  MeasuredTable& operator=(const MeasuredTable&) = delete;

  const std::vector<Row>& rows() const { return rows_; }

 private:
  static std::vector<std::string> cells_of(std::string line) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::vector<std::string> cells;
    std::istringstream words(line);
    for (std::string cell; std::getline(words, cell, ',');) cells.push_back(cell);
    return cells;
  }

  std::unordered_map<std::string, std::size_t> columns_;
  std::vector<Row> rows_;
};

// A layer operator of llm_layer_ops.csv that is bound by memory and large enough not to live in the L2.
inline std::optional<std::string> line_of_layer_operator(const MeasuredTable::Row& row) {
  const std::string& operation = row.text("op");
  const double tokens = row.number("num_tokens");
  const double width = row.number("n_embd");
  const double parts = row.number("num_tensor_parallel_workers");
  const double heads = row.number("n_head");
  const double inner = std::floor(row.number("n_expanded_embd") / parts);
  const bool is_activation = operation == "mlp_act";
  if (tokens * (is_activation ? inner : width) * 2 < 10e6) return {};
  const auto words = [](const char* family, std::initializer_list<double> sizes) {
    std::string line = family;
    for (const double size : sizes) line += " " + std::to_string(static_cast<std::int64_t>(size));
    return line;
  };
  // Phi adds twice in one operator.
  if (operation == "add" && row.text("model").find("phi") == std::string::npos && 6 * tokens * width >= 100e6)
    return words("add", {tokens * width});
  if (operation == "input_layernorm" || operation == "post_attention_layernorm") return words("norm", {tokens, width});
  if (is_activation) return words(row.text("use_gated_mlp") == "True" ? "swiglu" : "gelu", {tokens, inner});
  if (operation == "attn_rope") {
    return words("rotary",
                 {tokens, std::floor(heads / parts) + std::max(1.0, std::floor(row.number("n_kv_head") / parts)),
                  width / heads});
  }
  if (operation == "emb") return words("embedding", {tokens, width});
  return {};
}

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
    AttentionShape shape;
    shape.type = type();
    shape.batch = number();
    shape.query_heads = number();
    shape.kv_heads = number();
    shape.query_length = number();
    shape.kv_length = number();
    shape.head_dim = number();
    shape.serving = shape.warm = true;
    return attention(shape);
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

// A benchmark repeats a kernel for longer the longer the kernel is, and the governor of a board lets it draw more than
// its limit for a while, and less once it is hot: measured GEMM rates of H100 fall with the duration, whatever the
// shape, by 5% from 0.3 to 3 ms and by 5% more beyond 10 ms. The product's limit is that of kernels of a few
// milliseconds in a long train.
inline double power_in_benchmark(Time duration) {
  const double milliseconds = std::max(duration.milliseconds(), 0.01);
  return std::clamp(std::pow(milliseconds / 3, -0.05), 0.85, 1.2);
}

inline KernelCost cost_of_row(const std::string& line, const DeviceSpec& device) {
  const Kernel kernel = kernel_of_row(line);
  const KernelFamily& family = kernel_family(kernel.family);
  family.check(kernel);
  DeviceSpec board = device;
  board.power.limit = device.power.limit * power_in_benchmark(family.cost(kernel, device).duration);
  return family.cost(kernel, board);
}

}  // namespace warploom::validation
