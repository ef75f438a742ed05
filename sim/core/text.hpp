// SPDX-License-Identifier: Apache-2.0
// Small helpers for text: the nearest name for suggestions, joining, trimming.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warploom {

// Insertions, deletions, substitutions and swaps of neighbours that turn one text into the other, letters compared
// without case (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to the name, if it is near enough to be meant: at most a third of the letters differ, or one
// contains the other.
std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> candidates);

// "did you mean `ring`?", or the fallback when nothing is near.
std::string suggestion(std::string_view name, std::span<const std::string> candidates, std::string fallback = {});

std::string join(std::span<const std::string> parts, std::string_view separator = ", ");
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string to_lower(std::string_view text);

// For messages: `text` in back-ticks, cut to a bearable length, control characters made visible. Call it as
// warploom::quoted with a std::string: the standard library has a std::quoted that would be found first.
std::string quoted(std::string_view text);

// A JSON string with its quotes.
std::string json_string(std::string_view text);

}  // namespace warploom
