// SPDX-License-Identifier: Apache-2.0
// The kernel families: what a kernel computes, moves and costs. kernels.cpp lists them all.
#pragma once

#include <span>
#include <string_view>

#include "hw_models/device.hpp"
#include "sim/core/units.hpp"
#include "sim/play/ports.hpp"
#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily {
 public:
  virtual ~KernelFamily() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view meaning() const = 0;
  // Throws UserError when the sizes make no sense.
  virtual void check(const Kernel& kernel) const = 0;
  virtual Flops flops(const Kernel& kernel) const = 0;
  // Compulsory traffic: every input read once, every output written once.
  virtual Bytes bytes(const Kernel& kernel) const = 0;
  // Alone on the device; the gap before it is the timer's.
  virtual KernelCost cost(const Kernel& kernel, const DeviceSpec& device) const = 0;
};

std::span<const KernelFamily* const> kernel_families();

// Throws InternalError for a family that is not listed.
const KernelFamily& kernel_family(std::string_view name);

// Shorthand, checks included.
Flops flops(const Kernel& kernel);
Bytes bytes(const Kernel& kernel);

}  // namespace warploom
