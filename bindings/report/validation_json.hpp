// SPDX-License-Identifier: Apache-2.0
// Validated tables as JSON: the contract for scripts, `schema` warploom.validation/1. Keys are only added within a
// schema number.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workloads/validation/validation.hpp"

namespace warploom {

inline constexpr std::string_view validation_schema = "warploom.validation/1";

// Errors are shares of 1: predicted / measured - 1. What is not known is null.
std::string to_json(const std::vector<TableValidation>& tables, int indent = 2);

}  // namespace warploom
