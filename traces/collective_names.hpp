// SPDX-License-Identifier: Apache-2.0
// Collectives and element types by the names that profilers write.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "sim/work/call.hpp"
#include "sim/work/data_type.hpp"

namespace warploom {

// CollectiveRecord::in_elements, out_elements: what the file gives is no whole number, or more than 64 bits hold; is
// -1, which stands for what is not recorded.
inline constexpr std::int64_t no_such_count = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t count_of_minus_one = no_such_count + 1;

// By the names of PyTorch's records ("_allgather_base", "all_to_allv"), of kernels ("ncclDevKernel_ReduceScatter_...")
// and of HCCL ("hcom_allReduce__586_0_1"); nothing for barriers, waits and what several things may be (SendRecv
// kernels).
std::optional<CollectiveKind> captured_kind(std::string_view name);

// "c10::BFloat16", "float", "Half", "FP32", "DT_BF16", "INT8", ...; nothing for scalars and what is not modelled.
std::optional<DataType> captured_type(std::string_view word);
// Bytes of an element, of more types than there are models for ("long int": 8); nothing for what is unknown.
std::optional<std::int64_t> element_bytes(std::string_view word);

}  // namespace warploom
