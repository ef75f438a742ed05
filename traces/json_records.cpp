// SPDX-License-Identifier: Apache-2.0
// The window, and the states between records.
#include "traces/json_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "traces/json_scan.hpp"

namespace warploom {

namespace {

// Control characters count as spaces: padding of zeros is let pass.
bool is_space(char c) { return static_cast<unsigned char>(c) <= ' '; }
bool ends_scalar(char c) { return c == ',' || c == '}' || c == ']' || is_space(c); }

std::size_t past_spaces(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

// `"key":` of a key that events begin with, at the front or after spaces.
bool starts_with_event_key(std::string_view text) {
  constexpr std::array keys = {std::string_view("\"ph\""), std::string_view("\"name\""), std::string_view("\"cat\""),
                               std::string_view("\"pid\""), std::string_view("\"ts\"")};
  const std::string_view rest = text.substr(past_spaces(text, 0));
  return std::any_of(keys.begin(), keys.end(), [&](std::string_view key) {
    if (!rest.starts_with(key)) return false;
    const auto colon = past_spaces(rest, key.size());
    return colon < rest.size() && rest[colon] == ':';
  });
}

// Where a record may begin after the one at the front, which is broken: at `{` after a comma; npos without.
std::size_t next_beginning(std::string_view text) {
  for (auto at = text.find('{', 1); at != std::string_view::npos; at = text.find('{', at + 1)) {
    auto before = at;
    while (before > 0 && is_space(text[before - 1])) --before;
    if (before > 1 && text[before - 1] == ',' && starts_with_event_key(text.substr(at + 1))) return at;
  }
  return std::string_view::npos;
}

// Where the list ends of whose broken last event `text` is the rest: a `]` of no bracket in it, before another key, the
// root's end or the end of the file; npos without.
std::size_t end_of_list(std::string_view text) {
  std::int64_t depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || (c == ']' && depth > 0)) {
      depth = std::max<std::int64_t>(depth - 1, 0);  // a brace too many is what broke it
    } else if (c == ']') {
      const auto next = past_spaces(text, at + 1);
      if (next == text.size() || text[next] == '}') return at;
      if (text[next] == ',' && text.substr(past_spaces(text, next + 1)).starts_with('"')) return at;
    }
  }
  return std::string_view::npos;
}

// After closing brackets from the front on: whether events go on, so that the brackets are too many. None: what follows
// is not in `text`.
std::optional<bool> events_follow(std::string_view text) {
  const auto is_passed = [](char c) { return c == '}' || c == ']' || is_space(c); };
  const auto* const after = std::find_if_not(text.begin(), text.end(), is_passed);
  const auto at = static_cast<std::size_t>(after - text.begin());
  if (at == text.size()) return std::nullopt;
  if (text[at] != ',') return false;
  const auto open = past_spaces(text, at + 1);
  if (open == text.size()) return std::nullopt;
  if (text[open] != '{') return false;
  const std::string_view inner = text.substr(open + 1);
  if (starts_with_event_key(inner)) return true;
  return inner.find(':') == std::string_view::npos ? std::nullopt : std::optional(false);
}

}  // namespace

JsonRecords::JsonRecords(ByteSource& source, Options options, Repairs& repairs)
    : source_(source),
      options_(std::move(options)),
      repairs_(repairs),
      buffer_(options_.window + json_padding),
      look_ahead_(options_.largest_record) {}

std::int64_t JsonRecords::line() const {
  return 1 + lines_ + count_lines(buffer_.data(), buffer_.data() + text_begin_);
}

std::string JsonRecords::where() const {
  return fmt::format("record {} (byte {}, line {})", records_, offset(), line());
}

void JsonRecords::note(std::string_view name, std::string_view text) {
  text_begin_ = at_;
  repairs_.note(name, text, fmt::format("byte {}, line {}", offset(), line()));
}

