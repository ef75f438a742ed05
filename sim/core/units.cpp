// SPDX-License-Identifier: Apache-2.0
// Reading and printing quantities: one table of units a quantity, used by parser, printer, error texts and schemas.
#include "sim/core/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <ostream>
#include <span>

#include "sim/core/errors.hpp"

namespace warploom {

namespace detail {
void throw_overflow(const char* what) { throw OverflowError(what); }
}  // namespace detail

namespace {

struct Unit {
  std::string_view name;
  double scale;         // base units (ps, bytes, B/s, FLOP, ...) in one
  bool printed = true;  // false: read, but not chosen by to_string
  double per = 1;       // the true scale is scale / per: keeps 10^-12 exact
};

constexpr double ki = 1024;

constexpr std::array time_units = {Unit{"ps", 1}, Unit{"ns", 1e3}, Unit{"us", 1e6}, Unit{"ms", 1e9}, Unit{"s", 1e12}};
constexpr std::array byte_units = {Unit{"B", 1},
                                   Unit{"kB", 1e3},
                                   Unit{"KiB", ki, false},
                                   Unit{"MB", 1e6},
                                   Unit{"MiB", ki* ki, false},
                                   Unit{"GB", 1e9},
                                   Unit{"GiB", ki* ki* ki, false},
                                   Unit{"TB", 1e12},
                                   Unit{"TiB", ki* ki* ki* ki, false},
                                   Unit{"PB", 1e15},
                                   Unit{"PiB", ki* ki* ki* ki* ki, false}};
constexpr std::array flop_units = {Unit{"FLOP", 1},     Unit{"kFLOP", 1e3},  Unit{"MFLOP", 1e6},
                                   Unit{"GFLOP", 1e9},  Unit{"TFLOP", 1e12}, Unit{"PFLOP", 1e15},
                                   Unit{"EFLOP", 1e18}, Unit{"ZFLOP", 1e21}, Unit{"YFLOP", 1e24}};
constexpr std::array bandwidth_units = {Unit{"B/s", 1},
                                        Unit{"kB/s", 1e3},
                                        Unit{"MB/s", 1e6},
                                        Unit{"GB/s", 1e9},
                                        Unit{"TB/s", 1e12},
                                        Unit{"PB/s", 1e15},
                                        Unit{"KiB/s", ki, false},
                                        Unit{"MiB/s", ki* ki, false},
                                        Unit{"GiB/s", ki* ki* ki, false},
                                        Unit{"TiB/s", ki* ki* ki* ki, false},
                                        Unit{"b/s", 1, false, 8},
                                        Unit{"kb/s", 1e3, false, 8},
                                        Unit{"Mb/s", 1e6, false, 8},
                                        Unit{"Gb/s", 1e9, false, 8},
                                        Unit{"Tb/s", 1e12, false, 8}};
constexpr std::array flop_rate_units = {Unit{"FLOP/s", 1},     Unit{"kFLOP/s", 1e3},  Unit{"MFLOP/s", 1e6},
                                        Unit{"GFLOP/s", 1e9},  Unit{"TFLOP/s", 1e12}, Unit{"PFLOP/s", 1e15},
                                        Unit{"EFLOP/s", 1e18}, Unit{"ZFLOP/s", 1e21}};
constexpr std::array frequency_units = {Unit{"Hz", 1}, Unit{"kHz", 1e3}, Unit{"MHz", 1e6}, Unit{"GHz", 1e9}};
constexpr std::array power_units = {Unit{"mW", 1, true, 1e3}, Unit{"W", 1}, Unit{"kW", 1e3}, Unit{"MW", 1e6},
                                    Unit{"GW", 1e9}};
constexpr std::array energy_units = {Unit{"fJ", 1, true, 1e15}, Unit{"pJ", 1, true, 1e12}, Unit{"nJ", 1, true, 1e9},
                                     Unit{"uJ", 1, true, 1e6},  Unit{"mJ", 1, true, 1e3},  Unit{"J", 1},
                                     Unit{"kJ", 1e3},           Unit{"MJ", 1e6},           Unit{"GJ", 1e9},
                                     Unit{"TJ", 1e12},          Unit{"kWh", 3.6e6, false}, Unit{"MWh", 3.6e9, false}};
constexpr std::array cycle_units = {Unit{"cycles", 1}};

struct Table {
  QuantityInfo info;
  std::span<const Unit> units;
  std::string_view base;  // the unit in which zero is printed
};

template <Quantity Q>
const Table& table();
template <>
const Table& table<Time>() {
  static constexpr Table t{{"a time", "700 ns", "ps, ns, us, ms, s"}, time_units, "s"};
  return t;
}
template <>
const Table& table<Bytes>() {
  static constexpr Table t{
      {"a size", "80 GB", "B, kB, MB, GB, TB, PB (powers of 1000), KiB, MiB, GiB, TiB, PiB (powers of 1024)"},
      byte_units,
      "B"};
  return t;
}
template <>
const Table& table<Flops>() {
  static constexpr Table t{
      {"an amount of work", "140 GFLOP", "FLOP, kFLOP, MFLOP, GFLOP, TFLOP, PFLOP, EFLOP, ZFLOP, YFLOP"},
      flop_units,
      "FLOP"};
  return t;
}
template <>
const Table& table<Bandwidth>() {
  static constexpr Table t{{"a bandwidth", "450 GB/s",
                            "B/s, kB/s, MB/s, GB/s, TB/s, PB/s (bytes), KiB/s, MiB/s, GiB/s, TiB/s (powers of 1024), "
                            "b/s, kb/s, Mb/s, Gb/s, Tb/s (bits)"},
                           bandwidth_units,
                           "B/s"};
  return t;
}
template <>
const Table& table<FlopRate>() {
  static constexpr Table t{
      {"a rate of work", "989 TFLOP/s", "FLOP/s, kFLOP/s, MFLOP/s, GFLOP/s, TFLOP/s, PFLOP/s, EFLOP/s, ZFLOP/s"},
      flop_rate_units,
      "FLOP/s"};
  return t;
}
template <>
const Table& table<Frequency>() {
  static constexpr Table t{{"a frequency", "1.98 GHz", "Hz, kHz, MHz, GHz"}, frequency_units, "Hz"};
  return t;
}
template <>
const Table& table<Power>() {
  static constexpr Table t{{"a power", "700 W", "mW, W, kW, MW, GW"}, power_units, "W"};
  return t;
}
template <>
const Table& table<Energy>() {
  static constexpr Table t{
      {"an energy", "1.2 pJ", "fJ, pJ, nJ, uJ, mJ, J, kJ, MJ, GJ, TJ, kWh, MWh"}, energy_units, "J"};
  return t;
}
template <>
const Table& table<Cycles>() {
  static constexpr Table t{{"a number of clock cycles", "30 cycles", "cycles"}, cycle_units, "cycles"};
  return t;
}

template <Quantity Q>
double base_value(Q q) {
  if constexpr (std::same_as<Q, Time>) {
    return static_cast<double>(q.ps());
  } else if constexpr (std::same_as<Q, Bytes>) {
    return static_cast<double>(q.count());
  } else {
    return q.value();
  }
}

template <class Q>
concept Whole = std::same_as<Q, Time> || std::same_as<Q, Bytes>;

template <Whole Q>
Q whole(std::int64_t n) {
  if constexpr (std::same_as<Q, Time>) {
    return Time::picoseconds(n);
  } else {
    return Bytes(n);
  }
}

template <Whole Q>
std::int64_t count(Q q) {
  if constexpr (std::same_as<Q, Time>) {
    return q.ps();
  } else {
    return q.count();
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The length of a plain decimal number at the start of the text: -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
// 0 when there is none (`010`, `.5`, `5.`, `0x10`, `1_000` are not plain).
std::size_t number_length(std::string_view text, bool& is_integer) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t start = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    return i - start;
  };
  if (i < text.size() && text[i] == '-') ++i;
  const std::size_t first = i;
  const std::size_t whole_digits = digits();
  if (whole_digits == 0 || (whole_digits > 1 && text[first] == '0')) return 0;
  is_integer = true;
  if (i < text.size() && text[i] == '.') {
    ++i;
    is_integer = false;
    if (digits() == 0) return 0;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    const std::size_t before = i++;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (digits() == 0) {
      i = before;  // the e begins the unit
    } else {
      is_integer = false;
    }
  }
  return i;
}

const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

template <Quantity Q>
std::optional<Q> combine(std::string_view number, bool is_integer, const Unit& unit) {
  if constexpr (Whole<Q>) {
    std::int64_t n = 0;
    if (is_integer) {
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), n);
      std::int64_t product = 0;
      if (error != std::errc() || __builtin_mul_overflow(n, static_cast<std::int64_t>(unit.scale), &product)) return {};
      return whole<Q>(product);
    }
  }
  double x = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), x);
  if (error != std::errc()) return {};
  const double value = x * unit.scale / unit.per;
  if constexpr (Whole<Q>) {
    if (!(std::abs(value) < 9.2e18)) return {};
    const std::int64_t n = detail::nearest(value, "");
    if (n == 0 && x != 0) return {};
    return whole<Q>(n);
  } else {
    if (!std::isfinite(value) || (value == 0 && x != 0)) return {};
    return Q(value);
  }
}

}  // namespace

