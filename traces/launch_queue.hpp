// SPDX-License-Identifier: Apache-2.0
// Hosts that ran so far ahead that a stream's queue was full: the launch call returned when the device had begun what
// was launched about 1,024 launches before (the depth of a CUDA channel's queue; a few places are taken by what is no
// operation: records, waits, fences).
//
// Assumes that a launch call of 20 us and more that returned with so many launches of its stream not yet begun had
// waited for a place. Captures in which few such calls stand (or long calls with shorter queues are as common) show
// nothing of the kind, and nothing is inferred.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "traces/capture.hpp"

namespace warploom {

// By call: the operation at whose end the one began that made room. `before`: by operation, the one before it on its
// stream, or `nothing`.
std::unordered_map<std::uint32_t, std::uint32_t> find_full_queues(const Capture& capture,
                                                                  std::span<const std::uint32_t> before);

}  // namespace warploom
