// SPDX-License-Identifier: Apache-2.0
// Versions of a library, and what its parameters must satisfy together.
#include "network/collectives/library.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "network/collectives/choice.hpp"
#include "network/collectives/families.hpp"
#include "network/collectives/wishes.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

// The number before the next dot; what is no digit counts for nothing.
int take_number(std::string_view& text) {
  const auto end = std::min(text.find('.'), text.size());
  int number = 0;
  for (const char c : text.substr(0, std::min<std::size_t>(end, 8))) {
    if (c >= '0' && c <= '9') number = number * 10 + (c - '0');
  }
  text.remove_prefix(std::min(end + 1, text.size()));
  return number;
}

bool is_version(std::string_view text) {
  return !text.empty() && text.front() != '.' && text.back() != '.' &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

}  // namespace

bool is_version_at_least(std::string_view version, std::string_view least) {
  while (!version.empty() || !least.empty()) {
    const int a = take_number(version);
    const int b = take_number(least);
    if (a != b) return a > b;
  }
  return true;
}

void TunerSpec::check(const TunerSpec& spec, const ConfigValue& at, Diagnostics& diagnostics) {
  const auto expect_three = [&](const char* key, const std::vector<Bandwidth>& list) {
    if (list.empty() || list.size() == 3) return;
    diagnostics.error(at.origin(), at.path_of(key),
                      fmt::format("expected 3 rates (one node, two nodes, more), got {}", list.size()));
  };
  expect_three("ll", spec.ll);
  expect_three("ring_ll128_channel", spec.ring_ll128_channel);
  expect_three("tree_ll128_channel", spec.tree_ll128_channel);
  expect_three("tree_channel", spec.tree_channel);
  expect_three("nvls_tree_channel", spec.nvls_tree_channel);
}

void LibrarySpec::check(const LibrarySpec& spec, const ConfigValue& at, Diagnostics& diagnostics) {
  const auto expect_name = [&](const char* key, const std::string& got, const std::vector<std::string>& known) {
    if (got == "auto" || std::ranges::find(known, got) != known.end()) return;
    std::vector<std::string> all = known;
    all.insert(all.begin(), "auto");
    diagnostics.error(at.origin(), at.path_of(key), fmt::format("expected one of {}, got {}", join(all), quoted(got)),
                      suggestion(got, all));
  };
  const auto expect_wishes = [&](const char* key, const std::string& got, const std::vector<std::string>& known) {
    if (got.find_first_of(",;:^") == std::string::npos) return expect_name(key, got, known);
    try {
      Wishes(got, known);
    } catch (const UserError& error) {
      diagnostics.error(at.origin(), at.path_of(key), error.message(), error.hint());
    }
  };
  if (!spec.algorithm.ends_with(".xml")) expect_wishes("algorithm", spec.algorithm, algorithm_names());
  expect_wishes("protocol", spec.protocol, protocol_names());
  const auto families = family_registry().names();
  if (std::ranges::find(families, spec.family) == families.end()) {
    diagnostics.error(at.origin(), at.path_of("family"),
                      fmt::format("expected one of {}, got {}", join(families), quoted(spec.family)),
                      suggestion(spec.family, families));
  }
  const auto expect_version = [&](const char* key, const std::string& got) {
    if (got.empty() || is_version(got)) return;
    diagnostics.error(at.origin(), at.path_of(key),
                      fmt::format("expected a version such as `2.27.3`, got {}", quoted(got)));
  };
  expect_version("version", spec.version);
  for (const auto& change : spec.changes) expect_version("changes", change.since);
}

LibrarySpec LibrarySpec::at_version() const {
  LibrarySpec made = *this;
  if (version.empty()) return made;
  for (const auto& change : changes) {
    if (!is_version_at_least(version, change.since)) continue;
    if (change.ll128) made.ll128.enabled = *change.ll128;
    if (change.peer_ll_bytes) made.peer.ll_bytes = *change.peer_ll_bytes;
    if (change.peer_channel_rate) made.peer.simple.channel_rate = *change.peer_channel_rate;
  }
  return made;
}

}  // namespace warploom
