// SPDX-License-Identifier: Apache-2.0
// The largest of n normal draws, applied to the energies of a device.
#include "hw_models/slowest_device.hpp"

#include "sim/core/random.hpp"

namespace warploom {

DeviceSpec slowest_of(const DeviceSpec& device, std::int64_t devices) {
  const auto n = static_cast<double>(devices);
  const double deviations = devices > 1 ? normal_quantile((n - 0.375) / (n + 0.25)) : 0;
  const double factor = 1 + device.architecture.energy.spread * deviations;
  DeviceSpec slowest = device;
  EnergyConstants& energy = slowest.architecture.energy;
  for (auto& [type, flop] : energy.tensor_flop) flop = flop * factor;
  energy.vector_flop = energy.vector_flop * factor;
  energy.l2_byte = energy.l2_byte * factor;
  return slowest;
}

}  // namespace warploom
