// SPDX-License-Identifier: Apache-2.0
// Strings of a stranger's JSON, read leniently: never an error, what was mended is counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace warploom {

struct JsonMends {
  std::int64_t invalid_escapes = 0;     // `\W` of a Windows path: a backslash and what follows it
  std::int64_t invalid_utf8 = 0;        // sequences replaced by U+FFFD
  std::int64_t control_characters = 0;  // raw ones within strings
  std::int64_t stray_quotes = 0;        // quotes within a string that should have been escaped
  std::int64_t trailing_commas = 0;
  std::int64_t not_numbers = 0;  // NaN and Infinity: null
};

// The text between a string's quotes as what it means; `buffer` holds it where it differs from `raw`.
std::string_view unescape_json(std::string_view raw, std::string& buffer, JsonMends& mends);

// `text` if it is UTF-8, else a copy in `buffer` with U+FFFD for what is not.
std::string_view valid_utf8(std::string_view text, std::string& buffer, JsonMends& mends);

// A record that is no JSON, as JSON: a string ends at a quote that a comma, colon or closing bracket follows.
std::string mend_json(std::string_view text, JsonMends& mends);

// Spaces outside strings removed but one after each comma: the same value, the same text.
void canonical_json(std::string_view text, std::string& into);

}  // namespace warploom
