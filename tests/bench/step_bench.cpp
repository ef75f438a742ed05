// SPDX-License-Identifier: Apache-2.0
// A whole training step: the demo's time and memory, and the same job on 1k to 64k devices, which may cost only what
// differs.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "workloads/experiment.hpp"

namespace {

using warploom::Experiment;

void BM_Demo(benchmark::State& state) {
  for (auto _ : state) {
    const auto experiment = Experiment::load("llama3_405b_16k_h100", {});
    benchmark::DoNotOptimize(experiment.run().report.step_time);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_rss_MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

// The same micro-batches a replica, so that devices are all that grows.
void BM_StepOverDevices(benchmark::State& state) {
  const auto devices = state.range(0);
  const auto replicas = devices / 128;
  const auto experiment = Experiment::load(
      "llama3_405b_16k_h100",
      {"devices=" + std::to_string(devices), "layout.data=" + std::to_string(replicas), "training.zero=1",
       "training.recompute=full", "training.global_tokens=" + std::to_string(replicas * 16 * 8192),
       "cluster.network.tiers=[{name: rack, of: 2, latency: 1 us}, {name: pod, of: 192, oversubscription: 7, latency: "
       "3 us}, "
       "{name: core, of: 32}]"});
  warploom::RunResult result;
  for (auto _ : state) result = experiment.run();
  state.counters["roles"] = static_cast<double>(result.report.simulator.roles);
  state.counters["operations"] = static_cast<double>(result.report.simulator.operations);
  state.counters["link_classes"] = static_cast<double>(result.timeline.fabric.link_classes);
  state.counters["variables"] = static_cast<double>(result.timeline.fabric.variables);
}

BENCHMARK(BM_Demo)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_StepOverDevices)->RangeMultiplier(4)->Range(1024, 65536)->Unit(benchmark::kMillisecond);

// Fails where the demo takes too much, where a count grows with the devices, or where time does.
class StepReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const auto& run : runs) runs_[run.benchmark_name()] = run;
  }
  bool is_satisfied() const {
    bool ok = true;
    const auto demand = [&ok](bool holds, const char* what) {
      if (!holds) std::printf("FAILED: %s\n", what);
      ok = ok && holds;
    };
    if (const auto demo = runs_.find("BM_Demo"); demo != runs_.end()) {
      demand(demo->second.GetAdjustedRealTime() < 2000, "the demo takes less than 2 s");
      demand(demo->second.counters.at("peak_rss_MB") < 500, "the demo takes less than 500 MB");
    }
    const auto small = runs_.find("BM_StepOverDevices/1024");
    const auto large = runs_.find("BM_StepOverDevices/65536");
    if (small != runs_.end() && large != runs_.end()) {
      for (const char* count : {"roles", "operations"}) {
        demand(small->second.counters.at(count) == large->second.counters.at(count),
               "64 times the devices, the same rows");
      }
      for (const char* count : {"link_classes", "variables"}) {
        demand(large->second.counters.at(count) <= 4 * small->second.counters.at(count),
               "classes do not grow with devices");
      }
      // What differs: 22 pods in use instead of one, whose borders cut the rings unevenly.
      demand(large->second.GetAdjustedRealTime() < 2 * small->second.GetAdjustedRealTime(),
             "64 times the devices, at most twice the time");
    }
    return ok;
  }

 private:
  std::map<std::string, Run> runs_;
};

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  StepReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return reporter.is_satisfied() ? 0 : 1;
}
