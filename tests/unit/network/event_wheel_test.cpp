// SPDX-License-Identifier: Apache-2.0
// The wheel gives what a heap would: by time, then by the order of pushing.
#include "network/packet/event_wheel.hpp"

#include <gtest/gtest.h>

#include <queue>

#include "sim/core/random.hpp"

namespace warploom {
namespace {

TEST(EventWheel, GivesEventsByTimeAndThenInTheOrderOfPushing) {
  for (const double density : {1e-9, 1e-5, 1e-3, 0.1}) {
    Random random(3);
    EventWheel wheel(density);
    using Key = std::pair<std::int64_t, std::uint32_t>;
    std::priority_queue<Key, std::vector<Key>, std::greater<>> heap;
    std::uint32_t number = 0;
    std::int64_t now = 0;
    const auto push = [&](std::int64_t time) {
      wheel.push(time, number);
      heap.emplace(time, number++);
    };
    push(0);
    push(83);
    for (int i = 0; i < 200'000; ++i) {
      if (heap.empty() || (heap.size() < 1000 && random.below(3) > 0)) {
        const std::uint64_t range[] = {1, 100, 100'000, 10'000'000, 100'000'000'000};
        push(now + static_cast<std::int64_t>(random.below(range[random.below(5)])));
        continue;
      }
      ASSERT_EQ(wheel.next_time(), heap.top().first);
      const auto event = wheel.pop();
      ASSERT_EQ(event.time, heap.top().first);
      ASSERT_EQ(event.payload, heap.top().second) << density;
      now = event.time;
      heap.pop();
    }
    EXPECT_EQ(wheel.size(), heap.size());
  }
}

}  // namespace
}  // namespace warploom
