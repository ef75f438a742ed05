// SPDX-License-Identifier: Apache-2.0
// A captured step of many operations: finding what waited for what, building the program, playing it, and the whole.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <vector>

#include "traces/captured_run.hpp"
#include "traces/classify.hpp"
#include "traces/link.hpp"

namespace {

using warploom::Capture;

// One rank: kernels of 10 us, launched every 9 us, a collective on another stream after every hundredth.
Capture make_capture(std::int64_t ops) {
  Capture capture;
  capture.rank = 0;
  capture.streams = {{0, 0, "7"}, {0, 0, "24"}};
  capture.threads = {{1, 1, "main"}};
  const auto launch = capture.texts.add("cudaLaunchKernel");
  const auto wait = capture.texts.add("cudaStreamWaitEvent");
  const auto gemm = capture.texts.add("ampere_fp16_s16816gemm");
  const auto all_reduce = capture.texts.add("ncclDevKernel_AllReduce_Sum_f16_RING_LL");
  warploom::Nanoseconds host = 0;
  warploom::Nanoseconds compute = 10'000;
  warploom::Nanoseconds communication = 0;
  const auto call = [&](warploom::TextId name, warploom::CallKind kind, std::uint64_t correlation) {
    warploom::HostCall made;
    made.start = host;
    made.duration = 4000;
    made.correlation = correlation;
    made.name = name;
    made.kind = kind;
    capture.calls.push_back(made);
  };
  for (std::int64_t i = 0; i < ops; ++i) {
    const bool communicates = i % 100 == 99;
    if (communicates) {
      call(wait, warploom::CallKind::stream_wait, 0);
      host += 5000;
    }
    call(launch, warploom::CallKind::launch, static_cast<std::uint64_t>(i + 1));
    warploom::DeviceOp op;
    op.stream = communicates ? 1 : 0;
    op.name = communicates ? all_reduce : gemm;
    op.correlation = static_cast<std::uint64_t>(i + 1);
    auto& free = communicates ? communication : compute;
    op.start = std::max(communicates ? compute + 1000 : free, host + 6000);
    op.duration = communicates ? 40'000 : 10'000;
    free = op.end() + 1000;
    host += 9000;
    capture.device_ops.push_back(op);
  }
  warploom::link_launches(capture);
  warploom::classify(capture);
  return capture;
}

// All of `understand` but the reading: dependencies, matching, program, play, and how far off the play is.
void BM_ReplayCapture(benchmark::State& state) {
  warploom::ReadTraces read;
  read.captures.push_back(make_capture(state.range(0)));
  for (auto _ : state) {
    warploom::CapturedRun run = warploom::understand(std::move(read));
    benchmark::DoNotOptimize(run.self.error);
    read.captures = std::move(run.captures);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["peak_rss_MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

// The same number of operations on 64 ranks that meet in every hundredth.
void BM_ReplayRanks(benchmark::State& state) {
  constexpr std::int64_t ranks = 64;
  warploom::ReadTraces read;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    read.captures.push_back(make_capture(state.range(0) / ranks));
    read.captures.back().rank = rank;
  }
  for (auto _ : state) {
    warploom::CapturedRun run = warploom::understand(std::move(read));
    benchmark::DoNotOptimize(run.self.error);
    read.captures = std::move(run.captures);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void BM_FindDependencies(benchmark::State& state) {
  const Capture capture = make_capture(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(warploom::find_dependencies(capture).edges.size());
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void BM_MakeProgram(benchmark::State& state) {
  std::vector<Capture> captures;
  captures.push_back(make_capture(state.range(0)));
  const std::vector<warploom::CaptureGraph> graphs = {warploom::find_dependencies(captures[0])};
  const auto matching = warploom::match_collectives(captures);
  for (auto _ : state) {
    benchmark::DoNotOptimize(warploom::make_program(captures, graphs, matching).program.size());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void BM_PlayCaptured(benchmark::State& state) {
  std::vector<Capture> captures;
  captures.push_back(make_capture(state.range(0)));
  const std::vector<warploom::CaptureGraph> graphs = {warploom::find_dependencies(captures[0])};
  const auto matching = warploom::match_collectives(captures);
  const auto captured = warploom::make_program(captures, graphs, matching);
  for (auto _ : state) benchmark::DoNotOptimize(warploom::play_as_captured(captured.program).makespan);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(BM_FindDependencies)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_MakeProgram)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_PlayCaptured)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ReplayRanks)->Arg(1'000'000)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_ReplayCapture)->Arg(1'000'000)->Arg(10'000'000)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
