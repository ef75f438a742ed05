// SPDX-License-Identifier: Apache-2.0
// One dispatch or combine alone.
#include "workloads/validation/moe_communication_row.hpp"

#include <string>

namespace warploom {

namespace {

std::string type_of(const CollectiveRow& row) {
  const bool is_dispatch = row.kind == CollectiveKind::moe_dispatch;
  return std::string(name(is_dispatch ? row.moe->dispatch_type : row.moe->combine_type));
}

}  // namespace

std::string moe_tokens_class(std::int64_t tokens) {
  if (tokens >= 1024) return "1,024 tokens and more";
  return tokens >= 64 ? "64 to 1,023 tokens" : "under 64 tokens";
}

void predict_moe_communication(const CollectiveRow& row, ValidationContext& context, Predicted& result) {
  predict_collective(row, context, result);
  result.dtype = type_of(row);
  result.size_class = moe_tokens_class(row.moe->tokens);
  result.group = {{"op", row.kind == CollectiveKind::moe_dispatch ? "dispatch" : "combine"},
                  {"mode", std::string(name(row.moe->mode))},
                  {"ranks", std::to_string(row.nodes * row.in_node)}};
  result.fold_key = std::to_string(row.moe->hidden);
  result.tuned_by = "libraries/deepep";
}

}  // namespace warploom
