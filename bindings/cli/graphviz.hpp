// SPDX-License-Identifier: Apache-2.0
// Graphviz, where it is installed: turns a picture in its language into an SVG file.
#pragma once

#include <string>

namespace warploom {

// Runs `program` (dot or sfdp) of the PATH. Throws UserError where it is missing or fails.
void render_svg(const std::string& program, const std::string& dot, const std::string& path);

}  // namespace warploom
