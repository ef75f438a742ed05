// SPDX-License-Identifier: Apache-2.0
// The cost models behind the attention family.
#pragma once

#include "hw_models/device.hpp"
#include "hw_models/kernels/attention.hpp"
#include "hw_models/kernels/attention_tiling.hpp"
#include "hw_models/operating_point.hpp"
#include "sim/play/ports.hpp"

namespace warploom {

// ---- What forward and backward have in common (attention_cost.cpp)
// ----------------------------------------------------

// Cycles of a step of one block's main loop.
struct AttentionStep {
  double products = 0;
  double softmax = 0;
  double operands = 0;  // from the L2
  double total = 0;
};

// Operand bytes a cycle that the L2 gives each of the SMs that `blocks` keep busy.
double operand_rate(const DeviceSpec& device, double blocks);

// What bounds a main loop that neither latency nor memory bounds.
Bound main_loop_bound(const AttentionStep& step, const OperatingPoint& point);

// `scores` are computed, masked ones included; products in `type`.
Activity attention_activity(const DeviceSpec& device, DataType type, Flops flops, double scores, double l2_bytes,
                            double memory_bytes);

KernelCost attention_forward_cost(const AttentionShape& shape, const DeviceSpec& device);
KernelCost attention_backward_cost(const AttentionShape& shape, const DeviceSpec& device);

}  // namespace warploom
