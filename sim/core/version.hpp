// SPDX-License-Identifier: Apache-2.0
// What this build is called and where its library of configurations lies.
#pragma once

#include <string>
#include <vector>

namespace warploom {

std::string version();

// The environment variable WARPLOOM_CONFIGS (folders separated by colons); without it those installed beside this
// program, else the source tree's configs/.
std::vector<std::string> library_roots();

}  // namespace warploom
