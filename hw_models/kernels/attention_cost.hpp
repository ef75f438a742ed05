// SPDX-License-Identifier: Apache-2.0
// The cost models behind the attention family.
#pragma once

#include "hw_models/device.hpp"
#include "hw_models/kernels/attention.hpp"
#include "sim/play/ports.hpp"

namespace warploom {

struct AttentionTraffic {
  Bytes all{0};    // compulsory
  Bytes aside{0};  // of it: moved by kernels before and after the main one
};

AttentionTraffic attention_traffic(const AttentionShape& shape);
Flops attention_flops(const AttentionShape& shape);

KernelCost attention_forward_cost(const AttentionShape& shape, const DeviceSpec& device);
KernelCost attention_backward_cost(const AttentionShape& shape, const DeviceSpec& device);

}  // namespace warploom