bool JsonRecords::refill() {
  if (at_end_) return false;
  lines_ += count_lines(buffer_.data(), buffer_.data() + at_);
  std::memmove(buffer_.data(), buffer_.data() + at_, filled_ - at_);
  consumed_ += at_;
  filled_ -= at_;
  at_ = 0;
  if (filled_ * 2 > buffer_.size() - json_padding) buffer_.resize(2 * buffer_.size());
  const std::size_t before = filled_;
  while (filled_ < buffer_.size() - json_padding && !at_end_) {
    std::size_t count = 0;
    try {
      count = source_.read(std::span(buffer_).subspan(filled_, buffer_.size() - json_padding - filled_));
    } catch (const UserError& error) {  // a compressed stream that is cut short: what came of it counts
      if (consumed_ + filled_ == 0) throw;
      note("broken_stream", error.message());
      is_truncated_ = true;
    }
    at_end_ = count == 0;
    filled_ += count;
  }
  return filled_ > before;
}

int JsonRecords::peek_char() {
  for (;;) {
    while (at_ < filled_ && is_space(buffer_[at_])) ++at_;
    if (at_ < filled_) return static_cast<unsigned char>(buffer_[at_]);
    if (!refill()) return -1;
  }
}

JsonRecords::Item JsonRecords::next() {
  for (;;) {
    switch (state_) {
      case State::start:
        begin();
        break;
      case State::array:
        if (const auto item = next_in_array()) return *item;
        break;
      case State::object:
        if (const auto item = next_in_object()) return *item;
        break;
      case State::after:
        if (peek_char() != -1) note("text_after_end", "text after the end of the trace was not read");
        state_ = State::done;
        break;
      case State::done:
        text_size_ = 0;
        return Item::end;
    }
  }
}

void JsonRecords::begin() {
  if (peek_char() == 0xEF && filled_ - at_ >= 3 && std::memcmp(&buffer_[at_], "\xEF\xBB\xBF", 3) == 0) at_ += 3;
  const int c = peek_char();
  if (c == -1) throw UserError(fmt::format("{}: the file is empty", source_.name()));
  if (c != '{' && c != '[') {
    text_begin_ = at_;
    throw UserError(fmt::format("{}: byte {}: expected `{{` or `[`, the beginning of a trace in JSON, got {}",
                                source_.name(), offset(), warploom::quoted(std::string(1, static_cast<char>(c)))),
                    c >= 0xFE ? "the file seems to be UTF-16: convert it to UTF-8" : "");
  }
  is_list_ = c == '[';
  state_ = is_list_ ? State::array : State::object;
  ++at_;
}

JsonRecords::Item JsonRecords::truncate() {
  if (records_ == 0 && !(has_array_ && state_ == State::object)) {
    throw UserError(fmt::format("{}: the file ends at byte {}, before the end of its first event", source_.name(),
                                consumed_ + filled_));
  }
  note("truncated_file", "the file ends early: what is whole of it was kept");
  is_truncated_ = state_ == State::array || records_ == 0;
  state_ = State::done;
  text_size_ = 0;
  return Item::end;
}

std::optional<JsonRecords::Item> JsonRecords::next_in_array() {
  const int c = peek_char();
  switch (c) {
    case -1:
      return truncate();
    case ',':
      if (after_comma_ || !has_element_)
        note("repeated_comma", "commas without an event between them were passed over");
      after_comma_ = true;
      ++at_;
      return std::nullopt;
    case ']':
      if (pass_stray_brackets()) return std::nullopt;
      if (after_comma_) note("trailing_comma", "a comma after the last element was passed over");
      ++at_;
      state_ = is_list_ ? State::after : State::object;
      has_element_ = true;
      after_comma_ = false;
      return std::nullopt;
    case '}':
      if (pass_stray_brackets()) return std::nullopt;
      // Other keys after it: it stands for the bracket.
      if (is_list_ || char_after(1) == ',') ++at_;
      leave_unclosed_array();
      return std::nullopt;
    default:
      break;
  }
  if (has_element_ && !after_comma_) note("missing_comma", "a comma between two events was missing");
  has_element_ = true;
  after_comma_ = false;
  if (c != '{') {
    note("not_an_event", "elements of the list of events that are no objects were passed over");
    if (!is_element()) return resume_after_garbage();
    if (!skip_value()) return truncate();
    return std::nullopt;
  }
  const char* end = find_end(look_ahead_);
  text_begin_ = at_;
  if (end == nullptr) {  // cut off, or a quote too many has swallowed what follows
    // Many such events: each looks less far, so that time does not grow with the square of the file.
    look_ahead_ = std::max(least_look_ahead, look_ahead_ / 2);
    do {
      text_begin_ = at_;
      text_size_ = filled_ - at_;
    } while (next_beginning(text()) == std::string_view::npos && text_size_ <= options_.largest_record && refill());
    if (at_end_ && next_beginning(text()) == std::string_view::npos) return truncate();
    ++records_;
    if (!resume_within()) {
      throw UserError(fmt::format("{}: {}: no end of this event within {} bytes", source_.name(), where(), text_size_),
                      "a quote or bracket is missing in it");
    }
    return Item::record;
  }
  text_size_ = static_cast<std::size_t>(end - buffer_.data()) - at_;
  at_ += text_size_;
  ++records_;
  return Item::record;
}

