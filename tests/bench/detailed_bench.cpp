// SPDX-License-Identifier: Apache-2.0
// Kernels on the inside of a device: cold, with every SM, and from the cache.
#include <benchmark/benchmark.h>

#include <string>

#include "hw_models/detailed_timer.hpp"
#include "hw_models/kernels/attention.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "workloads/device_lookup.hpp"

namespace {

using warploom::Kernel;

const warploom::DeviceSpec& device(const std::string& name) {
  static const warploom::DeviceLookup devices;
  return devices.find(name).spec;
}

Kernel large_gemm() { return warploom::gemm({.m = 8192, .n = 8192, .k = 8192}); }
Kernel prefill() {
  warploom::AttentionShape shape;
  shape.query_heads = shape.kv_heads = 32;
  shape.query_length = shape.kv_length = 8192;
  return warploom::attention(shape);
}

void play(benchmark::State& state, const Kernel& kernel, const std::string& name, bool all_sms) {
  std::int64_t activations = 0;
  for (auto _ : state) {
    const auto played = warploom::play_kernel(kernel, device(name), warploom::LaunchMode::graph, {.all_sms = all_sms});
    activations = 0;
    for (const auto& program : played.programs) activations += program.activations;
  }
  state.counters["activations"] = static_cast<double>(activations);
}

void BM_Gemm(benchmark::State& state, const std::string& name) { play(state, large_gemm(), name, false); }
void BM_GemmOfAllSms(benchmark::State& state, const std::string& name) { play(state, large_gemm(), name, true); }
void BM_Attention(benchmark::State& state, const std::string& name) { play(state, prefill(), name, false); }

void BM_Warm(benchmark::State& state) {
  const warploom::DetailedTimer timer(device("h100_sxm"), warploom::LaunchMode::graph);
  const Kernel kernel = large_gemm();
  benchmark::DoNotOptimize(timer.cost(kernel));
  for (auto _ : state) benchmark::DoNotOptimize(timer.cost(kernel));
}

BENCHMARK_CAPTURE(BM_Gemm, h100, "h100_sxm")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Gemm, a100, "a100_sxm")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Gemm, b200, "b200_sxm")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_GemmOfAllSms, h100, "h100_sxm")->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(BM_Attention, h100, "h100_sxm")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Attention, a100, "a100_sxm")->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Warm)->Unit(benchmark::kNanosecond);

}  // namespace

BENCHMARK_MAIN();
