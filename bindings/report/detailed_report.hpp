// SPDX-License-Identifier: Apache-2.0
// What the detailed model saw inside a kernel.
#pragma once

#include <string>
#include <vector>

#include "hw_models/detailed_timer.hpp"
#include "hw_models/ideal_device.hpp"

namespace warploom {

// A table of each program: where warp cycles went, how busy the pipes were, what moved at each level.
std::string detailed_in_words(const DetailedKernel& played, const DeviceSpec& device);

// "1.62 GHz of 1.98 GHz: the power limit bounds it".
std::string clock_in_words(const DetailedKernel& played, const DeviceSpec& device);

// A program of the user's own (`warploom kernel program`), played.
struct ProgramReport {
  DetailedKernel played;
  std::string device;  // as named
  DeviceSpec spec;
  std::vector<Ideal> ideals;
  Time real;  // the duration with nothing free
};
std::string to_text(const ProgramReport& report);
std::string to_json(const ProgramReport& report);

}  // namespace warploom
