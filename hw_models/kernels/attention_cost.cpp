// SPDX-License-Identifier: Apache-2.0
// The pieces of the cost of attention that forward and backward have in common.
#include "hw_models/kernels/attention_cost.hpp"

#include <algorithm>

namespace warploom {

double operand_rate(const DeviceSpec& device, double blocks) {
  const double l2_rate = device.l2.bytes_per_cycle_per_sm * device.sm.count / std::min<double>(device.sm.count, blocks);
  return std::min(device.architecture.gemm.port_bytes_per_cycle, l2_rate);
}

Bound main_loop_bound(const AttentionStep& step, const OperatingPoint& point) {
  if (point.is_power_limited) return Bound::power;
  if (step.operands >= step.total) return Bound::operand_bandwidth;
  return step.softmax > step.products ? Bound::vector : Bound::tensor;
}

Activity attention_activity(const DeviceSpec& device, DataType type, Flops flops, double scores, double l2_bytes,
                            double memory_bytes) {
  const auto& energy = device.architecture.energy;
  constexpr double softmax_flops = 5;  // scale, maximum, difference, sum, conversion of a score
  return {tensor_flop_energy(device, type) * flops.value() + energy.vector_flop * (softmax_flops * scores) +
              energy.l2_byte * l2_bytes,
          energy.memory_byte * memory_bytes};
}

}  // namespace warploom
