// SPDX-License-Identifier: Apache-2.0
// Elements of a network by name: `leaf 3`, `leaf 0-7`, `leaf *` or `leaf`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "network/graph/graph.hpp"

namespace warploom {

struct NamedGroup {
  std::string name;
  std::int64_t count = 0;
};

// Vertices `first` to `last` of a group, by their number in it.
struct Selection {
  std::size_t group = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t count() const { return last - first + 1; }
};

// Throws UserError that says what there is.
Selection select(std::span<const NamedGroup> groups, const std::string& text);

// Of a written-out network: the ids, [first, last].
std::pair<VertexId, VertexId> select(const NetworkGraph& graph, const std::string& text);

// `3` or `3-7`.
std::optional<std::pair<std::int64_t, std::int64_t>> number_range(std::string_view text);

}  // namespace warploom
