// SPDX-License-Identifier: Apache-2.0
// What the tables of MoE dispatch and combine share: a row's traffic, and its prediction.
#pragma once

#include <cstdint>
#include <string>

#include "sim/work/call.hpp"
#include "workloads/validation/collective_row.hpp"
#include "workloads/validation/table_kind.hpp"

namespace warploom {

class ValidationContext;

// Of tokens a rank: "under 64 tokens".
std::string moe_tokens_class(std::int64_t tokens);

// `row.moe` is set. Fills what predict_collective() fills, with groups by operation, mode and ranks.
void predict_moe_communication(const CollectiveRow& row, ValidationContext& context, Predicted& result);

}  // namespace warploom
