// SPDX-License-Identifier: Apache-2.0
// Where a JSON value ends: 64 bytes at a time, quotes and brackets as bit masks (the method of simdjson's first stage:
// Langdale and Lemire, "Parsing gigabytes of JSON per second", 2019). Nothing but nesting and strings is looked at.
#pragma once

#include <cstddef>
#include <cstdint>

namespace warploom {

inline constexpr std::size_t json_padding =
    64;  // bytes after `end` that must be readable; their content is not looked at

// `begin` stands on `{` or `[`: one past the bracket that closes it, or nullptr where that lies at or beyond `end`.
// Kinds of brackets are not told apart.
const char* find_bracket_end(const char* begin, const char* end);

// `begin` stands on the opening `"`: one past the closing one, or nullptr.
const char* find_string_end(const char* begin, const char* end);

std::int64_t count_lines(const char* begin, const char* end);

}  // namespace warploom
