// SPDX-License-Identifier: Apache-2.0
// Digits, units and what of a name is shown.
#include "bindings/report/capture_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/play/text_table.hpp"

namespace warploom {

std::string milliseconds(Nanoseconds time) { return fmt::format("{:.3f} ms", static_cast<double>(time) / 1e6); }

std::string time_in_words(Nanoseconds time) {
  const double us = static_cast<double>(time) / 1000;
  if (us < 1000) return fmt::format("{:.4g} us", us);
  if (us < 1e6) return fmt::format("{:.5g} ms", us / 1e3);
  return fmt::format("{:.5g} s", us / 1e6);
}

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::string share_in_words(Nanoseconds part, Nanoseconds whole) {
  return whole > 0 ? percent(static_cast<double>(part) / static_cast<double>(whole)) : "-";
}

std::string rank_in_words(const std::optional<std::int64_t>& rank) {
  return rank ? fmt::format("rank {}", *rank) : "rank unknown";
}

std::string shown_name(std::string_view name, std::size_t width) {
  constexpr std::string_view returns_nothing = "void ";
  if (name.starts_with(returns_nothing)) name.remove_prefix(returns_nothing.size());
  const bool fits = shown_width(name) <= width;
  if (!fits) {
    // Whole characters: never within the bytes of one.
    std::size_t end = std::min(name.size(), width - 3);
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0U) == 0x80U) --end;
    name = name.substr(0, end);
  }
  std::string text(name);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return fits ? text : text + "...";
}

}  // namespace warploom
