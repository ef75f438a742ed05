// SPDX-License-Identifier: Apache-2.0
// Reads trace_view.json of Ascend's profiler, a Chrome trace whose root is a list, whose times are text in absolute
// microseconds and whose ids may exceed 64 bits.
#pragma once

#include <string_view>

#include "traces/ascend_capture.hpp"
#include "traces/byte_source.hpp"
#include "traces/readers.hpp"

namespace warploom::ascend {

// A list of records whose times are text: no other writer of Chrome traces does both.
bool is_trace_view(std::string_view first_bytes);

void read_trace_view(ByteSource& source, Builder& builder, const ReadOptions& options);

}  // namespace warploom::ascend
