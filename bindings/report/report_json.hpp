// SPDX-License-Identifier: Apache-2.0
// The report as JSON: the contract for scripts, `schema` warploom.report/1. Keys are only added within a schema number.
#pragma once

#include <string>
#include <string_view>

#include "sim/play/report.hpp"

namespace warploom {

inline constexpr std::string_view report_schema = "warploom.report/1";

// One object; `indent` spaces a level, or one line when negative. Causes that are zero are left out; text that is not
// UTF-8 is replaced.
std::string to_json(const Report& report, int indent = 2);

}  // namespace warploom
