// SPDX-License-Identifier: Apache-2.0
// A file that is there with all of its text or not at all: written beside its place and renamed.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warploom {

// Throws UserError for a place that takes no file; then what stood there still stands, and nothing is left beside it.
void write_whole_file(const std::string& path, std::string_view text);

// Several files: all are written before the first takes its place.
void write_whole_files(const std::vector<std::pair<std::string, std::string>>& path_and_text);

// Throws UserError for what is no regular file (a folder, a pipe) and for more than 256 MiB.
std::string read_whole_file(const std::string& path);

}  // namespace warploom
