// SPDX-License-Identifier: Apache-2.0
// The engine against a bare binary heap doing the same hold pattern: pop the least, push a later one.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <vector>

#include "sim/core/engine.hpp"

namespace {

using warploom::Engine;
using warploom::EventSink;
using warploom::Time;

std::uint64_t next_random(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

struct BareEvent {
  std::int64_t time;
  std::uint64_t sequence;
  void* sink;
  std::uint64_t payload;
  bool operator>(const BareEvent& other) const {
    return time != other.time ? time > other.time : sequence > other.sequence;
  }
};

void BM_BareBinaryHeap(benchmark::State& state) {
  std::priority_queue<BareEvent, std::vector<BareEvent>, std::greater<>> heap;
  std::uint64_t random = 88172645463325252ULL;
  std::uint64_t sequence = 0;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    heap.push({static_cast<std::int64_t>(next_random(random) % 100000), sequence++, nullptr, 0});
  }
  for (auto _ : state) {
    const BareEvent event = heap.top();
    heap.pop();
    heap.push(
        {event.time + static_cast<std::int64_t>(next_random(random) % 100000), sequence++, nullptr, event.payload});
    benchmark::DoNotOptimize(heap.top());
  }
  state.SetItemsProcessed(state.iterations());
}

struct Again : EventSink {
  explicit Again(Engine& of) : engine(of) {}
  void on_event(std::uint64_t payload) override {
    engine.at(engine.now() + Time::picoseconds(static_cast<std::int64_t>(next_random(random) % 100000)), *this,
              payload);
  }
  Engine& engine;
  std::uint64_t random = 88172645463325252ULL;
};

void BM_Engine(benchmark::State& state) {
  Engine engine;
  Again again(engine);
  for (std::int64_t i = 0; i < state.range(0); ++i) again.on_event(static_cast<std::uint64_t>(i));
  for (auto _ : state) engine.step();
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(BM_BareBinaryHeap)->Arg(64)->Arg(1000)->Arg(100000);
BENCHMARK(BM_Engine)->Arg(64)->Arg(1000)->Arg(100000);

// Remembers the rates, so that the program can fail when the engine falls behind.
class RateReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const auto& run : runs) rates_[run.benchmark_name()] = 1 / run.GetAdjustedRealTime();
  }
  bool engine_keeps_up(double least_ratio) const {
    bool ok = true;
    for (const char* pending : {"64", "1000", "100000"}) {
      const auto bare = rates_.find(std::string("BM_BareBinaryHeap/") + pending);
      const auto engine = rates_.find(std::string("BM_Engine/") + pending);
      if (bare == rates_.end() || engine == rates_.end()) continue;  // filtered out
      const double ratio = engine->second / bare->second;
      std::printf("engine / bare binary heap at %s pending: %.2f (at least %.2f)\n", pending, ratio, least_ratio);
      ok = ok && ratio >= least_ratio;
    }
    return ok;
  }

 private:
  std::map<std::string, double> rates_;
};

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  RateReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return reporter.engine_keeps_up(0.7) ? 0 : 1;
}
