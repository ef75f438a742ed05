// SPDX-License-Identifier: Apache-2.0
// Padding of table cells, and bars.
#include "sim/play/text_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace warploom {

std::size_t shown_width(std::string_view text) {
  // Bytes 10xxxxxx continue a character.
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string TextTable::to_string() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], shown_width(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - shown_width(row[i]), ' ');
      const bool is_left = std::find(left_.begin(), left_.end(), i) != left_.end();
      line += "  " + (is_left ? row[i] + padding : padding + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string TextTable::lines() const {
  const std::string all = to_string();
  return all.substr(all.find('\n') + 1);
}

std::string text_bar(double share, int width) {
  static constexpr std::array<const char*, 8> eighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto total = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * width * 8));
  std::string bar;
  for (std::size_t i = 0; i < total / 8; ++i) bar += "█";
  return bar + eighths[total % 8];
}

}  // namespace warploom
