// SPDX-License-Identifier: Apache-2.0
// Gradients of a scaled loss: multiplied by 1 / scale, looked through for infinities and NaN, and written.
#pragma once

#include <cstdint>

#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily;

struct UnscaleShape {
  std::int64_t elements = 0;  // over all tensors of one launch
  DataType input = DataType::fp32;
  DataType output = DataType::fp32;
};

Kernel unscale(const UnscaleShape& shape);
UnscaleShape unscale_shape(const Kernel& kernel);
const KernelFamily& unscale_family();

}  // namespace warploom
