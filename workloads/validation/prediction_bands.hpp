// SPDX-License-Identifier: Apache-2.0
// The error band of a single prediction: which class of measured rows it belongs to, and how far those were off.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/core/units.hpp"
#include "sim/work/call.hpp"
#include "sim/work/kernel.hpp"
#include "workloads/validation/error_bands.hpp"

namespace warploom {

// `precision`: as the tables call the data type (`bf16`, `fp8_block`). None for families that no table measures, and
// for classes without rows. A product of 8 bits or fewer, or attention without `serving`, was measured together with
// more: its band is borrowed.
std::optional<ErrorBand> kernel_band(const Kernel& kernel, const BandDevice& device, std::string_view precision,
                                     Time predicted, const ErrorBands& bands);

// Of a collective over `ranks` devices, all in one node or not. `device`: of the records.
std::optional<ErrorBand> collective_band(const Call& call, std::string_view device, std::int64_t ranks, bool in_a_node,
                                         const ErrorBands& bands);

// "gemm bf16 llm, h100_sxm, 750 rows": what a band was taken from.
std::string description(const ErrorBand& band);

}  // namespace warploom
