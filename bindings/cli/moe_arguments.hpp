// SPDX-License-Identifier: Apache-2.0
// Options of `warploom collective moe_dispatch` and `moe_combine`: tokens, experts, kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bindings/cli/command.hpp"
#include "network/network.hpp"
#include "sim/work/call.hpp"
#include "workloads/network_lookup.hpp"

namespace warploom {

struct MoeArguments {
  std::optional<std::int64_t> tokens;
  std::optional<std::int64_t> hidden;
  std::optional<std::int64_t> top_k;
  std::optional<std::int64_t> experts;
  std::string kind;
  std::optional<std::int64_t> sms;
  std::string dispatch_type;
  std::string combine_type;
  std::optional<std::int64_t> node_limit;
  std::string loads;
  std::string skew;

  // Throws UserError where an option of these was given to another operation.
  void require_unused(CollectiveKind kind) const;
  // Of the first `ranks` devices of the cluster. Throws UserError for what is missing or cannot be.
  Call call(CollectiveKind kind, std::int64_t ranks, const FoundNetwork& cluster) const;
};

void add_moe_arguments(CLI::App* command, MoeArguments& arguments);

}  // namespace warploom
