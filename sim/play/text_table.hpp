// SPDX-License-Identifier: Apache-2.0
// A table for a terminal: columns as wide as their widest cell, the first to the left, the others to the right.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace warploom {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) : rows_{std::move(header)} {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // This column too is aligned to the left.
  void align_left(std::size_t column) { left_.push_back(column); }
  // Every line indented by two spaces and ended; no trailing spaces.
  std::string to_string() const;
  // The same without the header.
  std::string lines() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> left_ = {0};
};

// Characters that a UTF-8 text shows (no wide or combining ones are expected).
std::size_t shown_width(std::string_view text);

// `share` of `width` cells, in eighths of a cell.
std::string text_bar(double share, int width);

}  // namespace warploom
