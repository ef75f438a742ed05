// SPDX-License-Identifier: Apache-2.0
// The inside of a kernel as JSON, with Nsight Compute's names.
#pragma once

#include <nlohmann/json.hpp>

#include "hw_models/detailed_timer.hpp"

namespace warploom {

nlohmann::ordered_json detailed_json(const DetailedKernel& played, const DeviceSpec& device);

}  // namespace warploom