template <Quantity Q>
const QuantityInfo& quantity_info() {
  return table<Q>().info;
}

namespace {

struct Parts {
  std::string_view number;
  bool is_integer = false;
  const Unit* unit = nullptr;  // null: not a quantity
};

template <Quantity Q>
Parts take_apart(std::string_view text) {
  Parts parts;
  const std::size_t length = number_length(text, parts.is_integer);
  if (length == 0) return {};
  parts.number = text.substr(0, length);
  std::string_view rest = text.substr(length);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  if (std::same_as<Q, Cycles> && rest == "cycle") rest = "cycles";
  parts.unit = find_unit(table<Q>().units, rest);
  return parts;
}

}  // namespace

template <Quantity Q>
std::optional<Q> parse_quantity(std::string_view text) {
  const Parts parts = take_apart<Q>(text);
  if (parts.unit == nullptr) return {};
  return combine<Q>(parts.number, parts.is_integer, *parts.unit);
}

template <Quantity Q>
bool looks_like_quantity(std::string_view text) {
  return take_apart<Q>(text).unit != nullptr;
}

template <Quantity Q>
std::string to_string(Q quantity) {
  const Table& t = table<Q>();
  const double value = base_value(quantity);
  if (value == 0) return fmt::format("0 {}", t.base);
  if (!std::isfinite(value)) return fmt::format("{} {}", value, t.base);
  const Unit* chosen = nullptr;
  for (const Unit& unit : t.units) {
    // 0.9995 of the next prefix is printed as 1 of it, not as 1000 of this one.
    if (unit.printed && (chosen == nullptr || std::abs(value) * unit.per >= unit.scale * 0.9995)) chosen = &unit;
  }
  const double x = value / chosen->scale * chosen->per;
  const double size = std::abs(x);
  if (size >= 1e9) return fmt::format("{:.3g} {}", x, chosen->name);
  if (size >= 999.5) return fmt::format("{:.0f} {}", x, chosen->name);
  return fmt::format("{:.3g} {}", x, chosen->name);
}

