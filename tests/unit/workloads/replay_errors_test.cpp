// SPDX-License-Identifier: Apache-2.0
// The measured errors of replays that the library ships.
#include "workloads/replay/replay_errors.hpp"

#include <gtest/gtest.h>

namespace warploom {
namespace {

// What more is known of an operation, the better it is predicted.
TEST(ReplayErrors, ShippedOnesGrowWithWhatIsNotKnown) {
  const ReplayErrors errors = load_replay_errors(Library({WARPLOOM_SOURCE_DIR "/configs"}));
  for (double ClassErrors::* of : {&ClassErrors::gemm, &ClassErrors::attention, &ClassErrors::other}) {
    EXPECT_GT(errors.anchored.*of, 0);
    EXPECT_LT(errors.anchored.*of, errors.unmeasured.*of);
    EXPECT_LE(errors.unmeasured.*of, errors.scaled.*of);
  }
  EXPECT_LT(errors.anchored.communication, errors.scaled.communication);
  EXPECT_LT(errors.scaled.communication, errors.kept.communication);
}

}  // namespace
}  // namespace warploom
