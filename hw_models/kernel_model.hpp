// SPDX-License-Identifier: Apache-2.0
// Which timer answers for a kernel.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "sim/core/config.hpp"

namespace warploom {

enum class KernelModel : std::uint8_t {
  analytic,  // equations with fitted constants (hw_models/analytic_timer.hpp)
  detailed,  // programs played on the inside of the device (hw_models/detailed_timer.hpp)
};

template <>
struct EnumNames<KernelModel> {
  static constexpr std::pair<KernelModel, std::string_view> values[] = {{KernelModel::analytic, "analytic"},
                                                                        {KernelModel::detailed, "detailed"}};
};

}  // namespace warploom
