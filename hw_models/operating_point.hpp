// SPDX-License-Identifier: Apache-2.0
// The clock that a kernel runs at: the highest at which the board stays within its power limit.
//
// Equation: P(f) = idle + (E_core (f / f_max)^2 + E_memory) / t(f) <= limit, solved for the largest f <= f_max.
// Assumes that voltage goes with the clock, so that switching energy goes with its square; that the memory's energy
// does not; that a kernel runs long enough for the governor to settle (milliseconds; short kernels run in trains of
// their like). Source: switching energy C V^2; fits of GEMM rates find f = f_max / (1 + d u^2) with d = 0.32 on H100
// and 0.07 on A100.
#pragma once

#include "hw_models/device.hpp"

namespace warploom {

// Energy of one run of a kernel.
struct Activity {
  Energy core;    // arithmetic and L2 traffic, at the highest clock
  Energy memory;  // device memory
};

struct OperatingPoint {
  Frequency clock;
  double seconds = 0;
  Power power;
  bool is_power_limited = false;
};

// `seconds_at(clock)`: how long the kernel takes at a clock, not longer at a higher one.
template <class SecondsAt>
OperatingPoint operating_point(const DeviceSpec& device, const Activity& activity, const SecondsAt& seconds_at) {
  const auto at = [&](double share) {
    OperatingPoint point;
    point.clock = device.clock.max * share;
    point.seconds = seconds_at(point.clock);
    const double joules = activity.core.value() * share * share + activity.memory.value();
    point.power = device.power.idle + Power(joules / point.seconds);
    return point;
  };
  OperatingPoint point = at(1);
  if (point.power <= device.power.limit) return point;
  double low = 0.1;  // governors stop lowering the clock well above this
  double high = 1;
  for (int i = 0; i < 20; ++i) {
    const double middle = (low + high) / 2;
    (at(middle).power <= device.power.limit ? low : high) = middle;
  }
  point = at(low);
  point.is_power_limited = true;
  return point;
}

}  // namespace warploom
