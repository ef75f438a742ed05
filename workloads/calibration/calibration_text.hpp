// SPDX-License-Identifier: Apache-2.0
// A calibration for people: constants before and after, errors in sample and left out.
#pragma once

#include <string>
#include <vector>

#include "workloads/calibration/calibration.hpp"

namespace warploom {

std::string to_text(const Calibration& calibration);
// Constants that may be fitted, with their values, ranges and users.
std::string to_text(const std::vector<FittedConstant>& constants);
std::string to_json(const std::vector<FittedConstant>& constants);

}  // namespace warploom
