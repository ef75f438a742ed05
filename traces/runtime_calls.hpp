// SPDX-License-Identifier: Apache-2.0
// What a call of a device's runtime or driver does, by its name.
#pragma once

#include <string_view>

#include "traces/capture.hpp"

namespace warploom {

// CUDA runtime and driver, HIP, MUSA, and the enqueue functions of SYCL's and Level Zero's adapters. Suffixes of an
// interface's version (`_v7000`, `_ptsz`, `_v2`) do not matter. Which call launched what is joined by correlation,
// never by this.
CallKind call_kind(std::string_view name);

}  // namespace warploom
