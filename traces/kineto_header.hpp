// SPDX-License-Identifier: Apache-2.0
// What stands beside the events of a Kineto trace: `distributedInfo`, `deviceProperties`, `baseTimeNanoseconds` and
// flat keys of any name, before or after the events.
#pragma once

#include <string_view>

#include "traces/capture.hpp"
#include "traces/kineto_groups.hpp"

namespace warploom {

// Keys whose values can be large and say nothing of the run's times (TraceLens' `metadata`, stacks, logs).
bool is_kineto_header(std::string_view key);

// False: the value is no JSON, nothing was taken of it.
bool read_kineto_header(std::string_view key, std::string_view value, Capture& capture, KinetoGroups& groups);

}  // namespace warploom