void JsonRecords::leave_unclosed_array() {
  note("unclosed_array", "the events' closing bracket was missing");
  state_ = is_list_ ? State::after : State::object;
  has_element_ = true;
  after_comma_ = false;
}

bool JsonRecords::pass_stray_brackets() {
  const auto pass = [this](std::size_t count) {
    note("stray_bracket", "closing brackets too many between events were passed over");
    at_ += count;
    has_element_ = true;
    after_comma_ = false;
    return true;
  };
  for (;;) {
    const std::string_view rest = {&buffer_[at_], filled_ - at_};
    // A brace before the list's own end belongs to the event before it.
    const auto next = past_spaces(rest, 1);
    if (rest.front() == '}' && next < rest.size() && rest[next] == ']') return pass(1);
    if (const auto follow = events_follow(rest)) return *follow && pass(rest.find(','));
    if (rest.size() > options_.largest_record || !refill()) return false;
  }
}

int JsonRecords::char_after(std::size_t count) {
  for (;;) {
    const std::string_view rest = {&buffer_[at_], filled_ - at_};
    if (const auto place = past_spaces(rest, count); place < rest.size())
      return static_cast<unsigned char>(rest[place]);
    if (rest.size() > options_.largest_record || !refill()) return -1;
  }
}

bool JsonRecords::is_element() {
  const char* end = find_end(options_.largest_record);
  if (end == nullptr || buffer_[at_] == '[') return true;
  const std::string_view token = {&buffer_[at_], static_cast<std::size_t>(end - &buffer_[at_])};
  if (token.front() == '"') return char_after(token.size()) != ':';
  return token.find_first_of("\"{[:") == std::string_view::npos;
}

std::optional<JsonRecords::Item> JsonRecords::resume_after_garbage() {
  // `}z{"ph": ...`: the comma is what was lost.
  std::string_view rest = {&buffer_[at_], filled_ - at_};
  if (const auto open = rest.find_first_of("\"{[:"); open > 0 && rest[open] == '{') {
    at_ += open;
    return std::nullopt;
  }
  do {
    rest = {&buffer_[at_], filled_ - at_};
    if (const auto next = next_beginning(rest); next != std::string_view::npos) {
      at_ += next;
      after_comma_ = true;
      return std::nullopt;
    }
  } while (rest.size() <= options_.largest_record && refill());
  rest = {&buffer_[at_], filled_ - at_};
  if (const auto end = end_of_list(rest); end != std::string_view::npos) {
    at_ += end;
    return std::nullopt;
  }
  at_ += std::min(rest.find('"'), rest.size());
  if (is_list_ || starts_with_event_key({&buffer_[at_], filled_ - at_})) {  // the file ends in a broken event
    at_ = filled_;
    return truncate();
  }
  leave_unclosed_array();
  return std::nullopt;
}

bool JsonRecords::resume_within() {
  const auto next = next_beginning(text());
  if (next == std::string_view::npos) return false;
  at_ = text_begin_ + next;
  has_element_ = true;
  after_comma_ = true;  // it stands before `next`
  text_size_ = text().substr(0, next).find_last_of(',');
  return true;
}