template <Quantity Q>
std::string exact_string(Q quantity) {
  const Table& t = table<Q>();
  if constexpr (Whole<Q>) {
    const std::int64_t n = count(quantity);
    if (n == 0) return fmt::format("0 {}", t.base);
    const Unit* chosen = nullptr;
    for (const Unit& unit : t.units) {
      if (n % static_cast<std::int64_t>(unit.scale) == 0) chosen = &unit;
    }
    return fmt::format("{} {}", n / static_cast<std::int64_t>(chosen->scale), chosen->name);
  } else {
    const double value = quantity.value();
    if (value == 0) return fmt::format("0 {}", t.base);
    std::string best;
    for (const Unit& unit : t.units) {
      if (!unit.printed) continue;
      const std::string candidate = fmt::format("{} {}", value / unit.scale * unit.per, unit.name);
      const auto back = parse_quantity<Q>(candidate);
      const bool is_exact = back && back->value() == value;
      if (is_exact && (best.empty() || candidate.size() <= best.size())) best = candidate;
    }
    return best.empty() ? fmt::format("{} {}", value, t.base) : best;
  }
}

template <Quantity Q>
std::string quantity_pattern() {
  std::string names;
  for (const Unit& unit : table<Q>().units) names += (names.empty() ? "" : "|") + std::string(unit.name);
  if constexpr (std::same_as<Q, Cycles>) names += "|cycle";
  return "^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)? *(" + names + ")$";
}

template <Quantity Q>
std::ostream& operator<<(std::ostream& out, Q quantity) {
  return out << exact_string(quantity);
}

#define WARPLOOM_QUANTITY(Q)                                     \
  template const QuantityInfo& quantity_info<Q>();               \
  template std::string to_string<Q>(Q);                          \
  template std::string exact_string<Q>(Q);                       \
  template std::optional<Q> parse_quantity<Q>(std::string_view); \
  template bool looks_like_quantity<Q>(std::string_view);        \
  template std::string quantity_pattern<Q>();                    \
  template std::ostream& operator<< <Q>(std::ostream&, Q);
WARPLOOM_QUANTITY(Time)
WARPLOOM_QUANTITY(Bytes)
WARPLOOM_QUANTITY(Flops)
WARPLOOM_QUANTITY(Bandwidth)
WARPLOOM_QUANTITY(FlopRate)
WARPLOOM_QUANTITY(Frequency)
WARPLOOM_QUANTITY(Power)
WARPLOOM_QUANTITY(Energy)
WARPLOOM_QUANTITY(Cycles)
#undef WARPLOOM_QUANTITY

}  // namespace warploom
