// SPDX-License-Identifier: Apache-2.0
// Rules of capacity.
#include "hw_models/kernels/l2_residency.hpp"

#include <algorithm>
#include <cmath>

namespace warploom {

double share_found_in_l2(Bytes bytes, const DeviceSpec& device) {
  // From all to nothing over little more: an LRU-like cache thrashes at once.
  const StreamingConstants& constants = device.architecture.streaming;
  const double filled =
      static_cast<double>(bytes.count()) / (static_cast<double>(device.l2.capacity.count()) * constants.l2_found);
  return std::clamp(1 - (filled - 1) / constants.l2_fade, 0.0, 1.0);
}

double share_found_after_search(Bytes bytes, const DeviceSpec& device) {
  const StreamingConstants& constants = device.architecture.streaming;
  const double room = static_cast<double>(device.l2.capacity.count()) * constants.l2_found;
  return std::min(1.0, std::pow(room / static_cast<double>(bytes.count()), constants.after_search));
}

double share_lost_between_passes(double held, const DeviceSpec& device) {
  const StreamingConstants& constants = device.architecture.streaming;
  const double filled = held / static_cast<double>(device.l2.capacity.count());
  return std::clamp((filled - constants.l2_rows) / (constants.l2_rows_none - constants.l2_rows), 0.0, 1.0);
}

}  // namespace warploom
