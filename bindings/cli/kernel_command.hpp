// SPDX-License-Identifier: Apache-2.0
// What `warploom kernel FAMILY` and `warploom kernel program` share.
#pragma once

#include <string>
#include <vector>

#include "bindings/cli/command.hpp"
#include "workloads/device_lookup.hpp"

namespace warploom {

// The device that `--device` names, with `--set`. Throws UserError.
FoundDevice kernel_device(const std::string& named, const std::vector<std::string>& overrides);

// `warploom kernel program FILE`.
void add_kernel_program(CLI::App& kernels, Action& action);

}  // namespace warploom
