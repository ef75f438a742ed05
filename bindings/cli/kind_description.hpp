// SPDX-License-Identifier: Apache-2.0
// What a kind of network takes, and a file to copy: for `warploom describe torus`.
#pragma once

#include <optional>
#include <string>

#include "bindings/report/description.hpp"
#include "sim/core/library.hpp"

namespace warploom {

// Its meaning, its keys with type, default and range, and the first example or cluster of the library that uses it.
std::optional<Description> describe_topology(const std::string& name, const Library& library);

}  // namespace warploom
