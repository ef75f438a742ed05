// SPDX-License-Identifier: Apache-2.0
// The kinds of configuration file and their JSON Schemas.
#pragma once

#include <string>
#include <vector>

namespace warploom {

std::vector<std::string> schema_names();
// Of one of these names.
std::string schema(const std::string& name);

}  // namespace warploom
