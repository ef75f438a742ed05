// SPDX-License-Identifier: Apache-2.0
// Measured tables as the command line names them.
#pragma once

#include <string>

namespace warploom {

// As given where it exists, else in the folder that WARPLOOM_DATA names or in one of its subfolders. Throws UserError
// that says where it was looked for, and for a name that several subfolders have.
std::string table_path(const std::string& given);

// Throws UserError where what an option names is the table that is read.
void refuse_overwriting(const std::string& output, const std::string& option, const std::string& input);

// "gemm, attention, ...": the kinds that are known.
std::string known_table_kinds();

}  // namespace warploom
