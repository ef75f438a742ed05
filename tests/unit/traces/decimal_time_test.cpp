// SPDX-License-Identifier: Apache-2.0
// Decimal text becomes whole nanoseconds, exactly or not at all.
#include "traces/decimal_time.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace warploom {
namespace {

std::int64_t ns(std::string_view text, DecimalUnit unit = DecimalUnit::us) {
  const auto time = parse_time(text, unit);
  EXPECT_TRUE(time.is_ok()) << text;
  return time.ns;
}

TEST(DecimalTime, MicrosecondsAreExactToTheNanosecond) {
  EXPECT_EQ(ns("4458677009853.422"), 4458677009853422);
  EXPECT_EQ(ns("1736408883733616.140"), 1736408883733616140);  // a double would give .250
  EXPECT_EQ(ns("0"), 0);
  EXPECT_EQ(ns("7"), 7000);
  EXPECT_EQ(ns("0.001"), 1);
  EXPECT_EQ(ns("-0.5"), -500);
  EXPECT_EQ(ns("999999999999999.999"), 999999999999999999);
  EXPECT_EQ(ns("1000000000000000.9"), 1000000000000000900);
  EXPECT_EQ(ns("3.25"), 3250);
  EXPECT_EQ(ns("3."), 3000);
}

TEST(DecimalTime, DigitsBelowANanosecondAreRoundedHalfUp) {
  EXPECT_EQ(ns("53.7410625"), 53741);
  EXPECT_EQ(ns("0.60003125"), 600);
  EXPECT_EQ(ns("0.0005"), 1);
  EXPECT_EQ(ns("0.000499999"), 0);
  EXPECT_EQ(ns("999.9995"), 1000000);
}

TEST(DecimalTime, ExponentsMoveThePoint) {
  EXPECT_EQ(ns("1.5e3"), 1500000);
  EXPECT_EQ(ns("1.5E-3"), 2);
  EXPECT_EQ(ns("15e-1"), 1500);
  EXPECT_EQ(ns("1.712867402367683e+15"), 1712867402367683000);
  EXPECT_EQ(ns("0e9999"), 0);
  EXPECT_EQ(ns("1e-9999"), 0);
}

TEST(DecimalTime, OtherUnits) {
  EXPECT_EQ(ns("79.09", DecimalUnit::ms), 79090000);
  EXPECT_EQ(ns("17", DecimalUnit::ns), 17);
  EXPECT_EQ(ns("1.5", DecimalUnit::s), 1500000000);
}

TEST(DecimalTime, SaysWhetherItIsFinerThanItsUnit) {
  EXPECT_FALSE(parse_time("12.000").is_finer_than_unit);
  EXPECT_TRUE(parse_time("12.010").is_finer_than_unit);
  EXPECT_TRUE(parse_time("12e-1").is_finer_than_unit);
}

TEST(DecimalTime, TooMuchIsOverflowAndNeverWraps) {
  for (const auto* text :
       {"9223372036854776", "1e30", "99999999999999999999999999", "9223372036854775.808", "1e9999"}) {
    EXPECT_EQ(parse_time(text).status, DecimalTime::Status::overflow) << text;
    EXPECT_EQ(parse_time(text).ns, std::numeric_limits<std::int64_t>::max());
  }
  EXPECT_EQ(ns("9223372036854775.807"), std::numeric_limits<std::int64_t>::max());
}

TEST(DecimalTime, WhatIsNoNumberIsMalformed) {
  for (const auto* text : {"", "-", ".", "1.2.3", "1e", "1e+", "e5", "abc", "NaN", "Infinity", "0x10", "1 ", "--1"}) {
    EXPECT_EQ(parse_time(text).status, DecimalTime::Status::malformed) << text;
  }
}

}  // namespace
}  // namespace warploom
