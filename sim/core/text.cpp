// SPDX-License-Identifier: Apache-2.0
// Small helpers for text.
#include "sim/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace warploom {

namespace {
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
}  // namespace

namespace {
template <class Same>
std::size_t alignment(std::string_view a, std::string_view b, Same same) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> previous(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool is_same = same(a[i - 1], b[j - 1]);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (is_same ? 0 : 1)});
      const bool is_swap = i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]);
      if (is_swap) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}
}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  return alignment(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> candidates) {
  constexpr std::size_t longest = 80;
  if (name.empty() || name.size() > longest) return {};
  const std::string* best = nullptr;
  std::pair<std::size_t, std::size_t> best_distance;
  const std::string wanted = to_lower(name);
  for (const std::string& candidate : candidates) {
    if (candidate.size() > longest) continue;
    const std::size_t distance = edit_distance(name, candidate);
    // Between equals the case decides: `Gbps` is nearer to `Gb/s` than to `GB/s`.
    const std::size_t strict = alignment(name, candidate, [](char x, char y) { return x == y; });
    const std::string other = to_lower(candidate);
    const std::size_t shorter = std::min(wanted.size(), other.size());
    const bool contains =
        shorter >= 3 && (other.find(wanted) != std::string::npos || wanted.find(other) != std::string::npos);
    const std::size_t allowed = std::max<std::size_t>(1, std::max(name.size(), candidate.size()) / 3);
    if (distance > allowed && !contains) continue;
    if (distance >= name.size() && !contains) continue;
    if (best == nullptr || std::pair(distance, strict) < best_distance) {
      best = &candidate;
      best_distance = {distance, strict};
    }
  }
  if (best == nullptr) return {};
  return *best;
}

std::string suggestion(std::string_view name, std::span<const std::string> candidates, std::string fallback) {
  if (const auto near = nearest_name(name, candidates)) return "did you mean `" + *near + "`?";
  return fallback;
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (true) {
    const std::size_t end = text.find(separator, start);
    parts.emplace_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

std::string to_lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), lower);
  return result;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string result = "`";
  std::size_t shown = std::min(text.size(), longest);
  while (shown < text.size() && shown > 0 && (static_cast<unsigned char>(text[shown]) & 0xC0) == 0x80)
    --shown;  // UTF-8
  for (const char c : text.substr(0, shown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  if (shown < text.size()) result += "...";
  return result + "`";
}

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (c == '\r') {
      result += "\\r";
    } else if (byte < 0x20) {
      result += fmt::format("\\u{:04x}", byte);
    } else {
      result += c;
    }
  }
  return result + "\"";
}

}  // namespace warploom
