// SPDX-License-Identifier: Apache-2.0
// Quantities as types: the compiler knows that bytes over bandwidth is a time and that bytes plus time is nonsense.
//
// `Time` (int64 picoseconds) and `Bytes` (int64) are exact and overflow-checked; the others hold a double. Every
// result that becomes a `Time` or `Bytes` is rounded to nearest; a division by zero, or a result out of range, throws
// OverflowError. GB is 10^9 bytes, GiB is 2^30.
#pragma once

#include <bit>
#include <compare>
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace warploom {

namespace detail {

// Throws OverflowError; not constexpr, so that an overflow in a constant expression does not compile.
[[noreturn]] void throw_overflow(const char* what);

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept Number = Integer<T> || std::floating_point<T>;

constexpr std::int64_t add(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw_overflow(what);
  return sum;
}

constexpr std::int64_t subtract(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) throw_overflow(what);
  return difference;
}

template <Integer N>
constexpr std::int64_t multiply(std::int64_t a, N b, const char* what) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw_overflow(what);
  return product;
}

// Nearest integer, halves away from zero; exact for every double in range.
constexpr std::int64_t nearest(double x, const char* what) {
  constexpr double limit = 9223372036854775808.0;  // 2^63
  if (!(x > -limit && x < limit)) throw_overflow(what);
  const auto whole = static_cast<std::int64_t>(x);
  const double rest = x - static_cast<double>(whole);
  return rest >= 0.5 ? whole + 1 : rest <= -0.5 ? whole - 1 : whole;
}

// a * factor, exactly, then rounded to nearest: 64 x 53 bits fit in 128, so that t * 1.0 == t for every t.
constexpr std::int64_t scale(std::int64_t a, double factor, const char* what) {
  const auto bits = std::bit_cast<std::uint64_t>(factor);
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff);
  if (exponent == 0x7ff) throw_overflow(what);
  const std::uint64_t mantissa = (bits & ((1ULL << 52) - 1)) | (exponent != 0 ? 1ULL << 52 : 0);
  const int shift = (exponent != 0 ? exponent : 1) - 1075;
  const bool negative = (a < 0) != ((bits >> 63) != 0);
  const std::uint64_t magnitude = a < 0 ? 0 - static_cast<std::uint64_t>(a) : static_cast<std::uint64_t>(a);
  uint128 product = static_cast<uint128>(magnitude) * mantissa;
  if (shift < 0) {
    product = shift < -120 ? 0 : (product + (static_cast<uint128>(1) << (-shift - 1))) >> -shift;
  } else if (product != 0) {
    if (shift > 63 || product >> (63 - shift) != 0) throw_overflow(what);
    product <<= shift;
  }
  if (product > static_cast<uint128>(std::numeric_limits<std::int64_t>::max())) throw_overflow(what);
  const auto result = static_cast<std::int64_t>(product);
  return negative ? -result : result;
}

constexpr std::int64_t divide(std::int64_t a, double divisor, const char* what) {
  if (divisor == 0) throw_overflow("division by zero");
  return nearest(static_cast<double>(a) / divisor, what);
}

template <Integer N>
constexpr std::int64_t divide(std::int64_t a, N divisor, const char* what) {
  if (divisor == 0) throw_overflow("division by zero");
  const auto n = static_cast<int128>(a);
  const auto d = static_cast<int128>(divisor);
  const int128 half = (d < 0 ? -d : d) / 2;
  const int128 quotient = (n < 0 ? n - half : n + half) / d;
  if (quotient > std::numeric_limits<std::int64_t>::max()) throw_overflow(what);
  return static_cast<std::int64_t>(quotient);
}

constexpr double divide(double a, double b) {
  if (b == 0) throw_overflow("division by zero");
  return a / b;
}

}  // namespace detail

