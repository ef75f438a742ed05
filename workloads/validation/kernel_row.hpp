// SPDX-License-Identifier: Apache-2.0
// What table kinds of single kernels share: a kernel's time as a benchmark sees it, and what the baseline is told of
// it.
#pragma once

#include <string>

#include "sim/work/kernel.hpp"
#include "workloads/validation/table_kind.hpp"

namespace warploom {

struct DeviceSpec;
struct FoundDevice;
enum class LaunchMode : std::uint8_t;

// Microseconds of one call in a train of its like, the gap before it included. Throws UserError for sizes out of range
// and for a data type that the device lacks.
double benchmark_us(const Kernel& kernel, const FoundDevice& device, LaunchMode launch);

// Microseconds of one call without the gap before it, as a profiler sees it. `spec`: the device's, or one made of it.
// `launch`: between the kernels of an operator that has several.
double alone_us(const Kernel& kernel, const FoundDevice& device, const DeviceSpec& spec, LaunchMode launch);

// `flops` and `bytes` of the kernel, for the baseline; adds when called again (two kernels in one number).
void add_features(const Kernel& kernel, BaselineFeatures& features);

// rows x width; throws UserError where 64 bits do not hold it.
std::int64_t elements_of(std::int64_t rows, std::int64_t width);

// The data type that a table calls `text`; throws UserError.
DataType data_type_of(std::string_view text);

// In this order: `llm` (n, k >= 1,024 and m >= 16), `skinny` (m < 16), `tiny` (measured under 5 us), `other`.
std::string gemm_size_class(std::int64_t m, std::int64_t n, std::int64_t k, double measured_us);

}  // namespace warploom
