// SPDX-License-Identifier: Apache-2.0
// Jobs in parallel: each once, and what fails is told as if they had run in order.
#include "sim/core/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "sim/core/errors.hpp"

namespace warploom {
namespace {

TEST(Parallel, EveryJobRunsOnce) {
  std::vector<int> runs(1000, 0);
  in_parallel(runs.size(), [&](std::size_t i) { ++runs[i]; });
  EXPECT_EQ(runs, std::vector<int>(1000, 1));
  in_parallel(0, [](std::size_t) { FAIL(); });
}

TEST(Parallel, OfJobsThatFailTheFirstIsHeard) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> before = 0;
    try {
      in_parallel(100, [&](std::size_t i) {
        if (i < 20) ++before;
        if (i >= 20) throw UserError("job " + std::to_string(i));
      });
      FAIL();
    } catch (const UserError& error) {
      EXPECT_STREQ(error.what(), "error: job 20");
    }
    EXPECT_EQ(before, 20);
  }
}

}  // namespace
}  // namespace warploom
