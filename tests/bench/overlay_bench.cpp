// SPDX-License-Identifier: Apache-2.0
// How long it takes to align two steps of a million operations, of which one layer in a hundred lacks one.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "workloads/overlay/align.hpp"

namespace warploom {
namespace {

std::vector<OverlayToken> layers(std::int64_t count, bool is_whole) {
  std::vector<OverlayToken> tokens;
  for (std::int64_t layer = 0; layer < count; ++layer) {
    for (std::uint64_t part = 0; part < 10; ++part) {
      if (!is_whole && layer % 100 == 0 && part == 3) continue;
      OverlayToken token;
      token.op_class = part % 2 == 0 ? OpClass::gemm : OpClass::element_wise;
      token.shape = part % 2 == 0 ? part + 1 : 0;
      token.duration = 1000;
      tokens.push_back(token);
    }
  }
  return tokens;
}

void align_steps(benchmark::State& state) {
  const auto trace = layers(state.range(0) / 10, true);
  const auto model = layers(state.range(0) / 10, false);
  for (auto _ : state) benchmark::DoNotOptimize(align(trace, model));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(align_steps)->Arg(1'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace warploom

BENCHMARK_MAIN();
