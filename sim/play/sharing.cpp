// SPDX-License-Identifier: Apache-2.0
// Water-filling of one device's SMs and HBM bandwidth.
#include "sim/play/sharing.hpp"

#include <algorithm>
#include <cstddef>

namespace warploom {

namespace {

// Some SMs always remain for kernels: communication libraries never take all (NCCL: at most 64 channels).
constexpr double least_kernel_share = 0.05;

// The level of max-min fairness: demands below it are met, the others get the level.
double fair_level(std::span<const KernelDemand> kernels, std::span<const CallDemand> calls) {
  double level = 0;
  double left = 1;
  std::size_t open = kernels.size() + calls.size();
  // Each round meets at least one demand for good, so there are at most as many rounds as demands.
  for (std::size_t round = 0; round <= kernels.size() + calls.size() && open > 0; ++round) {
    const double next = left / static_cast<double>(open);
    double met = 0;
    std::size_t still_open = 0;
    const auto visit = [&](double demand) {
      if (demand <= next) {
        met += demand;
      } else {
        ++still_open;
      }
    };
    for (const auto& kernel : kernels) visit(kernel.hbm_share * kernel.speed);
    for (const auto& call : calls) visit(call.hbm_share);
    level = next;
    if (still_open == open || still_open == 0) break;
    left = 1 - met;
    open = still_open;
  }
  return level;
}

}  // namespace

void share_device(std::span<KernelDemand> kernels, std::span<CallDemand> calls) {
  double held = 0;
  double asked = 0;
  for (const auto& call : calls) held += call.sm_share;
  for (const auto& kernel : kernels) asked += kernel.sm_share;
  const double left = std::max(1 - held, least_kernel_share);
  double hbm = 0;
  for (auto& kernel : kernels) {
    kernel.speed = kernel.sm_share > 0 && asked > left ? std::min(1.0, left / asked) : 1.0;
    hbm += kernel.hbm_share * kernel.speed;
  }
  for (auto& call : calls) {
    call.granted = call.hbm_share;
    hbm += call.hbm_share;
  }
  if (hbm <= 1) return;

  const double level = fair_level(kernels, calls);
  for (auto& kernel : kernels) {
    if (kernel.hbm_share * kernel.speed > level) kernel.speed = level / kernel.hbm_share;
  }
  for (auto& call : calls) call.granted = std::min(call.hbm_share, level);
}

}  // namespace warploom
