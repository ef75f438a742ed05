// SPDX-License-Identifier: Apache-2.0
// Published training steps: one configuration a row with its measured step.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/core/errors.hpp"
#include "sim/play/executor.hpp"
#include "workloads/cluster.hpp"
#include "workloads/device_lookup.hpp"
#include "workloads/memory_advice.hpp"
#include "workloads/validation/tables.hpp"
#include "workloads/validation/training_row.hpp"
#include "workloads/validation/validation_context.hpp"

namespace warploom {

namespace {

std::shared_ptr<const Machine> machine_of(const TrainingMachine& named, std::int64_t devices,
                                          ValidationContext& context) {
  return context.memo<std::shared_ptr<const Machine>>(fmt::format("{} {}", named.key(), devices), [&] {
    const auto merged = [&](const std::string& folder, const std::vector<std::string>& more) {
      std::vector<std::string> all = context.overrides(folder);
      all.insert(all.end(), more.begin(), more.end());
      return all;
    };
    Diagnostics diagnostics;
    auto spec = warploom::read<ClusterSpec>(
        load_config(named.cluster, merged("clusters", named.cluster_overrides), context.library()), diagnostics);
    spec.device =
        load_device("devices/" + named.device, merged("devices", named.device_overrides), context.library()).spec;
    Cluster cluster = make_cluster(spec, devices, {}, diagnostics);
    diagnostics.throw_if_any();
    auto machine = std::make_shared<Machine>(std::move(cluster.machine));
    return std::shared_ptr<const Machine>(std::move(machine));
  });
}

struct StepTime {
  double seconds = 0;
  bool fits = true;
};

// Everything of a job that decides its step.
std::string key_of(const TrainingJob& job) {
  const Model& m = job.model;
  const TrainingSpec& t = job.training;
  const Layout& l = job.layout;
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} | {} {} {} {} {} {} {} {} {} {} {} {} | {} {} {} {} {} {} {}",
                     m.layers, m.hidden, m.heads, m.kv_heads, m.ffn, m.vocab, m.is_gated, m.has_dropout,
                     static_cast<int>(m.norm), static_cast<int>(m.positions), m.has_tied_embeddings, m.has_output_bias,
                     t.sequence_length, t.global_batch, t.micro_batch, static_cast<int>(t.recompute),
                     static_cast<int>(t.attention) * 10 + static_cast<int>(t.loss), t.zero, t.overlap_tensor,
                     t.overlap_gradient_reduce, static_cast<int>(t.types.compute), static_cast<int>(t.types.product),
                     static_cast<int>(t.types.gradient), static_cast<int>(t.types.gradient_reduce), l.tensor,
                     l.pipeline, l.context, l.data.value_or(1), l.virtual_stages, l.sequence_parallel,
                     static_cast<int>(l.layer_split));
}

class TrainingTable final : public TableKind {
 public:
  std::string_view name() const override { return "training"; }
  std::string_view meaning() const override { return "training steps: model, layout, batch, machine and step time"; }
  std::span<const std::string_view> columns() const override {
    static constexpr std::array<std::string_view, 11> names = {"hardware", "gpus",   "framework",  "model",
                                                               "layers",   "hidden", "seq_len",    "global_batch",
                                                               "tp",       "pp",     "step_time_s"};
    return names;
  }
  std::string_view device_column() const override { return "hardware"; }
  BaselineKind baseline() const override { return BaselineKind::constant_efficiency; }

  Predicted predict(const CsvRow& csv, ValidationContext& context) const override {
    Predicted result;
    result.measured_us = csv.positive_number("step_time_s") * 1e6;
    const TrainingRow row = training_row(csv);
    const TrainingCases cases = training_cases(row);
    const auto machine = machine_of(cases.machine, *row.devices, context);
    result.device = cases.machine.device;
    result.dtype = row.precision;
    result.set = csv.has("set") ? std::string(csv.text("set")) : row.framework;
    result.size_class = "step";

    std::vector<StepTime> steps;
    for (const TrainingJob& job : cases.jobs) {
      steps.push_back(
          context.memo<StepTime>(fmt::format("{} {} {}", cases.machine.key(), *row.devices, key_of(job)), [&] {
            TrainingJob copy = job;
            copy.launch = launch_of(cases.machine, context);
            const Program program = build_training_step(copy);
            return StepTime{play(program, *machine).makespan.seconds(),
                            peak_in_program_order(program) <= machine->device_classes[0].memory_usable};
          }));
    }
    const bool is_open = steps.size() > 1;
    if (is_open) std::erase_if(steps, [](const StepTime& step) { return !step.fits; });
    if (steps.empty()) throw UserError("no open setting fits the device's memory");
    const auto [fastest, slowest] = std::minmax_element(
        steps.begin(), steps.end(), [](const StepTime& a, const StepTime& b) { return a.seconds < b.seconds; });
    // Who publishes a step without its settings has tuned them.
    result.predicted_us = fastest->seconds * 1e6;
    if (is_open) {
      result.interval_us = {fastest->seconds * 1e6, slowest->seconds * 1e6};
    } else if (!steps[0].fits) {
      result.labels.emplace_back("memory", "more than usable");
    }
    const Worth worth = worth_of(cases.jobs[0]);
    result.baseline.flops = worth.hardware_flops.value();
    result.baseline.ideal_us = worth.hardware_flops.value() /
                               (machine->device_classes[0].peak.value() * static_cast<double>(*row.devices)) * 1e6;
    return result;
  }

 private:
  static Time launch_of(const TrainingMachine& named, ValidationContext& context) {
    return context.memo<Time>("launch " + named.cluster, [&] {
      Diagnostics diagnostics;
      return warploom::read<ClusterSpec>(context.config(named.cluster), diagnostics).host.launch;
    });
  }
};

}  // namespace

const TableKind& training_table() {
  static const TrainingTable table;
  return table;
}

}  // namespace warploom
