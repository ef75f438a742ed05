// SPDX-License-Identifier: Apache-2.0
// A whole training step, folded into roles and with a role for every device: equal to the picosecond wherever it says
// `exact`.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "workloads/experiment.hpp"

namespace warploom {
namespace {

using Overrides = std::vector<std::string>;

constexpr const char* rails = "cluster.network.tiers=[{name: leaf, of: 4, latency: 300 ns}, {name: spine, of: 4}]";
constexpr const char* meta = "cluster.use=clusters/meta_24k_h100";
// Racks of one node, pods of three, 1:7 above: pods of 24 devices, which rings over 64 devices cross unevenly.
constexpr const char* uneven_pods =
    "cluster.network.tiers=[{name: rack, of: 1, latency: 1 us}, {name: pod, of: 3, oversubscription: 7, latency: 3 "
    "us}, "
    "{name: core, of: 8}]";

struct Case {
  const char* name;
  Overrides overrides;
};

// A small step: the 8B model with short sequences and a few micro-batches.
Overrides with_base(Overrides more) {
  Overrides all = {"training.sequence_length=1024", "training.global_batch=64", "allow_oversubscribed_memory=true"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"one node", {}},
      {"data parallel over nodes", {"devices=32", "layout.data=16"}},
      {"rails", {"devices=64", "layout.data=8", "layout.tensor=2", "layout.pipeline=4", rails}},
      {"no sequence parallelism", {"devices=16", "layout.sequence_parallel=false", "layout.data=8"}},
      {"interleaved",
       {"devices=32", "layout.tensor=4", "layout.pipeline=4", "layout.data=2", "layout.virtual_stages=4"}},
      {"plain tree", {meta, "devices=64", "layout.tensor=8", "layout.pipeline=2", "layout.data=4"}},
      {"uneven pods", {meta, uneven_pods, "devices=64", "layout.tensor=8", "layout.data=8"}},
      {"uneven pods, pipeline",
       {meta, uneven_pods, "devices=64", "layout.tensor=4", "layout.pipeline=4", "layout.data=4"}},
      {"data innermost",
       {"devices=32", "layout.data=4", "layout.pipeline=4", "layout.order=[data, tensor, context, pipeline]"}},
      {"pipeline innermost",
       {meta, uneven_pods, "devices=48", "layout.tensor=2", "layout.data=6", "layout.pipeline=4",
        "training.global_batch=48", "layout.order=[pipeline, tensor, context, data]"}},
      {"cut gradients, all recomputed",
       {"devices=16", "layout.pipeline=2", "training.zero=2", "training.recompute=full"}},
      {"unfused attention", {"devices=16", "layout.data=8", "training.attention=unfused", "training.loss=unfused"}},
      {"quantised, overlapped tensor",
       {"devices=32", "layout.tensor=4", "layout.data=8", "training.types.product=fp8",
        "training.overlap_tensor=true"}},
      {"context parallel", {"devices=32", "layout.context=4", "layout.tensor=2", "layout.data=4"}},
      {"context across nodes", {"devices=64", "layout.context=4", "layout.tensor=8", "layout.data=2"}},
      {"cut weights", {"devices=16", "layout.tensor=1", "layout.data=16", "training.zero=3"}},
      {"replicated optimizer", {"devices=16", "layout.data=8", "training.zero=0"}},
      {"a straggler", {"devices=32", "layout.pipeline=4", "stragglers=[{device: 13, slow_down: 1.2}]"}},
      {"two stragglers across nodes",
       {meta, "devices=64", "layout.tensor=8", "layout.pipeline=2",
        "stragglers=[{device: 3, slow_down: 1.1}, {device: 40, slow_down: 1.3}]"}},
  };
  return all;
}

TEST(Fold, EqualsTheUnfoldedStepToThePicosecondWhereItIsExact) {
  int exact = 0;
  for (const auto& [name, overrides] : cases()) {
    SCOPED_TRACE(name);
    const auto experiment = Experiment::load("llama3_8b_8_h100", with_base(overrides));
    const auto folded = experiment.run();
    const auto unfolded = experiment.run({.unfold = true, .progress = {}});
    EXPECT_EQ(unfolded.report.simulator.roles, static_cast<std::size_t>(unfolded.report.devices));
    EXPECT_LT(folded.report.simulator.roles, unfolded.report.simulator.roles);
    if (folded.report.folding != "exact") {
      EXPECT_GE(folded.report.step_time, unfolded.report.step_time);
      continue;
    }
    ++exact;
    EXPECT_EQ(folded.report.step_time, unfolded.report.step_time);
    for (std::size_t cause = 0; cause < cause_count; ++cause) {
      EXPECT_NEAR(folded.report.seconds[cause], unfolded.report.seconds[cause], 1e-9) << cause_names[cause];
    }
  }
  EXPECT_GE(exact, 10);  // the fold says `exact` where it should, not where nobody looks
}

TEST(Fold, IsExactForARingThatCrossesPodsUnevenlyAndForAStraggler) {
  for (const auto& [name, overrides] : cases()) {
    if (std::string(name) != "uneven pods" && std::string(name) != "a straggler") continue;
    EXPECT_EQ(Experiment::load("llama3_8b_8_h100", with_base(overrides)).run().report.folding, "exact") << name;
  }
}

}  // namespace
}  // namespace warploom
