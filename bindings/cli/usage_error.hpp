// SPDX-License-Identifier: Apache-2.0
// Mistakes in the command line itself, worded like all others: what is wrong and what was probably meant.
#pragma once

#include <CLI/CLI.hpp>

#include "sim/core/errors.hpp"

namespace warploom {

// For an app whose parse() has just thrown `error`.
UserError usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace warploom
