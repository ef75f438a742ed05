// SPDX-License-Identifier: Apache-2.0
// What published training runs do not say because everybody knows: the machine behind a name, a model family's parts, a
// framework's habits. Tables of rules, first match wins; none knows a row.
#pragma once

#include <string>
#include <string_view>

#include "workloads/validation/training_row.hpp"

namespace warploom {

struct ModelRule {
  std::string_view name;  // a part of the model's name, letter case ignored
  bool is_gated = false;
  NormKind norm = NormKind::layer;
  PositionKind positions = PositionKind::learned;
  bool has_tied_embeddings = false;
  bool has_biases = false;
  bool has_dropout = false;
  std::int64_t usual_vocabulary = 51200;
};

bool contains_without_case(std::string_view text, std::string_view part);

// Each throws UserError with the reason that the row is skipped for.
void refuse_what_is_not_modelled(const TrainingRow& row);
ModelRule model_rule(std::string_view model);
TrainingMachine training_machine(const TrainingRow& row);

// Number formats, attention, what is cut over replicas, recomputed, overlapped.
void apply_rules(const TrainingRow& row, TrainingJob& job);

}  // namespace warploom
