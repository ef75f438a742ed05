// SPDX-License-Identifier: Apache-2.0
// Digit by digit, each with its power of ten.
#include "traces/decimal_time.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace warploom {

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// value * 10 + digit, or false.
bool append(std::int64_t& value, int digit) {
  if (value > (most - digit) / 10) return false;
  value = value * 10 + digit;
  return true;
}

// After `e` or `E`; beyond +-10000 it is as good as infinite.
std::optional<int> exponent_of(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  int value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    value = std::min(value * 10 + (c - '0'), 10'000);
  }
  return is_negative ? -value : value;
}

// The digits of `text`, the first of which counts 10^power nanoseconds.
DecimalTime add_up(std::string_view text, int power, int unit) {
  DecimalTime time;
  time.status = DecimalTime::Status::ok;
  bool overflows = false;
  int rounding = 0;
  for (const char c : text) {
    if (c == '.') continue;
    const int digit = c - '0';
    if (power >= 0) overflows = overflows || !append(time.ns, digit);
    if (power == -1) rounding = digit >= 5 ? 1 : 0;
    if (power < unit && digit != 0) time.is_finer_than_unit = true;
    --power;
  }
  for (; power >= 0 && time.ns != 0 && !overflows; --power) overflows = !append(time.ns, 0);
  if (overflows || time.ns > most - rounding) {
    time.ns = most;
    time.status = DecimalTime::Status::overflow;
  } else {
    time.ns += rounding;
  }
  return time;
}

}  // namespace

DecimalTime parse_time(std::string_view text, DecimalUnit unit) {
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  std::string_view mantissa = text;
  int exponent = 0;
  if (const auto e = text.find_first_of("eE"); e != std::string_view::npos) {
    const auto value = exponent_of(text.substr(e + 1));
    if (!value) return {};
    exponent = *value;
    mantissa = text.substr(0, e);
  }
  const auto point = std::min(mantissa.find('.'), mantissa.size());
  std::size_t digits = 0;
  for (std::size_t i = 0; i < mantissa.size(); ++i) {
    if (is_digit(mantissa[i])) {
      ++digits;
    } else if (i != point) {
      return {};
    }
  }
  if (digits == 0 || mantissa.size() > 1000) return {};
  DecimalTime time =
      add_up(mantissa, static_cast<int>(point) - 1 + exponent + static_cast<int>(unit), static_cast<int>(unit));
  if (is_negative) time.ns = -time.ns;
  return time;
}

}  // namespace warploom
