// SPDX-License-Identifier: Apache-2.0
// The event queue: order, cancellation, the end of an instant, and no allocation once warm.
#include "sim/core/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <random>
#include <vector>

#include "sim/core/errors.hpp"

// Counts the allocations of this test program.
namespace {
thread_local std::size_t allocations = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
}
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace warploom {
namespace {

Time ps(std::int64_t value) { return Time::picoseconds(value); }

struct Recorder : EventSink {
  explicit Recorder(Engine& of) : engine(of) {}
  void on_event(std::uint64_t payload) override { seen.emplace_back(engine.now().ps(), payload); }
  Engine& engine;
  std::vector<std::pair<std::int64_t, std::uint64_t>> seen;
};

TEST(Engine, RunsEventsInOrderOfTimeThenOfScheduling) {
  Engine engine;
  Recorder recorder(engine);
  std::mt19937_64 random(7);
  std::vector<std::pair<std::int64_t, std::uint64_t>> expected;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const auto at = static_cast<std::int64_t>(random() % 97);
    engine.at(ps(at), recorder, i);
    expected.emplace_back(at, i);
  }
  std::stable_sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  engine.run();
  EXPECT_EQ(recorder.seen, expected);
  EXPECT_EQ(engine.processed(), 5000U);
}

TEST(Engine, RunsTheEndOfAnInstantAfterOrdinaryEventsThatCameLater) {
  Engine engine;
  struct Late : Recorder {
    using Recorder::Recorder;
    void on_event(std::uint64_t payload) override {
      Recorder::on_event(payload);
      if (payload == 1) {
        engine.at_end_of(engine.now(), *this, 9);
        engine.at(engine.now(), *this, 2);
      }
    }
  } recorder(engine);
  engine.at(ps(5), recorder, 1);
  engine.at(ps(6), recorder, 3);
  engine.run();
  EXPECT_EQ(recorder.seen, (std::vector<std::pair<std::int64_t, std::uint64_t>>{{5, 1}, {5, 2}, {5, 9}, {6, 3}}));
}

TEST(Engine, DropsCancelledEventsAndOnlyThose) {
  Engine engine;
  Recorder recorder(engine);
  std::vector<Engine::EventId> ids;
  for (std::uint64_t i = 0; i < 1000; ++i) ids.push_back(engine.at(ps(static_cast<std::int64_t>(i % 10)), recorder, i));
  std::size_t kept = 1000;
  for (std::size_t i = 0; i < 1000; ++i) {
    if (i % 5 != 0) {
      EXPECT_TRUE(engine.cancel(ids[i]));
      --kept;
    }
  }
  EXPECT_FALSE(engine.cancel(ids[1]));
  EXPECT_EQ(engine.pending(), kept);
  engine.run();
  EXPECT_EQ(recorder.seen.size(), kept);
  for (const auto& [time, payload] : recorder.seen) EXPECT_EQ(payload % 5, 0U);
}

TEST(Engine, IgnoresCancellingAnEventThatRanEvenIfItsSlotIsUsedAgain) {
  Engine engine;
  Recorder recorder(engine);
  const auto first = engine.at(ps(1), recorder, 1);
  engine.run();
  engine.at(ps(2), recorder, 2);
  EXPECT_FALSE(engine.cancel(first));
  engine.run();
  EXPECT_EQ(recorder.seen.size(), 2U);
}

TEST(Engine, RefusesAnEventInThePast) {
  Engine engine;
  Recorder recorder(engine);
  engine.at(ps(10), recorder, 0);
  engine.run();
  EXPECT_THROW(engine.at(ps(9), recorder, 0), InternalError);
}

TEST(Engine, AllocatesNothingOnceItHasSeenItsPeak) {
  Engine engine;
  struct Again : EventSink {
    explicit Again(Engine& of) : engine(of) {}
    void on_event(std::uint64_t payload) override {
      const Time later = engine.now() + ps(static_cast<std::int64_t>(1 + payload % 13));
      engine.cancel(engine.at(later, *this, payload));
      engine.at(later, *this, payload + 1);
    }
    Engine& engine;
  } again(engine);
  for (std::uint64_t i = 0; i < 1000; ++i) engine.at(ps(static_cast<std::int64_t>(i)), again, i);
  for (int i = 0; i < 100000; ++i) engine.step();
  const std::size_t before = allocations;
  for (int i = 0; i < 100000; ++i) engine.step();
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace warploom