// A point or a span of simulated time, in whole picoseconds (up to 106 days, either sign).
class Time {
 public:
  constexpr Time() = default;
  static constexpr Time picoseconds(std::int64_t ps) { return Time(ps); }
  static constexpr Time from_seconds(double s) { return Time(detail::nearest(s * 1e12, "time out of range")); }
  static constexpr Time zero() { return Time(0); }
  static constexpr Time max() { return Time(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t ps() const { return ps_; }
  constexpr double seconds() const { return static_cast<double>(ps_) / 1e12; }
  constexpr double milliseconds() const { return static_cast<double>(ps_) / 1e9; }
  constexpr double microseconds() const { return static_cast<double>(ps_) / 1e6; }
  constexpr double nanoseconds() const { return static_cast<double>(ps_) / 1e3; }

  constexpr auto operator<=>(const Time&) const = default;
  constexpr Time operator-() const { return Time(detail::subtract(0, ps_, range)); }
  constexpr Time& operator+=(Time t) { return *this = *this + t; }
  constexpr Time& operator-=(Time t) { return *this = *this - t; }
  friend constexpr Time operator+(Time a, Time b) { return Time(detail::add(a.ps_, b.ps_, range)); }
  friend constexpr Time operator-(Time a, Time b) { return Time(detail::subtract(a.ps_, b.ps_, range)); }
  template <detail::Integer N>
  friend constexpr Time operator*(Time t, N n) {
    return Time(detail::multiply(t.ps_, n, range));
  }
  template <detail::Integer N>
  friend constexpr Time operator*(N n, Time t) {
    return t * n;
  }
  friend constexpr Time operator*(Time t, std::floating_point auto x) {
    return Time(detail::scale(t.ps_, static_cast<double>(x), range));
  }
  friend constexpr Time operator*(std::floating_point auto x, Time t) { return t * x; }
  template <detail::Integer N>
  friend constexpr Time operator/(Time t, N n) {
    return Time(detail::divide(t.ps_, n, range));
  }
  friend constexpr Time operator/(Time t, std::floating_point auto x) {
    return Time(detail::divide(t.ps_, static_cast<double>(x), range));
  }
  friend constexpr double operator/(Time a, Time b) {
    return detail::divide(static_cast<double>(a.ps_), static_cast<double>(b.ps_));
  }

 private:
  static constexpr const char* range = "time out of range (a clock holds 106 days)";
  constexpr explicit Time(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

// A number of bytes.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t count) : count_(count) {}
  static constexpr Bytes zero() { return Bytes(0); }
  static constexpr Bytes max() { return Bytes(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t count() const { return count_; }

  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes operator-() const { return Bytes(detail::subtract(0, count_, range)); }
  constexpr Bytes& operator+=(Bytes b) { return *this = *this + b; }
  constexpr Bytes& operator-=(Bytes b) { return *this = *this - b; }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(detail::add(a.count_, b.count_, range)); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(detail::subtract(a.count_, b.count_, range)); }
  template <detail::Integer N>
  friend constexpr Bytes operator*(Bytes b, N n) {
    return Bytes(detail::multiply(b.count_, n, range));
  }
  template <detail::Integer N>
  friend constexpr Bytes operator*(N n, Bytes b) {
    return b * n;
  }
  friend constexpr Bytes operator*(Bytes b, std::floating_point auto x) {
    return Bytes(detail::scale(b.count_, static_cast<double>(x), range));
  }
  friend constexpr Bytes operator*(std::floating_point auto x, Bytes b) { return b * x; }
  template <detail::Integer N>
  friend constexpr Bytes operator/(Bytes b, N n) {
    return Bytes(detail::divide(b.count_, n, range));
  }
  friend constexpr Bytes operator/(Bytes b, std::floating_point auto x) {
    return Bytes(detail::divide(b.count_, static_cast<double>(x), range));
  }
  friend constexpr double operator/(Bytes a, Bytes b) {
    return detail::divide(static_cast<double>(a.count_), static_cast<double>(b.count_));
  }

 private:
  static constexpr const char* range = "byte count out of range";
  std::int64_t count_ = 0;
};

// A quantity that is a double in its base unit (B/s, FLOP/s, Hz, ...); Tag tells them apart.
template <class Tag>
class Scalar {
 public:
  constexpr Scalar() = default;
  constexpr explicit Scalar(detail::Number auto value) : value_(static_cast<double>(value)) {}
  static constexpr Scalar zero() { return Scalar(0); }

  constexpr double value() const { return value_; }

  constexpr auto operator<=>(const Scalar&) const = default;
  constexpr Scalar operator-() const { return Scalar(-value_); }
  constexpr Scalar& operator+=(Scalar s) { return *this = *this + s; }
  constexpr Scalar& operator-=(Scalar s) { return *this = *this - s; }
  friend constexpr Scalar operator+(Scalar a, Scalar b) { return Scalar(a.value_ + b.value_); }
  friend constexpr Scalar operator-(Scalar a, Scalar b) { return Scalar(a.value_ - b.value_); }
  friend constexpr Scalar operator*(Scalar s, detail::Number auto x) {
    return Scalar(s.value_ * static_cast<double>(x));
  }
  friend constexpr Scalar operator*(detail::Number auto x, Scalar s) { return s * x; }
  friend constexpr Scalar operator/(Scalar s, detail::Number auto x) {
    return Scalar(detail::divide(s.value_, static_cast<double>(x)));
  }
  friend constexpr double operator/(Scalar a, Scalar b) { return detail::divide(a.value_, b.value_); }

 private:
  double value_ = 0;
};

using Flops = Scalar<struct FlopsTag>;          // floating-point operations
using Bandwidth = Scalar<struct BandwidthTag>;  // bytes a second
using FlopRate = Scalar<struct FlopRateTag>;    // floating-point operations a second
using Frequency = Scalar<struct FrequencyTag>;  // hertz
using Power = Scalar<struct PowerTag>;          // watts
using Energy = Scalar<struct EnergyTag>;        // joules
using Cycles = Scalar<struct CyclesTag>;        // clock cycles

namespace detail {
// amount / rate in seconds, to the nearest picosecond.
constexpr Time duration(double amount, double rate) {
  if (rate == 0) throw_overflow("division by a rate of zero");
  return Time::picoseconds(nearest(amount * 1e12 / rate, "time out of range (a clock holds 106 days)"));
}
constexpr double rate(double amount, Time t) { return divide(amount * 1e12, static_cast<double>(t.ps())); }
}  // namespace detail

constexpr Time operator/(Bytes b, Bandwidth w) { return detail::duration(static_cast<double>(b.count()), w.value()); }
constexpr Time operator/(Flops f, FlopRate r) { return detail::duration(f.value(), r.value()); }
constexpr Time operator/(Cycles c, Frequency f) { return detail::duration(c.value(), f.value()); }
constexpr Time operator/(Energy e, Power p) { return detail::duration(e.value(), p.value()); }
constexpr Bandwidth operator/(Bytes b, Time t) { return Bandwidth(detail::rate(static_cast<double>(b.count()), t)); }
constexpr FlopRate operator/(Flops f, Time t) { return FlopRate(detail::rate(f.value(), t)); }
constexpr Frequency operator/(Cycles c, Time t) { return Frequency(detail::rate(c.value(), t)); }
constexpr Power operator/(Energy e, Time t) { return Power(detail::rate(e.value(), t)); }
constexpr Bytes operator*(Bandwidth w, Time t) {
  return Bytes(detail::nearest(w.value() * static_cast<double>(t.ps()) / 1e12, "byte count out of range"));
}
constexpr Bytes operator*(Time t, Bandwidth w) { return w * t; }
constexpr Flops operator*(FlopRate r, Time t) { return Flops(r.value() * t.seconds()); }
constexpr Flops operator*(Time t, FlopRate r) { return r * t; }
constexpr Cycles operator*(Frequency f, Time t) { return Cycles(f.value() * t.seconds()); }
constexpr Cycles operator*(Time t, Frequency f) { return f * t; }
constexpr Energy operator*(Power p, Time t) { return Energy(p.value() * t.seconds()); }
constexpr Energy operator*(Time t, Power p) { return p * t; }

// What a quantity is called, for error texts, manuals and schemas.
struct QuantityInfo {
  std::string_view name;     // "a time"
  std::string_view example;  // "700 ns"
  std::string_view units;    // "ps, ns, us, ms, s"
};

template <class T>
inline constexpr bool is_scalar_quantity = false;
template <class Tag>
inline constexpr bool is_scalar_quantity<Scalar<Tag>> = true;
template <class T>
concept Quantity = std::same_as<T, Time> || std::same_as<T, Bytes> || is_scalar_quantity<T>;

template <Quantity Q>
const QuantityInfo& quantity_info();
template <Quantity Q>
std::string_view quantity_name() {
  return quantity_info<Q>().name;
}
template <Quantity Q>
std::string_view quantity_example() {
  return quantity_info<Q>().example;
}
template <Quantity Q>
std::string_view quantity_units() {
  return quantity_info<Q>().units;
}

// For people: three significant digits and a fitting prefix (`6.48 s`, `268 MB`).
template <Quantity Q>
std::string to_string(Q quantity);
// The shortest text that parse_quantity reads back as the same value (`64 MiB`, `1.98 GHz`).
template <Quantity Q>
std::string exact_string(Q quantity);
// Strict: a plain decimal number, optional spaces, an obligatory unit in its exact case. No value when the text is
// anything else, does not fit, or is not zero but rounds to it.
template <Quantity Q>
std::optional<Q> parse_quantity(std::string_view text);
// Whether the text has the form of one, whatever its size.
template <Quantity Q>
bool looks_like_quantity(std::string_view text);
// A regular expression (ECMA) of what parse_quantity reads, for schemas.
template <Quantity Q>
std::string quantity_pattern();
template <Quantity Q>
std::ostream& operator<<(std::ostream& out, Q quantity);

inline namespace literals {

#define WARPLOOM_LITERAL(suffix, expression_of_x)            \
  constexpr auto operator""_##suffix(unsigned long long n) { \
    const auto x = static_cast<double>(n);                   \
    return expression_of_x;                                  \
  }                                                          \
  constexpr auto operator""_##suffix(long double d) {        \
    const auto x = static_cast<double>(d);                   \
    return expression_of_x;                                  \
  }
// The unit times the count: exact for whole numbers, to nearest for fractions.
#define WARPLOOM_EXACT_LITERAL(suffix, unit)                                    \
  constexpr auto operator""_##suffix(unsigned long long n) { return unit * n; } \
  constexpr auto operator""_##suffix(long double d) { return unit * static_cast<double>(d); }

WARPLOOM_EXACT_LITERAL(ps, Time::picoseconds(1))
WARPLOOM_EXACT_LITERAL(ns, Time::picoseconds(1'000))
WARPLOOM_EXACT_LITERAL(us, Time::picoseconds(1'000'000))
WARPLOOM_EXACT_LITERAL(ms, Time::picoseconds(1'000'000'000))
WARPLOOM_EXACT_LITERAL(s, Time::picoseconds(1'000'000'000'000))
WARPLOOM_EXACT_LITERAL(B, Bytes(1))
WARPLOOM_EXACT_LITERAL(kB, Bytes(1'000))
WARPLOOM_EXACT_LITERAL(MB, Bytes(1'000'000))
WARPLOOM_EXACT_LITERAL(GB, Bytes(1'000'000'000))
WARPLOOM_EXACT_LITERAL(TB, Bytes(1'000'000'000'000))
WARPLOOM_EXACT_LITERAL(KiB, Bytes(1LL << 10))
WARPLOOM_EXACT_LITERAL(MiB, Bytes(1LL << 20))
WARPLOOM_EXACT_LITERAL(GiB, Bytes(1LL << 30))
WARPLOOM_EXACT_LITERAL(TiB, Bytes(1LL << 40))
WARPLOOM_LITERAL(MBps, Bandwidth(x * 1e6))
WARPLOOM_LITERAL(GBps, Bandwidth(x * 1e9))
WARPLOOM_LITERAL(TBps, Bandwidth(x * 1e12))
WARPLOOM_LITERAL(GBitps, Bandwidth(x * 1e9 / 8))
WARPLOOM_LITERAL(GFLOP, Flops(x * 1e9))
WARPLOOM_LITERAL(TFLOP, Flops(x * 1e12))
WARPLOOM_LITERAL(GFLOPS, FlopRate(x * 1e9))
WARPLOOM_LITERAL(TFLOPS, FlopRate(x * 1e12))
WARPLOOM_LITERAL(MHz, Frequency(x * 1e6))
WARPLOOM_LITERAL(GHz, Frequency(x * 1e9))
WARPLOOM_LITERAL(W, Power(x))
WARPLOOM_LITERAL(J, Energy(x))
WARPLOOM_LITERAL(pJ, Energy(x * 1e-12))
WARPLOOM_LITERAL(cycles, Cycles(x))

#undef WARPLOOM_LITERAL
#undef WARPLOOM_EXACT_LITERAL

}  // namespace literals

}  // namespace warploom
