// SPDX-License-Identifier: Apache-2.0
// What the L2 still holds of streams: rules of capacity that both models share.
#pragma once

#include <cstdint>

#include "hw_models/device.hpp"
#include "sim/core/units.hpp"

namespace warploom {

// Of all streaming families' kernels: their inputs were written just before, and what fits the L2 is still there. Set
// by who knows the kernel before; no option of a family.
inline constexpr std::uint32_t warm_stream_flag = 1U << 31;

// Share of a stream over `bytes` that the L2 still holds from the run before.
double share_found_in_l2(Bytes bytes, const DeviceSpec& device);

// The same right behind a search whose last blocks' slices are spread over `bytes`: falls with a power of the size.
double share_found_after_search(Bytes bytes, const DeviceSpec& device);

// Of rows that blocks go over several times: the share that the L2 no longer holds, all of them reading and writing
// `held` bytes at a time.
double share_lost_between_passes(double held, const DeviceSpec& device);

}  // namespace warploom
