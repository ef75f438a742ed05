// SPDX-License-Identifier: Apache-2.0
// Reads a Hugging Face config.json as published. Lenient with keys that cost nothing (they are listed), strict with
// keys that change the computation in a way that is not modelled.
#pragma once

#include <string>
#include <string_view>

#include "workloads/models/model.hpp"

namespace warploom {

// `path` is the file or a folder with a config.json. Throws UserError that names file and key.
Model read_hugging_face(const std::string& path);

// The same for text in memory; `file` stands for it in messages.
Model parse_hugging_face(std::string_view text, const std::string& file);

}  // namespace warploom
