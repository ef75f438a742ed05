// SPDX-License-Identifier: Apache-2.0
// What the comments of a configuration say about its values: where a number comes from, and how far to trust it.
//
// A library file ends its lines in comments such as `# [data sheet] p. 18` or `# [fit] 2026-11, two sets`. A tag that
// is not itself a kind of source is explained at the top of the file: `# [FA3] arXiv:2407.08608, figure 5`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/config_value.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

// In order of trust.
enum class SourceKind : std::uint8_t { measured, data_sheet, announced, derived, guessed };
std::string_view name(SourceKind kind);  // "data sheet"

// The kind that a comment's tags or words name; nothing where it names none.
std::optional<SourceKind> source_kind(std::string_view comment);

// Where the comment of a line starts: at a `#` that begins a word and stands in no quotes; npos where there is none.
std::size_t comment_start(std::string_view line);

struct ValueNote {
  std::string path;  // `memory.bandwidth`
  std::string value;
  Origin origin;
  std::string comment;  // of its line, or of the map or list that it stands in; tags explained; may be empty
  std::optional<SourceKind> kind;
};

// Every scalar of a resolved configuration, in order. Files that are gone give empty comments.
std::vector<ValueNote> value_notes(const ConfigValue& resolved);

}  // namespace warploom
