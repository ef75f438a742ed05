// SPDX-License-Identifier: Apache-2.0
// The analytic timer: checks, the family's cost, and the gap before the kernel.
#include "hw_models/analytic_timer.hpp"

#include "hw_models/kernels.hpp"

namespace warploom {

KernelCost AnalyticTimer::cost(const Kernel& kernel) const {
  const KernelFamily& family = kernel_family(kernel.family);
  family.check(kernel);
  KernelCost cost = family.cost(kernel, device_);
  const Time gap = launch_gap(device_, launch_);
  if (gap > cost.duration) cost.bound_by = Bound::launch;
  cost.duration += gap;
  return cost;
}

DeviceClass make_device_class(const DeviceSpec& device, LaunchMode launch, DataType mfu_type) {
  DeviceClass result;
  result.name = device.name;
  result.timer = std::make_shared<const AnalyticTimer>(device, launch);
  result.sm_count = device.sm.count;
  result.hbm_bandwidth = device.reached_bandwidth();
  result.memory_raw = device.memory.capacity;
  result.memory_usable = device.memory.usable;
  result.peak = device.peak(mfu_type);
  return result;
}

}  // namespace warploom
