// SPDX-License-Identifier: Apache-2.0
// How fast captured traces are read: bytes of JSON a second on one core, and bytes of memory a retained event.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <iterator>
#include <string>

#include "tests/support/gzip.hpp"
#include "traces/json_records.hpp"
#include "traces/kineto_reader.hpp"

namespace warploom {
namespace {

// A trace as Kineto writes it, of at least `bytes`: per operator a call, a kernel with its flow, and Python's frames.
std::string kineto_trace(std::size_t bytes) {
  std::string text =
      R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}],
  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}, "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1711964646000000000, "traceEvents": [)";
  for (int i = 0; text.size() < bytes; ++i) {
    const int us = 1'000'000 + 20 * i;
    fmt::format_to(std::back_inserter(text), R"json({}
  {{
    "ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 2910249, "tid": 2910249,
    "ts": 4458677{}.422, "dur": 15.633,
    "args": {{
      "External id": {}, "Record function id": {}, "Concrete Inputs": ["", "", ""], "Input type": ["c10::BFloat16", "c10::BFloat16", ""], "Input Dims": [[{}, 4096], [4096, 1024], []], "Ev Idx": {}
    }}
  }},
  {{
    "ph": "X", "cat": "python_function", "name": "torch/nn/modules/linear.py(114): forward", "pid": 2910249, "tid": 2910249,
    "ts": 4458677{}.102, "dur": 18.001,
    "args": {{
      "Python parent id": {}, "Python id": {}, "Python thread": 0, "Ev Idx": {}
    }}
  }},
  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 2910249, "tid": 2910249,
    "ts": 4458677{}.767, "dur": 5.102,
    "args": {{
      "External id": {}, "cbid": 211, "correlation": {}
    }}
  }},
  {{
    "ph": "s", "id": {}, "pid": 2910249, "tid": 2910249, "ts": 4458677{}.767,
    "cat": "ac2g", "name": "ac2g"
  }},
  {{
    "ph": "X", "cat": "kernel", "name": "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x256_32x3_tn_align8>(cutlass_80_tensorop_bf16_s16816gemm_bf16_128x256_32x3_tn_align8::Params)", "pid": 0, "tid": 7,
    "ts": 4458677{}.031, "dur": 14.656,
    "args": {{
      "External id": {}, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {}, "registers per thread": 238, "shared memory": 73728, "blocks per SM": 1.939394, "warps per SM": 15.515152, "grid": [8, 32, 1], "block": [256, 1, 1], "est. achieved occupancy %": 12
    }}
  }},
  {{
    "ph": "f", "id": {}, "pid": 0, "tid": 7, "ts": 4458677{}.031,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  }})json",
                   i == 0 ? "" : ",", us, i + 1, i + 1, i % 64 + 1, i, us, i, i + 1, i, us + 3, i + 1, i + 1'000'000,
                   i + 1'000'000, us + 3, us + 9, i + 1, i + 1'000'000, i + 1'000'000, us + 9);
  }
  text += "\n], \"traceName\": \"bench.json\"}\n";
  return text;
}

const std::string& large_trace() {
  static const std::string text = kineto_trace(128UL << 20U);
  return text;
}

void read(benchmark::State& state, const std::string& content) {
  std::size_t kept = 0;
  for (auto _ : state) {
    const auto source = bytes_of("bench.json", content);
    const auto captures = make_kineto_reader()->read(*source, {});
    kept = captures.front().device_ops.size();
    benchmark::DoNotOptimize(kept);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(large_trace().size()));
  state.counters["kernels"] = static_cast<double>(kept);
}

void kineto_json(benchmark::State& state) { read(state, large_trace()); }
void kineto_json_gz(benchmark::State& state) { read(state, warploom::gzip(large_trace())); }

// What the decompressor alone needs: the bound of the above.
void gz_alone(benchmark::State& state) {
  const std::string content = warploom::gzip(large_trace());
  std::string into(1UL << 19U, '\0');
  for (auto _ : state) {
    const auto source = bytes_of("bench.json", content);
    while (source->read(into) > 0) benchmark::DoNotOptimize(into.data());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(large_trace().size()));
}

// The cutting of records alone.
void json_records(benchmark::State& state) {
  for (auto _ : state) {
    const auto source = bytes_of("bench.json", large_trace());
    Repairs repairs;
    JsonRecords records(*source, {}, repairs);
    while (records.next() != JsonRecords::Item::end) benchmark::DoNotOptimize(records.text());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(large_trace().size()));
}

BENCHMARK(json_records)->Unit(benchmark::kMillisecond);
BENCHMARK(kineto_json)->Unit(benchmark::kMillisecond);
BENCHMARK(gz_alone)->Unit(benchmark::kMillisecond);
BENCHMARK(kineto_json_gz)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace warploom

BENCHMARK_MAIN();
