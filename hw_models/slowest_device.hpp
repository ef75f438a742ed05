// SPDX-License-Identifier: Apache-2.0
// The slowest of n devices of one kind: chips differ in the energy that an operation takes, so at the power limit in
// clock.
//
// Where n equal members synchronise all the time, the slowest sets the pace of all. Equation: the energy of an
// operation is normal over chips with relative deviation `energy.spread`; the largest of n is the (n - 3/8) / (n + 1/4)
// quantile (Blom 1958). Kernels that stay below the power limit do not differ. Assumes that no device is broken (a
// straggler is an own entry) and that which device is slow is not known, so that all are played at the pace of the
// slowest. Source of the spread: arXiv:2208.11035 (SC22) finds 8% between the whiskers of a cluster's GPUs in run time
// at equal SKU; whiskers are 5.4 deviations apart, so 1.5% of clock, and at the power limit clock^3 x energy is
// constant: 4.4% of energy.
#pragma once

#include <cstdint>

#include "hw_models/device.hpp"

namespace warploom {

DeviceSpec slowest_of(const DeviceSpec& device, std::int64_t devices);

}  // namespace warploom
