// SPDX-License-Identifier: Apache-2.0
// One kernel alone on one device: how long it takes, what bounds it, and how far it is from the roofline.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/detailed_timer.hpp"
#include "hw_models/device.hpp"
#include "hw_models/ideal_device.hpp"
#include "hw_models/kernel_model.hpp"
#include "hw_models/kernels.hpp"
#include "hw_models/precision.hpp"
#include "sim/core/units.hpp"
#include "sim/work/kernel.hpp"

namespace warploom {

struct KernelPrediction {
  Kernel kernel;
  KernelCost cost;  // `duration` has the launch gap in it
  Time launch;      // that gap
  Flops flops{0};
  Bytes bytes{0};  // compulsory: every input once, every result once
  // The longer of FLOPs at the data sheet's peak and bytes at the raw memory bandwidth: nothing is faster.
  Time roofline;
  bool is_roofline_compute = false;
  std::optional<DetailedKernel> detailed;  // where the detailed model answered
  std::vector<Ideal> ideals;               // what was free
  Time real;                               // the duration with nothing free

  FlopRate achieved() const { return flops / cost.duration; }
  Bandwidth achieved_bandwidth() const { return bytes / cost.duration; }        // of what must be moved
  Bandwidth moved_bandwidth() const { return cost.hbm_bytes / cost.duration; }  // of what is
  double times_roofline() const { return cost.duration.seconds() / roofline.seconds(); }
  Energy energy() const { return detailed ? detailed->energy : cost.power * (cost.duration - launch); }
  double gain() const { return real.seconds() / cost.duration.seconds(); }  // by what is free
};

class DetailedCache;

struct KernelQuestion {
  LaunchMode launch = LaunchMode::graph;
  KernelModel model = KernelModel::analytic;
  std::vector<Ideal> ideals = {};
  DetailedOptions detailed = {};
  DetailedCache* cache = nullptr;  // of the detailed model
};

// How a serving engine multiplies in a precision: where the activations are scaled by kernels of its own, and with
// block scales by DeepGEMM, which promotes its sums to FP32 every 128 products.
struct ServingProduct {
  bool is_serving = false;
  bool has_split_accumulator = false;
};
constexpr ServingProduct serving_product(const Precision& precision) {
  return {precision.is_quantised(), precision.name == "fp8_block"};
}

// Throws UserError for sizes that make no sense and for types that the device lacks.
// The roofline is the device's own, whatever is free.
KernelPrediction predict_kernel(const Kernel& kernel, const DeviceSpec& device, const KernelQuestion& question = {});

// A kernel from names: `sizes` by the family's parameters (what is left out takes its usual value), `flags` by the
// family's flags. Throws UserError for a name that the family does not have, and for a size that must be said.
Kernel kernel_from_names(const KernelFamily& family, const std::map<std::string, std::int64_t, std::less<>>& sizes,
                         const std::vector<std::string>& flags);

}  // namespace warploom
