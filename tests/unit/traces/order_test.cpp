// SPDX-License-Identifier: Apache-2.0
// Sorted places, ids that are found again, lanes of streams whose operations overlap: each against the plain way.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "traces/key_index.hpp"
#include "traces/reorder.hpp"
#include "traces/stream_lanes.hpp"

namespace warploom {
namespace {

std::vector<std::uint32_t> stably_sorted(const std::vector<int>& values) {
  std::vector<std::uint32_t> places(values.size());
  std::iota(places.begin(), places.end(), 0U);
  std::stable_sort(places.begin(), places.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return values[a] < values[b]; });
  return places;
}

TEST(SortedPlaces, AreThoseOfAStableSortHoweverManyRunsThereAre) {
  std::mt19937 random(1);
  for (const std::size_t runs : {0, 1, 2, 3, 7, 63, 64, 65, 400}) {
    std::vector<int> values;
    for (std::size_t run = 0; run < runs; ++run) {
      const std::size_t first = values.size();
      for (std::size_t i = random() % 20 + 1; i > 0; --i) values.push_back(static_cast<int>(random() % 50));
      std::sort(values.begin() + static_cast<std::ptrdiff_t>(first), values.end());
    }
    const auto places =
        sorted_places(values.size(), [&](std::uint32_t a, std::uint32_t b) { return values[a] < values[b]; });
    EXPECT_EQ(places, stably_sorted(values)) << runs << " runs";
  }
}

TEST(KeyIndex, FindsTheFirstOfEqualKeysInDenseAndInScatteredIds) {
  std::mt19937_64 random(2);
  for (const std::uint64_t spread : {std::uint64_t{300}, std::numeric_limits<std::uint64_t>::max()}) {
    std::vector<std::uint64_t> keys = {std::numeric_limits<std::uint64_t>::max() - 400};
    for (int i = 0; i < 1000; ++i) keys.push_back(keys.front() + random() % spread);
    keys.insert(keys.end(), keys.begin() + 400, keys.begin() + 600);
    const KeyIndex index([&](auto emit) {
      for (std::uint32_t i = 0; i < keys.size(); ++i) emit(keys[i], i);
    });
    std::map<std::uint64_t, std::uint32_t> first;
    for (std::uint32_t i = 0; i < keys.size(); ++i) first.try_emplace(keys[i], i);
    for (const auto& [key, place] : first) {
      EXPECT_EQ(index.find(key), place);
      EXPECT_EQ(index.find(key + 1), first.contains(key + 1) ? first.at(key + 1) : nothing);
    }
  }
  EXPECT_EQ(KeyIndex([](auto) {}).find(0), nothing);
}

// What follows no operation on its lane takes the lane that is free first, else a new one.
TEST(StreamLanes, TakeTheLaneThatIsFreeFirst) {
  std::mt19937 random(3);
  Capture capture;
  capture.streams = {{0, 0, "7"}};
  Nanoseconds now = 0;
  for (int i = 0; i < 2000; ++i) {
    now += static_cast<Nanoseconds>(random() % 10);
    DeviceOp op;
    op.start = now;
    op.duration = static_cast<Nanoseconds>(random() % 3 == 0 ? random() % 400 : random() % 10);
    capture.device_ops.push_back(op);
  }
  Program program;
  StreamLanes lanes(capture, program, program.add_role({}));
  std::set<std::pair<Nanoseconds, StreamId>> free_at;
  for (std::uint32_t i = 0; i < capture.device_ops.size(); ++i) {
    const auto& op = capture.device_ops[i];
    const auto place = lanes.place(i, nothing);
    EXPECT_FALSE(place.follows);
    if (!free_at.empty() && free_at.begin()->first <= op.start) {
      EXPECT_EQ(place.stream, free_at.begin()->second);
      free_at.erase(free_at.begin());
    } else {
      EXPECT_EQ(place.stream, free_at.size()) << "a new one";
    }
    free_at.emplace(op.end(), place.stream);
  }
  EXPECT_GT(free_at.size(), 10U);
}

}  // namespace
}  // namespace warploom
