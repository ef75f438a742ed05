// SPDX-License-Identifier: Apache-2.0
// What a process group is for, by its description.
#pragma once

#include <string_view>

#include "sim/work/cause.hpp"

namespace warploom {

// Exposed communication by the group's description: "TENSOR_MODEL_PARALLEL_GROUP", "dp", "mesh_tp"...
Cause communication_cause(std::string_view group_description);

}  // namespace warploom
