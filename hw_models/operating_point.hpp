// SPDX-License-Identifier: Apache-2.0
// The clock that a kernel runs at: the highest, or the one that it is locked at, at which the board stays within its
// power limit.
//
// Equation: P(f) = idle + (E_core v(f)^2 + E_memory) / t(f) <= limit, solved for the largest f <= f_max, with the
// voltage v = least_voltage + (1 - least_voltage) f / f_max of that at f_max. Assumes that switching energy goes with
// the square of the voltage and that the memory's energy does not depend on it; that a kernel runs long enough for the
// governor to settle (milliseconds; short kernels run in trains of their like). Source: switching energy C V^2; fits of
// GEMM rates find f = f_max / (1 + d u^2) with d = 0.32 on H100 and 0.07 on A100.
#pragma once

#include <algorithm>
#include <cmath>

#include "hw_models/device.hpp"
#include "sim/play/ports.hpp"

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
OperatingPoint operating_point(const DeviceSpec& device, Power limit, const Activity& activity,
                               const SecondsAt& seconds_at) {
  const auto at = [&](double share) {
    OperatingPoint point;
    point.clock = device.clock.max * share;
    point.seconds = seconds_at(point.clock);
    const double least = device.architecture.energy.least_voltage;
    const double voltage = least + (1 - least) * share;
    const double joules = activity.core.value() * voltage * voltage + activity.memory.value();
    point.power = device.power.idle + Power(joules / point.seconds);
    return point;
  };
  double high = device.clock.highest() / device.clock.max;
  OperatingPoint point = at(high);
  if (point.power <= limit) return point;
  double low = std::min(0.1, high);  // governors stop lowering the clock well above this
  for (int i = 0; i < 20; ++i) {
    const double middle = (low + high) / 2;
    (at(middle).power <= limit ? low : high) = middle;
  }
  point = at(low);
  point.is_power_limited = true;
  return point;
}

// Among the kernels of a step.
template <class SecondsAt>
OperatingPoint operating_point(const DeviceSpec& device, const Activity& activity, const SecondsAt& seconds_at) {
  const double share = device.architecture.energy.among_others;
  return operating_point(device, device.power.limit * share, activity, seconds_at);
}

// In a benchmark that repeats one kernel. It runs for longer the longer the kernel is, and a board that was idle draws
// more than its limit until its governor has averaged over milliseconds and its chip is hot: measured rates of H100,
// B200 and L40S fall with the duration, whatever the shape.
template <class SecondsAt>
OperatingPoint benchmark_point(const DeviceSpec& device, const Activity& activity, const SecondsAt& seconds_at) {
  const auto& energy = device.architecture.energy;
  const OperatingPoint sustained = operating_point(device, device.power.limit, activity, seconds_at);
  if (!sustained.is_power_limited || energy.burst <= 0) return sustained;
  const double shorter = energy.burst_below.seconds() / sustained.seconds;
  if (shorter <= 1) return sustained;
  const double most = 2;  // no board's regulators give more
  const double more = std::min(most, std::pow(shorter, energy.burst));
  return operating_point(device, device.power.limit * more, activity, seconds_at);
}

// A kernel of a step, or one that a benchmark repeats and that finds its operands in the L2.
template <class SecondsAt>
OperatingPoint operating_point_of(const DeviceSpec& device, bool is_warm, const Activity& activity,
                                  const SecondsAt& seconds_at) {
  return is_warm ? benchmark_point(device, activity, seconds_at) : operating_point(device, activity, seconds_at);
}

// Of one tensor FLOP; none where the architecture has no figure for the type.
inline Energy tensor_flop_energy(const DeviceSpec& device, DataType type) {
  const auto& energies = device.architecture.energy.tensor_flop;
  const auto found = energies.find(std::string(name(type)));
  return found != energies.end() ? found->second : Energy{0};
}

// The cost of a kernel that runs at this point, but for its share of the SMs and what bounds it.
inline KernelCost cost_at(const OperatingPoint& point, Flops flops, Bytes hbm_bytes, Bytes l2_bytes) {
  KernelCost cost;
  cost.duration = Time::from_seconds(point.seconds);
  cost.hbm_bytes = hbm_bytes;
  cost.l2_bytes = l2_bytes;
  cost.flops = flops;
  cost.power = point.power;
  return cost;
}

}  // namespace warploom
