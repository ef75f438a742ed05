// SPDX-License-Identifier: Apache-2.0
// Escapes, UTF-8, and a rewriting of what is nearly JSON.
#include "traces/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>

namespace warploom {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

unsigned char byte(char c) { return static_cast<unsigned char>(c); }
bool is_space(char c) { return byte(c) <= ' '; }

// Bytes of the UTF-8 sequence at the front (Unicode 15, table 3-7); 0: not one.
std::size_t sequence_length(std::string_view text) {
  const unsigned char first = byte(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(text[i]) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(text[1]);
  const bool is_bad = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return is_bad ? 0 : length;
}

void append_code_point(std::uint32_t code, std::string& into) {
  const auto put = [&into](std::uint32_t value) { into.push_back(static_cast<char>(value)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

// Four hexadecimal digits at the front.
std::optional<std::uint32_t> hex4(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : text.substr(0, 4)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + static_cast<std::uint32_t>(digit);
  }
  return value;
}

// `rest` stands after `\u`; returns how much of it was used, 0 for no escape.
std::size_t append_unicode(std::string_view rest, std::string& into, JsonMends& mends) {
  const auto code = hex4(rest);
  if (!code) return 0;
  if (*code < 0xD800 || *code > 0xDFFF) {
    append_code_point(*code, into);
    return 4;
  }
  if (*code < 0xDC00 && rest.substr(4).starts_with("\\u")) {
    if (const auto low = hex4(rest.substr(6)); low && *low >= 0xDC00 && *low <= 0xDFFF) {
      append_code_point(0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00), into);
      return 10;
    }
  }
  ++mends.invalid_utf8;  // half of a pair
  into += replacement;
  return 4;
}

char simple_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return c;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return '\0';
  }
}

}  // namespace

std::string_view valid_utf8(std::string_view text, std::string& buffer, JsonMends& mends) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = sequence_length(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  if (at == text.size()) return text;
  std::string result(text.substr(0, at));
  while (at < text.size()) {
    if (const std::size_t length = sequence_length(text.substr(at)); length > 0) {
      result += text.substr(at, length);
      at += length;
      continue;
    }
    result += replacement;
    ++mends.invalid_utf8;
    ++at;
    while (at < text.size() && (byte(text[at]) & 0xC0) == 0x80) ++at;
  }
  buffer = std::move(result);
  return buffer;
}

std::string_view unescape_json(std::string_view raw, std::string& buffer, JsonMends& mends) {
  auto backslash = raw.find('\\');
  if (backslash == std::string_view::npos) return raw;
  buffer.clear();
  std::size_t at = 0;
  for (; backslash != std::string_view::npos; backslash = raw.find('\\', at)) {
    buffer += raw.substr(at, backslash - at);
    at = backslash + 1;
    const char next = at < raw.size() ? raw[at] : '\0';
    if (next == 'u') {
      const std::size_t used = append_unicode(raw.substr(at + 1), buffer, mends);
      if (used > 0) {
        at += 1 + used;
        continue;
      }
    } else if (const char meant = simple_escape(next); meant != '\0') {
      buffer.push_back(meant);
      ++at;
      continue;
    }
    ++mends.invalid_escapes;
    buffer.push_back('\\');
  }
  buffer += raw.substr(at);
  return buffer;
}

namespace {

class Mender {
 public:
  Mender(std::string_view text, JsonMends& mends) : text_(text), mends_(mends) { result_.reserve(text.size() + 16); }

  std::string mend() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        take_string();
      } else if (c == ',' && closes(text_.substr(at_ + 1))) {
        ++mends_.trailing_commas;
        ++at_;
      } else if (!take_word("NaN") && !take_word("-Infinity") && !take_word("Infinity") && !take_word("nan") &&
                 !take_word("-nan") && !take_word("-inf") && !take_word("inf")) {
        result_.push_back(is_space(c) ? ' ' : c);
        ++at_;
      }
    }
    return std::move(result_);
  }

 private:
  static bool closes(std::string_view rest) {
    const auto next = std::find_if_not(rest.begin(), rest.end(), is_space);
    return next != rest.end() && (*next == '}' || *next == ']');
  }
  // Whether a quote before `rest` ends a string.
  static bool ends_string(std::string_view rest) {
    const auto next = std::find_if_not(rest.begin(), rest.end(), is_space);
    return next == rest.end() || *next == ',' || *next == ':' || *next == '}' || *next == ']';
  }
  bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    result_ += "null";
    ++mends_.not_numbers;
    at_ += word.size();
    return true;
  }
  void take_string() {
    result_.push_back('"');
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        if (ends_string(text_.substr(at_ + 1))) break;
        ++mends_.stray_quotes;
        result_ += "\\\"";
      } else if (c == '\\') {
        take_escape();
      } else if (byte(c) < 0x20) {
        ++mends_.control_characters;
        fmt::format_to(std::back_inserter(result_), "\\u{:04x}", byte(c));
      } else {
        result_.push_back(c);
      }
    }
    result_.push_back('"');
    ++at_;
  }
  void take_escape() {
    const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (simple_escape(next) != '\0' || (next == 'u' && hex4(text_.substr(at_ + 2)))) {
      result_.push_back('\\');
      result_.push_back(next);
      ++at_;
    } else {
      ++mends_.invalid_escapes;
      result_ += "\\\\";
    }
  }

  std::string_view text_;
  JsonMends& mends_;
  std::string result_;
  std::size_t at_ = 0;
};

}  // namespace

std::string mend_json(std::string_view text, JsonMends& mends) {
  std::string buffer;
  return Mender(valid_utf8(text, buffer, mends), mends).mend();
}

void canonical_json(std::string_view text, std::string& into) {
  into.clear();
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      into.push_back(c);
      if (c == '\\' && at + 1 < text.size()) into.push_back(text[++at]);
      if (c == '"') in_string = false;
    } else if (!is_space(c)) {
      into.push_back(c);
      if (c == ',') into.push_back(' ');
      in_string = c == '"';
    }
  }
}

}  // namespace warploom
