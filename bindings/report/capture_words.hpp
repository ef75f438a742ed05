// SPDX-License-Identifier: Apache-2.0
// Times, shares, ranks and names of captured runs as reports write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "traces/capture.hpp"

namespace warploom {

std::string milliseconds(Nanoseconds time);   // "12.345 ms"
std::string time_in_words(Nanoseconds time);  // four or five digits in the unit that suits: "12.35 us"
std::string percent(double share);            // 0.5: "50.0%"
std::string share_in_words(Nanoseconds part, Nanoseconds whole);  // "50.0%"; "-" of nothing
std::string rank_in_words(const std::optional<std::int64_t>& rank);

// At most so wide, without what C++ puts before a kernel's name and without control characters: names come from
// strangers, and terminals obey those.
std::string shown_name(std::string_view name, std::size_t width);

}  // namespace warploom
