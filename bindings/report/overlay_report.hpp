// SPDX-License-Identifier: Apache-2.0
// A generated step beside a captured one, in words and as JSON: what `warploom compare` says.
#pragma once

#include <string>
#include <string_view>

#include "workloads/overlay/overlay.hpp"

namespace warploom {

inline constexpr std::string_view overlay_schema = "warploom.compare/1";

std::string overlay_to_text(const Overlay& overlay);
// `coverage`, `ranks` (totals of both sides), `classes`, `operations` (pairs by name), `largest_differences`, `layers`,
// `only_in_trace`, `only_in_model`.
std::string overlay_to_json(const Overlay& overlay, int indent = 2);

}  // namespace warploom
