// SPDX-License-Identifier: Apache-2.0
// Quantities: physics by types, exact to the picosecond, overflow caught, text round trip.
#include "sim/core/units.hpp"

#include <gtest/gtest.h>

#include <concepts>

#include "sim/core/errors.hpp"
#include "sim/core/random.hpp"

namespace warploom {
namespace {

static_assert(64_MiB / 450_GBps > 149_us);
static_assert(64_MiB / 450_GBps < 150_us);
static_assert(1_GiB - 1_GB == Bytes(73'741'824));
static_assert(400_GBitps == 50_GBps);
static_assert(1.5_us == 1500_ns);
static_assert(450_GBps * 1_us == 450_kB);
static_assert(1_TFLOP / 1000_TFLOPS == 1_ms);
static_assert(1830_cycles / 1.83_GHz == 1_us);
static_assert(Time::max() * 1.0 == Time::max());
static_assert(3 * 5_ns == 15_ns && 5_ns * std::size_t{3} == 15_ns);

template <class A, class B>
concept CanAdd = requires(A a, B b) { a + b; };
template <class A, class B>
concept CanDivide = requires(A a, B b) { a / b; };
template <class A, class B>
concept CanCompare = requires(A a, B b) { a < b; };
static_assert(CanAdd<Time, Time> && !CanAdd<Bytes, Time> && !CanAdd<Time, int> && !CanAdd<Bandwidth, FlopRate>);
static_assert(CanDivide<Bytes, Bandwidth> && !CanDivide<Flops, Bandwidth> && !CanDivide<Bandwidth, Bytes>);
static_assert(!CanCompare<Time, Bytes> && !CanCompare<Power, Energy>);
static_assert(!std::convertible_to<double, Bandwidth> && !std::convertible_to<std::int64_t, Bytes>);

TEST(Units, QuotientsOfEqualsAreNumbers) {
  EXPECT_DOUBLE_EQ(1_GiB / 1_GB, 1.073741824);  // the silent 7.4 %
  EXPECT_DOUBLE_EQ(3_s / 2_s, 1.5);
  EXPECT_DOUBLE_EQ(989_TFLOPS / (1_TFLOP / 1_s), 989.0);
}

TEST(Units, TransferTimeIsSizeOverBandwidthToTheNearestPicosecond) {
  for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{999}, std::int64_t{1} << 30, std::int64_t{1} << 45}) {
    for (const double rate : {1e9, 3.35e12, 450e9, 7.0, 1.0 / 3}) {
      const double exact = static_cast<double>(bytes) / rate * 1e12;
      if (exact > 9e18) continue;
      const double error = static_cast<double>((Bytes(bytes) / Bandwidth(rate)).ps()) - exact;
      EXPECT_LE(std::abs(error), 0.5 + exact * 4e-16) << bytes << " bytes at " << rate;
    }
  }
  EXPECT_EQ(1_B / Bandwidth(3e12), Time::zero());  // 0.33 ps
  EXPECT_EQ(2_B / Bandwidth(3e12), 1_ps);          // 0.67 ps
}

TEST(Units, CyclesBecomeTimeWithoutARoundedPeriod) {
  // A period of 1 / 1.83 GHz cut to 546 ps would be 0.08 % short for ever.
  EXPECT_EQ(Cycles(1.83e9 * 1000) / 1.83_GHz, 1000_s);
}

TEST(Units, ScalingRoundsToNearestWithHalvesAway) {
  EXPECT_EQ(3_ps * 0.5, 2_ps);
  EXPECT_EQ(-(3_ps) * 0.5, -(2_ps));
  EXPECT_EQ(5_B * 0.49, 2_B);
  EXPECT_EQ(7_B / 2, 4_B);
  EXPECT_EQ(7_B / 2.0, 4_B);
  EXPECT_EQ(-(7_B) / 2, -(4_B));
  EXPECT_EQ(10_B / 4.0, 3_B);
  EXPECT_EQ(1_ps * 0.49999999999999994, Time::zero());
}

TEST(Units, ScalingIsExactBeyondWhatADoubleHolds) {
  const Time t = Time::picoseconds((std::int64_t{1} << 60) + 1);
  EXPECT_EQ(t * 1.0, t);
  EXPECT_EQ(t * 2.0, t + t);
  EXPECT_EQ(t * 0.5, Time::picoseconds((std::int64_t{1} << 59) + 1));
}

TEST(Units, ScalingAgreesWithLongDoubleForRandomValues) {
  Random random(1);
  for (int i = 0; i < 100'000; ++i) {
    const auto a = static_cast<std::int64_t>(random.bits() >> (2 + random.below(60)));
    const double x = std::ldexp(random.uniform() - 0.5, static_cast<int>(random.below(20)) - 19);
    const long double exact = static_cast<long double>(a) * static_cast<long double>(x);  // 64 bits of mantissa
    const auto got = static_cast<long double>((Bytes(a) * x).count());
    ASSERT_LE(std::abs(got - exact), 0.5L + std::abs(exact) * 1e-18L) << a << " * " << x;
  }
}

