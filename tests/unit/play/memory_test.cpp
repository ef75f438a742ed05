// SPDX-License-Identifier: Apache-2.0
// Peaks of memory, and what they consist of.
#include "sim/play/memory.hpp"

#include <gtest/gtest.h>

#include "tests/support/hand_timeline.hpp"
#include "tests/support/toy_machine.hpp"

namespace warploom {
namespace {

using testing::HandTimeline;

Time ps(std::int64_t n) { return Time::picoseconds(n); }

std::int64_t part(const MemoryReport& report, MemoryPart part) { return report.parts[static_cast<std::size_t>(part)]; }

class Memory : public ::testing::Test {
 protected:
  RowId kernel(std::int64_t begin, std::int64_t end, const std::vector<MemoryDelta>& deltas) {
    return hand.add(hand.operation(0, StreamKind::compute, OperationKind::compute, Cause::gemm), {ps(begin), ps(end)},
                    {}, deltas);
  }
  MemoryReport peak() { return peak_memory(hand.program, testing::toy_machine(), hand.timeline)[0]; }

  HandTimeline hand{1};
};

TEST_F(Memory, IsTheResidentBytesWhereNothingChanges) {
  hand.program.roles[0].resident_bytes = {100, 20, 300, 0, 5, 0};
  kernel(0, 10, {});
  EXPECT_EQ(peak().peak_bytes, 425);
  EXPECT_EQ(part(peak(), MemoryPart::optimizer), 300);
  EXPECT_EQ(peak().peak_at, Time::zero());
}

TEST_F(Memory, PeaksWhereTheSumDoesAndReportsThePartsOfThatMoment) {
  hand.program.roles[0].resident_bytes = {100, 0, 0, 0, 0, 0};
  kernel(0, 10, {{MemoryPart::activations, true, 50}});
  kernel(10, 20,
         {{MemoryPart::buffers, false, 7}, {MemoryPart::buffers, true, -7}, {MemoryPart::activations, true, 30}});
  kernel(20, 30, {{MemoryPart::activations, true, -80}});
  EXPECT_EQ(peak().peak_bytes, 180);
  EXPECT_EQ(peak().peak_at, ps(20));
  EXPECT_EQ(part(peak(), MemoryPart::activations), 80);
  EXPECT_EQ(part(peak(), MemoryPart::buffers), 0);
}

TEST_F(Memory, LetsARowTakeOverWhatAnotherGivesBackInTheSamePicosecond) {
  kernel(0, 10, {{MemoryPart::activations, false, 60}, {MemoryPart::activations, true, -60}});
  kernel(10, 20, {{MemoryPart::buffers, false, 60}, {MemoryPart::buffers, true, -60}});
  EXPECT_EQ(peak().peak_bytes, 60);
}

TEST_F(Memory, DoesNotCountWhatIsHeldForNoTime) {
  kernel(5, 5, {{MemoryPart::buffers, false, 1000}, {MemoryPart::buffers, true, -1000}});
  EXPECT_EQ(peak().peak_bytes, 0);
}

TEST_F(Memory, ReplaysInOrderOfTimeNotOfRows) {
  kernel(50, 60, {{MemoryPart::activations, false, 10}});
  kernel(0, 40, {{MemoryPart::activations, false, 30}, {MemoryPart::activations, true, -30}});
  EXPECT_EQ(peak().peak_bytes, 30);
  EXPECT_EQ(peak().peak_at, Time::zero());
}

TEST_F(Memory, FitsUpToTheUsableCapacityAndNotOneByteMore) {
  hand.program.roles[0].resident_bytes = {900'000, 0, 0, 0, 0, 0};
  EXPECT_EQ(peak().capacity_usable, Bytes(900'000));
  EXPECT_EQ(peak().capacity_raw, Bytes(1'000'000));
  EXPECT_TRUE(peak().fits);
  hand.program.roles[0].resident_bytes[5] = 1;
  EXPECT_FALSE(peak().fits);
}

}  // namespace
}  // namespace warploom
