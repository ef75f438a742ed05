// SPDX-License-Identifier: Apache-2.0
// The analytic kernel timer: how long a kernel takes alone on a device, from its family's cost model.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "hw_models/device.hpp"
#include "sim/play/ports.hpp"
#include "sim/work/kernel.hpp"

namespace warploom {

// What stands between two dependent kernels: a replayed graph or launches into a stream. Host time is the program's.
enum class LaunchMode : std::uint8_t { graph, stream };

template <>
struct EnumNames<LaunchMode> {
  static constexpr std::pair<LaunchMode, std::string_view> values[] = {{LaunchMode::graph, "graph"},
                                                                       {LaunchMode::stream, "stream"}};
};

inline Time launch_gap(const DeviceSpec& device, LaunchMode launch) {
  return launch == LaunchMode::graph ? device.launch.graph : device.launch.stream;
}

class AnalyticTimer final : public KernelTimer {
 public:
  AnalyticTimer(DeviceSpec device, LaunchMode launch) : device_(std::move(device)), launch_(launch) {}

  KernelCost cost(const Kernel& kernel) const override;

  const DeviceSpec& device() const { return device_; }

 private:
  DeviceSpec device_;
  LaunchMode launch_;
};

// `mfu_type`: the data type whose dense peak MFU is counted against.
DeviceClass make_device_class(const DeviceSpec& device, LaunchMode launch = LaunchMode::stream,
                              DataType mfu_type = DataType::bf16);

}  // namespace warploom
