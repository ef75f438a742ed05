// SPDX-License-Identifier: Apache-2.0
// The report as JSON: the contract for scripts, `schema` warploom.report/1. Keys are only added within a schema number.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/play/report.hpp"

namespace warploom {

inline constexpr std::string_view report_schema = "warploom.report/1";

// What a run without free resources took (`--ideal`).
struct IdealGain {
  std::string free;  // "hbm and network"
  Time real;
};
// "With hbm and network free a step takes 5.12 s instead of 6.48 s: 1.27 times as fast."
std::string to_text(const IdealGain& gain, const Report& report);

// One object; `indent` spaces a level, or one line when negative. Causes that are zero are left out; text that is not
// UTF-8 is replaced.
std::string to_json(const Report& report, int indent = 2, const std::optional<IdealGain>& gain = {});

}  // namespace warploom