TEST(Units, OverflowThrowsAndNeverWraps) {
  EXPECT_THROW(Time::max() + 1_ps, OverflowError);
  EXPECT_THROW(-Time::max() - 2_ps, OverflowError);
  EXPECT_THROW(Time::max() * 2, OverflowError);
  EXPECT_THROW(1_ps * (std::uint64_t{1} << 63), OverflowError);
  EXPECT_THROW(Time::max() * 1.0000001, OverflowError);
  EXPECT_THROW(1_s * std::numeric_limits<double>::infinity(), OverflowError);
  EXPECT_THROW(1_s * std::numeric_limits<double>::quiet_NaN(), OverflowError);
  EXPECT_THROW(Bytes::max() + 1_B, OverflowError);
  EXPECT_THROW(Bytes::max() * 3, OverflowError);
  EXPECT_THROW(-Bytes(std::numeric_limits<std::int64_t>::min()), OverflowError);
  EXPECT_THROW(Bytes(std::numeric_limits<std::int64_t>::min()) / -1, OverflowError);
  EXPECT_THROW(Time::from_seconds(1e7), OverflowError);  // 115 days
  EXPECT_NO_THROW(Time::from_seconds(9e6));              // 104 days
  EXPECT_THROW(1_TB / Bandwidth(1), OverflowError);
  EXPECT_THROW(1e30 * 1_TBps * 1_s, OverflowError);
}

TEST(Units, DivisionByZeroThrows) {
  EXPECT_THROW(1_B / Bandwidth(0), OverflowError);
  EXPECT_THROW(1_TFLOP / FlopRate(0), OverflowError);
  EXPECT_THROW(1_cycles / Frequency(0), OverflowError);
  EXPECT_THROW(1_B / Time::zero(), OverflowError);
  EXPECT_THROW(1_J / Time::zero(), OverflowError);
  EXPECT_THROW(1_s / 0, OverflowError);
  EXPECT_THROW(1_s / 0.0, OverflowError);
  EXPECT_THROW((void)(1_s / Time::zero()), OverflowError);
  EXPECT_THROW((void)(1_GBps / 0_GBps), OverflowError);
}

TEST(Units, EnergyPowerAndTimeFormATriangle) {
  EXPECT_EQ(700_W * 2_s, 1400_J);
  EXPECT_EQ(1400_J / 2_s, 700_W);
  EXPECT_EQ(1400_J / 700_W, 2_s);
}

TEST(Units, PublishedArithmeticComesOut) {
  EXPECT_NEAR(989_TFLOPS / FlopRate((3.35_TBps).value()), 295.2, 0.05);  // A1
  EXPECT_NEAR(3.35_TBps / (2.0 * 70e9 * 1_B / 1_s), 23.93, 0.005);       // A4
  EXPECT_EQ(72 * 1.8_TBps, 129.6_TBps);                                  // A12
  EXPECT_NEAR(200_TB / 1_TiB, 181.9, 0.05);                              // A11
}

TEST(Units, PrintsThreeDigitsWithAFittingPrefix) {
  EXPECT_EQ(to_string(6.48_s), "6.48 s");
  EXPECT_EQ(to_string(12.34_us), "12.3 us");
  EXPECT_EQ(to_string(256_MiB), "268 MB");
  EXPECT_EQ(to_string(Time::zero()), "0 s");
  EXPECT_EQ(to_string(-3_ns), "-3 ns");
  EXPECT_EQ(to_string(999.6_ns), "1 us");  // not 1000 ns
  EXPECT_EQ(to_string(999.4_ns), "999 ns");
  EXPECT_EQ(to_string(123456_s), "123456 s");
  EXPECT_EQ(to_string(1.98_GHz), "1.98 GHz");
  EXPECT_EQ(to_string(400_GBitps), "50 GB/s");
  EXPECT_EQ(to_string(989.4_TFLOPS), "989 TFLOP/s");
  EXPECT_EQ(to_string(1.2_pJ), "1.2 pJ");
  EXPECT_EQ(to_string(Flops(3.8e25)), "38 YFLOP");
  EXPECT_EQ(to_string(0.25_W), "250 mW");
}

TEST(Units, ExactTextKeepsThePrefixThatWasMeant) {
  EXPECT_EQ(exact_string(64_MiB), "64 MiB");
  EXPECT_EQ(exact_string(80_GB), "80 GB");
  EXPECT_EQ(exact_string(1500_ps), "1500 ps");
  EXPECT_EQ(exact_string(1.98_GHz), "1.98 GHz");
  EXPECT_EQ(exact_string(1350_GBps), "1.35 TB/s");
  EXPECT_EQ(exact_string(0_B), "0 B");
}

template <class Q>
void expect_round_trip(Q quantity) {
  const std::string text = exact_string(quantity);
  const auto back = parse_quantity<Q>(text);
  ASSERT_TRUE(back.has_value()) << text;
  EXPECT_EQ(*back, quantity) << text;
}

