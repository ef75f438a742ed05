// SPDX-License-Identifier: Apache-2.0
// The words of a program's text: where they stand, what numbers they are, and which operands an instruction takes.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "hw_models/programs/instruction.hpp"

namespace warploom::program_words {

// One word of a line, with its place.
struct Word {
  std::string_view text;
  int column = 0;
};

inline std::vector<Word> words_of(std::string_view line) {
  line = line.substr(0, line.find('#'));
  std::vector<Word> words;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == ' ' || line[at] == '\t' || line[at] == '\r') {
      ++at;
      continue;
    }
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.push_back({line.substr(at, end - at), static_cast<int>(at) + 1});
    at = end;
  }
  return words;
}

inline std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

inline std::optional<double> decimal_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

inline bool takes_ring(Op op) { return op == Op::wait || op == Op::arrive || op == Op::sync || op == Op::copy_tile; }
inline bool takes_stream(Op op) {
  return op == Op::load || op == Op::store || op == Op::copy_tile || op == Op::store_tile;
}
inline bool takes_number(Op op) { return op == Op::drain || op == Op::use || op == Op::loop; }
inline bool is_product(Op op) { return op == Op::mma || op == Op::wgmma || op == Op::tcgen05; }
inline bool moves_bytes(Op op) {
  return takes_stream(op) || op == Op::shared_load || op == Op::shared_store || op == Op::tensor_load;
}
inline bool touches_lines(Op op) { return op == Op::load || op == Op::store || op == Op::copy_tile; }
inline bool is_math(Op op) { return op == Op::fma || op == Op::alu || op == Op::sfu; }

}  // namespace warploom::program_words
