// SPDX-License-Identifier: Apache-2.0
// Names to numbers.
#include "network/graph/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return {};
  return value;
}

}  // namespace

std::optional<std::pair<std::int64_t, std::int64_t>> number_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = number_of(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number_of(text.substr(dash + 1));
  if (!first || !last || *last < *first) return {};
  return std::pair{*first, *last};
}

Selection select(std::span<const NamedGroup> groups, const std::string& text) {
  Selection made;
  const auto named = [&](std::string_view name) {
    const auto found = std::ranges::find(groups, name, &NamedGroup::name);
    made.group = static_cast<std::size_t>(found - groups.begin());
    return found != groups.end();
  };
  std::string_view range = "*";
  if (!named(text)) {
    const std::size_t space = text.rfind(' ');
    if (space == std::string::npos || !named(std::string_view(text).substr(0, space))) {
      std::vector<std::string> names;
      for (const auto& group : groups) names.push_back(group.name);
      throw UserError(fmt::format("nothing is called {}", warploom::quoted(text)),
                      names.empty() ? "" : "there are " + join(names));
    }
    range = std::string_view(text).substr(space + 1);
  }
  made.last = groups[made.group].count - 1;
  if (range == "*") return made;
  const auto numbers = number_range(range);
  if (!numbers || numbers->second > made.last) {
    throw UserError(fmt::format("nothing is called {}", warploom::quoted(text)),
                    fmt::format("there are `{0} 0` to `{0} {1}`; several are `{0} 0-{1}` or `{0} *`",
                                groups[made.group].name, made.last));
  }
  std::tie(made.first, made.last) = *numbers;
  return made;
}

std::pair<VertexId, VertexId> select(const NetworkGraph& graph, const std::string& text) {
  std::vector<NamedGroup> groups;
  std::vector<VertexId> first;
  for (const VertexGroup& group : graph.groups()) {
    if (group.count == 0) continue;
    groups.push_back({group.name, group.count});
    first.push_back(group.first);
  }
  const Selection some = select(groups, text);
  return {first[some.group] + static_cast<VertexId>(some.first), first[some.group] + static_cast<VertexId>(some.last)};
}

}  // namespace warploom
