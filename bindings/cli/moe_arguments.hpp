// SPDX-License-Identifier: Apache-2.0
// Options of `warploom collective moe_dispatch` and `moe_combine`: tokens, experts, kernels.
#pragma once

#include <cstdint>
#include <string>

#include "bindings/cli/command.hpp"
#include "network/network.hpp"
#include "sim/work/call.hpp"
#include "workloads/network_lookup.hpp"

namespace warploom {

struct MoeArguments {
  std::int64_t tokens = -1;
  std::int64_t hidden = 0;
  std::int64_t top_k = 0;
  std::int64_t experts = 0;
  std::string kind;
  std::int64_t sms = 0;
  std::string dispatch_type;
  std::string combine_type;
  std::int64_t node_limit = 0;
  std::string loads;
  std::string skew;

  // Throws UserError where an option of these was given to another operation.
  void require_unused(CollectiveKind kind) const;
  // Of the first `ranks` devices of the cluster. Throws UserError for what is missing or cannot be.
  Call call(CollectiveKind kind, std::int64_t ranks, const FoundNetwork& cluster) const;
};

void add_moe_arguments(CLI::App* command, MoeArguments& arguments);

}  // namespace warploom