bool JsonRecords::take_key() {
  const char* end = nullptr;
  while ((end = find_string_end(&buffer_[at_], buffer_.data() + filled_)) == nullptr) {
    if (filled_ - at_ > options_.largest_record || !refill()) return false;
  }
  const char* begin = &buffer_[at_] + 1;
  key_.assign(begin, end - 1);
  at_ = static_cast<std::size_t>(end - buffer_.data());
  return true;
}

std::optional<JsonRecords::Item> JsonRecords::next_in_object() {
  const int c = peek_char();
  if (c == -1) {
    if (records_ == 0 && !has_array_) return truncate();
    note("unclosed_object", "the trace's closing brace was missing");
    is_truncated_ = records_ == 0;
    return finish();
  }
  if (c == ',') {
    after_comma_ = true;
    ++at_;
    return std::nullopt;
  }
  if (c == '}') {
    if (after_comma_) note("trailing_comma", "a comma after the last element was passed over");
    ++at_;
    state_ = State::after;
    return std::nullopt;
  }
  text_begin_ = at_;
  const std::uint64_t key_at = offset();
  if (c == '"') {
    if (!take_key()) return truncate();
    const int colon = peek_char();
    if (colon == -1) return truncate();
    if (colon == ':') {
      ++at_;
      after_comma_ = false;
      return take_value();
    }
  }
  if (records_ > 0) {
    note("broken_end", "what follows the events is no JSON and was not read");
    return finish();
  }
  throw UserError(
      fmt::format("{}: byte {}, line {}: expected `\"key\": value` or `}}`", source_.name(), key_at, line()));
}

JsonRecords::Item JsonRecords::finish() {
  state_ = State::done;
  text_size_ = 0;
  return Item::end;
}

std::optional<JsonRecords::Item> JsonRecords::take_value() {
  const int c = peek_char();
  if (c == -1) return truncate();
  if (key_ == options_.array && c == '[') {
    ++at_;
    state_ = State::array;
    has_array_ = true;
    has_element_ = false;
    return std::nullopt;
  }
  const bool is_wanted = !options_.wants || options_.wants(key_);
  const char* end = is_wanted ? find_end(options_.largest_record) : nullptr;
  if (end == nullptr) {
    if (is_wanted && at_end_) return truncate();
    if (is_wanted) note("large_value", "values beside the events that are too large were not read");
    if (!skip_value()) return truncate();
    has_element_ = true;
    return std::nullopt;
  }
  has_element_ = true;
  text_begin_ = at_;
  text_size_ = static_cast<std::size_t>(end - buffer_.data()) - at_;
  at_ += text_size_;
  return Item::value;
}

const char* JsonRecords::find_end(std::size_t farthest) {
  for (;;) {
    const char* begin = &buffer_[at_];
    const char* stop = begin + std::min(filled_ - at_, farthest);
    const char* end = nullptr;
    if (*begin == '{' || *begin == '[') {
      end = find_bracket_end(begin, stop);
    } else if (*begin == '"') {
      end = find_string_end(begin, stop);
    } else {
      end = std::find_if(begin, stop, ends_scalar);
      if (end == stop && !at_end_) end = nullptr;
    }
    if (end != nullptr) return end;
    if (filled_ - at_ >= farthest || !refill()) return nullptr;
  }
}

bool JsonRecords::skip_value() {
  std::int64_t depth = 0;
  bool in_string = false;
  bool is_escaped = false;
  do {
    for (; at_ < filled_; ++at_) {
      const char c = buffer_[at_];
      if (in_string) {
        if (is_escaped) {
          is_escaped = false;
        } else if (c == '\\') {
          is_escaped = true;
        } else if (c == '"') {
          in_string = false;
        }
      } else if (c == '"') {
        in_string = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (depth == 0 && ends_scalar(c)) {
        return true;
      } else if (c == '}' || c == ']') {
        --depth;
      }
    }
  } while (refill());
  return false;
}

}  // namespace warploom
