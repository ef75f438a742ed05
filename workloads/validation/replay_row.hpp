// SPDX-License-Identifier: Apache-2.0
// What a captured step took, and what its replay says that it takes elsewhere: measured alike, so that they compare.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "traces/captured_run.hpp"

namespace warploom {

class ValidationContext;

// Of a step, in this order. Host-bound steps hardly move between devices: their span says little of the kernels.
enum class ReplayPart : std::uint8_t {
  span,           // from the first to the last work of the longest rank
  busy,           // when a device did anything: the union of its work, added over ranks
  gemm,           // sum of durations by class, added over ranks: products and convolutions
  attention,      // fused attention
  other_kernels,  // all other kernels but communication
};
// Copies are no part of it: most cross to the host, over whatever link, and are kept as they were captured.
inline constexpr std::array<std::string_view, 5> replay_part_names = {"span", "busy", "gemm", "attention",
                                                                      "other kernels"};
using ReplayTimes = std::array<double, replay_part_names.size()>;  // microseconds; 0: there is none of it

enum class ReplayMode : std::uint8_t {
  unchanged,  // on the hardware that it was captured on: a test of the dependencies
  retimed,    // on the row's device: a test of the models
  by_class,   // the same as if no shapes had been recorded
};

// Captures are read once a context, by path.
const CapturedRun& captured_run(const std::string& path, ValidationContext& context);
// The canonical name of the device, else as the driver gives it.
std::string device_of(const CapturedRun& run, ValidationContext& context);
ReplayTimes captured_times(const CapturedRun& run);
// On the node of `device`, which the library describes. Throws UserError as predict_replay() does.
const ReplayTimes& replayed_times(const std::string& path, ReplayMode mode, const std::string& device,
                                  ValidationContext& context);

}  // namespace warploom