TEST(Units, ExactTextReadsBackAsTheSameValue) {
  Random random(7);
  for (int i = 0; i < 5'000; ++i) {
    const auto n = static_cast<std::int64_t>(random.bits() >> (1 + random.below(63)));
    const double x = std::ldexp(random.uniform(), static_cast<int>(random.below(80)));
    expect_round_trip(Time::picoseconds(n));
    expect_round_trip(Bytes(-n));
    expect_round_trip(Bandwidth(x));
    expect_round_trip(FlopRate(x));
    expect_round_trip(Flops(x));
    expect_round_trip(Frequency(x));
    expect_round_trip(Power(x));
    expect_round_trip(Energy(x * 1e-12));
    expect_round_trip(Cycles(x));
  }
}

TEST(Units, PrintedTextReadsBackWithinHalfAPercent) {
  Random random(8);
  for (int i = 0; i < 5'000; ++i) {
    const auto n = static_cast<std::int64_t>(random.bits() >> (1 + random.below(63)));
    const auto back = parse_quantity<Time>(to_string(Time::picoseconds(n)));
    ASSERT_TRUE(back.has_value()) << to_string(Time::picoseconds(n));
    EXPECT_NEAR(static_cast<double>(back->ps()), static_cast<double>(n), 0.005 * static_cast<double>(n) + 0.5);
  }
}

TEST(Units, ParsesNumberAndUnitExactly) {
  EXPECT_EQ(parse_quantity<Time>("700 ns"), 700_ns);
  EXPECT_EQ(parse_quantity<Time>("700ns"), 700_ns);
  EXPECT_EQ(parse_quantity<Time>("0.1 ns"), 100_ps);
  EXPECT_EQ(parse_quantity<Time>("1e3 us"), 1_ms);
  EXPECT_EQ(parse_quantity<Time>("-4 s"), -4_s);
  EXPECT_EQ(parse_quantity<Time>("9223372036854775807 ps"), Time::max());
  EXPECT_EQ(parse_quantity<Bytes>("80 GiB"), 80_GiB);
  EXPECT_EQ(parse_quantity<Bytes>("80 GB"), 80_GB);
  EXPECT_EQ(parse_quantity<Bytes>("9007199254740993 B"), Bytes(9007199254740993));  // 2^53 + 1
  EXPECT_EQ(parse_quantity<Bandwidth>("450 GB/s"), 450_GBps);
  EXPECT_EQ(parse_quantity<Bandwidth>("400 Gb/s"), 400_GBitps);
  EXPECT_EQ(parse_quantity<Bandwidth>("1 GiB/s"), Bandwidth(1073741824.0));
  EXPECT_EQ(parse_quantity<FlopRate>("989 TFLOP/s"), 989_TFLOPS);
  EXPECT_EQ(parse_quantity<Frequency>("1.98 GHz"), 1.98_GHz);
  EXPECT_EQ(parse_quantity<Power>("700 W"), 700_W);
  EXPECT_EQ(parse_quantity<Energy>("1.2 pJ"), Energy(1.2e-12));
  EXPECT_EQ(parse_quantity<Cycles>("30 cycles"), 30_cycles);
  EXPECT_EQ(parse_quantity<Cycles>("1 cycle"), 1_cycles);
}

TEST(Units, RefusesEveryOtherText) {
  for (const char* text :
       {"",       "700",   "ns",    "700 NS",    " 700 ns",  "700 ns ",  "700 n s", "010 ns",
        "+7 ns",  ".5 ns", "5. ns", "0x10 ns",   "1_000 ns", "1,000 ns", "1e ns",   "1e999 s",
        "nan s",  "inf s", "- 1 s", "700 ns ns", "700 GB",   "700 m",    "1\tns",   "9223372036854775808 ps",
        "1e20 s", "0.1 ps"}) {
    EXPECT_FALSE(parse_quantity<Time>(text).has_value()) << text;
  }
  EXPECT_FALSE(parse_quantity<Bytes>("1 Gb").has_value());
  EXPECT_FALSE(parse_quantity<Bytes>("1 GB/s").has_value());
  EXPECT_FALSE(parse_quantity<Bandwidth>("1 GB").has_value());
  EXPECT_FALSE(parse_quantity<FlopRate>("989 TFLOPS").has_value());
  EXPECT_FALSE(parse_quantity<Power>("1e999 W").has_value());
}

TEST(Units, NamesAndExamplesAreThoseOfTheMessages) {
  EXPECT_EQ(quantity_name<Time>(), "a time");
  EXPECT_EQ(quantity_example<Time>(), "700 ns");
  EXPECT_EQ(quantity_units<Time>(), "ps, ns, us, ms, s");
}

template <class Q>
void expect_example_parses() {
  EXPECT_TRUE(parse_quantity<Q>(quantity_example<Q>()).has_value()) << quantity_example<Q>();
}

TEST(Units, EveryExampleParses) {
  expect_example_parses<Time>();
  expect_example_parses<Bytes>();
  expect_example_parses<Flops>();
  expect_example_parses<Bandwidth>();
  expect_example_parses<FlopRate>();
  expect_example_parses<Frequency>();
  expect_example_parses<Power>();
  expect_example_parses<Energy>();
  expect_example_parses<Cycles>();
}

}  // namespace
}  // namespace warploom
