// SPDX-License-Identifier: Apache-2.0
// Small scanners: brackets and numbers, words in quotes.
#include "workloads/replay/shape_text.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "sim/core/text.hpp"

namespace warploom {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<std::int64_t> take_number(std::string_view text, std::size_t& at) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  at = static_cast<std::size_t>(end - text.data());
  return value;
}

// Lists of lists: a list of tensors counts as its tensors.
std::vector<Shape> parse_bracketed(std::string_view text) {
  std::vector<Shape> shapes;
  std::vector<bool> has_inner;  // of the open brackets
  Shape current;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '[') {
      if (!has_inner.empty()) has_inner.back() = true;
      has_inner.push_back(false);
      current.clear();
      ++at;
    } else if (c == ']') {
      if (has_inner.empty()) return {};
      const bool is_shape = !has_inner.back() && has_inner.size() > 1;
      has_inner.pop_back();
      if (is_shape) shapes.push_back(std::move(current));
      current.clear();
      ++at;
    } else if (is_digit(c) || c == '-') {
      const auto number = take_number(text, at);
      if (!number) return {};
      current.push_back(*number);
    } else {
      ++at;
    }
  }
  return shapes;
}

std::vector<Shape> parse_listed(std::string_view text) {
  std::vector<Shape> shapes;
  for (const auto& part : split(text, ';')) {
    Shape shape;
    for (const auto& number : split(part, ',')) {
      const std::string_view digits = trim(number);
      if (digits.empty()) continue;
      std::size_t at = 0;
      const auto value = take_number(digits, at);
      if (!value || at != digits.size()) return {};
      shape.push_back(*value);
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace

std::vector<Shape> parse_shapes(std::string_view text) {
  text = trim(text);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = trim(text.substr(1, text.size() - 2));
  while (text.size() >= 2 && text.front() == '"') text = trim(text.substr(1, text.size() - 2));
  if (text.empty()) return {};
  return text.front() == '[' ? parse_bracketed(text) : parse_listed(text);
}

std::vector<std::string> parse_words(std::string_view text) {
  text = trim(text);
  std::vector<std::string> words;
  if (text.empty() || text.front() != '[') {
    for (const auto& word : split(text, ';')) words.emplace_back(trim(word));
    return words;
  }
  // Lists of types within the list (of lists of tensors) are flattened, as their shapes are.
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] != '"') continue;
    const std::size_t end = text.find('"', at + 1);
    if (end == std::string_view::npos) break;
    words.emplace_back(text.substr(at + 1, end - at - 1));
    at = end;
  }
  return words;
}

std::int64_t element_count(const Shape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) {
    if (size <= 0) return 0;
    if (product > std::numeric_limits<std::int64_t>::max() / size) return std::numeric_limits<std::int64_t>::max();
    product *= size;
  }
  return product;
}

}  // namespace warploom
