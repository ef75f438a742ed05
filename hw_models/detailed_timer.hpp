// SPDX-License-Identifier: Apache-2.0
// The detailed kernel timer: a kernel's programs played on the inside of the device, at the clock that power allows.
//
// The clock follows from the balance of operating_point.hpp, whose time is the model's own: it is played again at the
// clock that comes out until that no longer moves.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/detailed.hpp"
#include "hw_models/detailed_key.hpp"
#include "hw_models/device.hpp"
#include "hw_models/programs/kernel_programs.hpp"
#include "sim/play/ports.hpp"
#include "sim/work/kernel.hpp"

namespace warploom {

struct DetailedKernel {
  KernelCost cost;                       // the gaps before its programs included
  std::vector<DetailedResult> programs;  // one after another
  Time gap;                              // before each
  Frequency clock{0};
  bool is_power_limited = false;
  Energy energy{0};  // idle power included
};

// Throws UserError as simulate_detailed() does, and for a family that has no programs.
DetailedKernel play_kernel(const Kernel& kernel, const DeviceSpec& device, LaunchMode launch,
                           const DetailedOptions& options = {});

// The same for programs of one's own, one after the other.
DetailedKernel play_plan(const KernelPlan& plan, const DeviceSpec& device, LaunchMode launch,
                         const DetailedOptions& options = {});

class DetailedCache;  // hw_models/detailed_cache.hpp

// Families without programs are timed analytically, and say so (KernelCost::is_fallback).
class DetailedTimer final : public KernelTimer {
 public:
  DetailedTimer(DeviceSpec device, LaunchMode launch, std::shared_ptr<DetailedCache> cache = nullptr);
  ~DetailedTimer() override;

  KernelCost cost(const Kernel& kernel) const override;

 private:
  DeviceSpec device_;
  LaunchMode launch_;
  std::shared_ptr<DetailedCache> cache_;
  std::optional<DetailedKey> device_key_;  // where there is a cache
  mutable std::mutex mutex_;
  mutable std::unordered_map<Kernel, KernelCost, KernelHash> known_;
};

}  // namespace warploom
