// SPDX-License-Identifier: Apache-2.0
// What a device operation is for, by what the file recorded of it and by its name.
#pragma once

#include <array>
#include <string_view>

#include "traces/capture.hpp"

namespace warploom {

inline constexpr std::array<std::string_view, 7> op_class_names = {"other",        "gemm",          "attention", "norm",
                                                                   "element_wise", "communication", "copy"};

// Communication by name: NCCL, RCCL, oneCCL, HCCL, DeepEP, NVSHMEM and the engines' own all-reduces.
bool is_communication_name(std::string_view kernel);
// Of a kernel whose name is all that is known.
OpClass class_by_name(std::string_view kernel);
// Communication kernels that the file tells no collective of take their operator's. The capture is linked.
void take_collectives_of_operators(Capture& capture);
// Fills `op_class` of every device operation.
void classify(Capture& capture);

}  // namespace warploom
