// SPDX-License-Identifier: Apache-2.0
// Internal to sim/core: an override from outside, `a.b[2].c=value`, and following a tree with several of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/config_node.hpp"

namespace warploom::detail {

struct Step {
  std::string key;  // used when there is no index
  std::optional<std::size_t> index;
};

struct Override {
  std::string text;  // as written, for messages
  std::vector<Step> steps;
  RawNode value;

  const std::string& last_key() const { return steps.back().key; }
};

// Throws ConfigError when it is not `key.path=value`.
Override parse_override(const std::string& text, Budget& budget);

// An override and how many of its steps lead to the present node.
struct Pending {
  const Override* what = nullptr;
  std::size_t at = 0;

  const Step& step() const { return what->steps[at]; }
  bool is_last() const { return at + 1 == what->steps.size(); }
};

// Applies to a map or list (whose `use` is already followed) the overrides that end here, and makes the maps that the
// others need on their way. Leaves in `pending` the ones that go on; for_child() picks those of one child.
void apply_overrides(RawNode& node, const std::string& path, std::vector<Pending>& pending, Diagnostics& diagnostics);

std::vector<Pending> for_child(const std::vector<Pending>& pending, std::string_view key);
std::vector<Pending> for_child(const std::vector<Pending>& pending, std::size_t index);

}  // namespace warploom::detail
