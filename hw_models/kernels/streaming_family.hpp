// SPDX-License-Identifier: Apache-2.0
// A family of memory-bound kernels: it says what it moves and computes, and the rest follows.
#pragma once

#include "hw_models/kernels.hpp"
#include "hw_models/streaming.hpp"

namespace warploom {

class StreamingFamily : public KernelFamily {
 public:
  virtual StreamingWork work(const Kernel& kernel, const StreamingConstants& constants) const = 0;

  Flops flops(const Kernel& kernel) const final { return Flops(work(kernel, {}).vector_flops); }
  Bytes bytes(const Kernel& kernel) const final { return work(kernel, {}).bytes(); }
  KernelCost cost(const Kernel& kernel, const DeviceSpec& device) const final {
    return streaming_cost(work(kernel, device.architecture.streaming), device);
  }
};

}  // namespace warploom
