// SPDX-License-Identifier: Apache-2.0
// An experiment file: what runs, on what, laid out how.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/config.hpp"
#include "workloads/cluster.hpp"
#include "workloads/layout.hpp"
#include "workloads/training/training_job.hpp"
#include "workloads/training/training_spec.hpp"

namespace warploom {

enum class ExperimentKind : std::uint8_t { training };
template <>
struct EnumNames<ExperimentKind> {
  static constexpr std::pair<ExperimentKind, std::string_view> values[] = {{ExperimentKind::training, "training"}};
};

struct ExperimentSpec {
  ExperimentKind kind = ExperimentKind::training;
  std::string name;
  std::string source;
  std::uint64_t seed = 0;
  std::string model;
  ClusterSpec cluster;
  std::int64_t devices = 1;
  Layout layout;
  TrainingSpec training;
  std::vector<Straggler> stragglers;
  std::vector<std::string> assumptions;
  bool allow_oversubscribed_memory = false;

  static auto fields() {
    return field_list(
        field("kind", &ExperimentSpec::kind, "what runs"), field("name", &ExperimentSpec::name, "what reports call it"),
        field("source", &ExperimentSpec::source, "the case that it reproduces").optional(),
        field("seed", &ExperimentSpec::seed, "of everything drawn at random").optional(),
        field("model", &ExperimentSpec::model,
              "a Hugging Face config.json: a path relative to this file, or a library name such as "
              "models/llama3_8b.json"),
        field("cluster", &ExperimentSpec::cluster, "the machine"),
        field("devices", &ExperimentSpec::devices, "devices of the cluster that the job uses").in(1, 10'000'000),
        field("layout", &ExperimentSpec::layout, "how the model lies on the devices"),
        field("training", &ExperimentSpec::training, "the training step"),
        field("stragglers", &ExperimentSpec::stragglers, "devices that are slower than the rest").optional(),
        field("assumptions", &ExperimentSpec::assumptions, "what the file takes for granted; printed with the result")
            .optional(),
        field("allow_oversubscribed_memory", &ExperimentSpec::allow_oversubscribed_memory,
              "report a run that does not fit the devices' memory instead of refusing it")
            .optional());
  }
};

}  // namespace warploom
