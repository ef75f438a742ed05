// SPDX-License-Identifier: Apache-2.0
// The same numbers everywhere, for ever; distributions with the right moments.
#include "sim/core/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>
#include <vector>

#include "sim/core/errors.hpp"

namespace warploom {
namespace {

TEST(Random, SplitmixGivesItsPublishedSequence) {
  std::uint64_t state = 1234567;  // the reference implementation's test vector
  EXPECT_EQ(splitmix64(state), 6457827717110365317ULL);
  EXPECT_EQ(splitmix64(state), 3203168211198807973ULL);
  EXPECT_EQ(splitmix64(state), 9817491932198370423ULL);
}

TEST(Random, StreamIsPinned) {
  Random random(42);
  const std::vector<std::uint64_t> expected = {1546998764402558742ULL, 6990951692964543102ULL, 12544586762248559009ULL,
                                               17057574109182124193ULL};
  for (const std::uint64_t word : expected) EXPECT_EQ(random.bits(), word);
}

TEST(Random, SameSeedGivesTheSameNumbers) {
  Random a(5);
  Random b(5);
  Random c(6);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t word = a.bits();
    EXPECT_EQ(word, b.bits());
    differs = differs || word != c.bits();
  }
  EXPECT_TRUE(differs);
}

TEST(Random, SplittingDependsOnSeedAndKeyNotOnDraws) {
  Random a(5);
  Random b(5);
  for (int i = 0; i < 17; ++i) b.bits();
  EXPECT_EQ(a.split("jitter").bits(), b.split("jitter").bits());
  std::set<std::uint64_t> firsts = {Random(5).bits()};
  for (std::uint64_t key = 0; key < 1000; ++key) firsts.insert(a.split(key).bits());
  EXPECT_EQ(firsts.size(), 1001u);
}

TEST(Random, BelowIsUniformAndInRange) {
  Random random(1);
  std::vector<int> counts(7);
  const int draws = 70'000;
  for (int i = 0; i < draws; ++i) ++counts[random.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, draws / 7.0, 5 * std::sqrt(draws / 7.0));
  EXPECT_THROW(random.below(0), InternalError);
}

TEST(Random, UniformHasMeanOneHalfAndVarianceOneTwelfth) {
  Random random(2);
  const int draws = 200'000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < draws; ++i) {
    const double x = random.uniform();
    ASSERT_TRUE(x >= 0 && x < 1);
    sum += x;
    squares += (x - 0.5) * (x - 0.5);
  }
  EXPECT_NEAR(sum / draws, 0.5, 5 * std::sqrt(1.0 / 12 / draws));
  EXPECT_NEAR(squares / draws, 1.0 / 12, 0.001);
}

TEST(Random, NormalHasItsMomentsAndTails) {
  Random random(3);
  const int draws = 200'000;
  double sum = 0;
  double squares = 0;
  int beyond_two = 0;
  for (int i = 0; i < draws; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
    beyond_two += std::abs(x) > 2 ? 1 : 0;
  }
  EXPECT_NEAR(sum / draws, 0, 5 / std::sqrt(draws));
  EXPECT_NEAR(squares / draws, 1, 5 * std::sqrt(2.0 / draws));
  EXPECT_NEAR(beyond_two / double{draws}, std::erfc(std::numbers::sqrt2), 0.002);
}

TEST(Random, ExponentialHasItsMean) {
  Random random(4);
  const int draws = 200'000;
  double sum = 0;
  for (int i = 0; i < draws; ++i) sum += random.exponential(3);
  EXPECT_NEAR(sum / draws, 3, 5 * 3 / std::sqrt(draws));
}

TEST(Random, QuantileInvertsTheNormalDistribution) {
  for (const double x : {-7.0, -5.5, -3.0, -1.0, -0.1, 0.0, 0.1, 1.0, 3.0, 5.0}) {
    const double p = 0.5 * std::erfc(-x / std::numbers::sqrt2);
    EXPECT_NEAR(normal_quantile(p), x, 1e-9 + 1e-15 / (1 - p + 1e-300) * 0.1) << x;
  }
  EXPECT_DOUBLE_EQ(normal_quantile(0.975), 1.959963984540054);
  EXPECT_THROW(normal_quantile(0), InternalError);
}

}  // namespace
}  // namespace warploom
