// SPDX-License-Identifier: Apache-2.0
// Measured tables as the command line names them.
#pragma once

#include <string>

namespace warploom {

// As given where it exists, else in the folder that WARPLOOM_DATA names.
std::string table_path(const std::string& given);

// "gemm, attention, ...": the kinds that are known.
std::string known_table_kinds();

}  // namespace warploom
