// SPDX-License-Identifier: Apache-2.0
// Reading of what-ifs, and what they say of the hardware.
#include "workloads/replay/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "network/collective_estimate.hpp"
#include "network/collectives/wishes.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

// Wishes of one call; `;` would begin those of another.
void check_wishes(const std::string& text, const std::vector<std::string>& known, std::string_view key,
                  const ConfigValue& at, Diagnostics& diagnostics) {
  const auto value = at.find(key);
  if (text.empty() || !value) return;
  std::string problem;
  try {
    if (text.find_first_of(":;") == std::string::npos) return (void)Wishes(text, known);
    problem = fmt::format("expected names such as `{}`, got {}", known.front(), warploom::quoted(text));
  } catch (const UserError& error) {
    problem = error.message();
  }
  diagnostics.error(
      value->origin(), value->path(), problem,
      suggestion(text, known, fmt::format("one of {}, several with commas, `^` before what is left out", join(known))));
}

// `all_reduce:tree;all_gather:ring`, as the library's own keys take it.
std::string wishes(const std::vector<CollectiveEdit>& edits, std::string CollectiveEdit::* wanted) {
  std::vector<std::string> lists;
  for (const auto& edit : edits) {
    if ((edit.*wanted).empty()) continue;
    lists.push_back(edit.kind.empty() ? edit.*wanted : edit.kind + ":" + edit.*wanted);
  }
  return join(lists, ";");
}

constexpr std::string_view algorithm_key = "library.algorithm";
constexpr std::string_view protocol_key = "library.protocol";
constexpr std::string_view clock_key = "device.clock.locked";

// Which part of the what-if led to a mistake of the cluster at `path`: by the keys that both name.
std::string part_of(const std::string& path, const WhatIf& what_if) {
  const auto is_about = [&](std::string_view key) {
    const std::string_view shorter = key.size() < path.size() ? key : std::string_view(path);
    return !path.empty() && path.starts_with(shorter) && key.starts_with(shorter);
  };
  for (std::size_t i = 0; i < what_if.set.size(); ++i) {
    if (is_about(trim(std::string_view(what_if.set[i]).substr(0, what_if.set[i].find('='))))) {
      return fmt::format("set[{}]", i);
    }
  }
  if (what_if.clock && is_about(clock_key)) return "clock";
  if (!what_if.collective.empty() && (is_about(algorithm_key) || is_about(protocol_key))) return "collective[0]";
  return {};
}

}  // namespace

void CollectiveEdit::check(const CollectiveEdit& edit, const ConfigValue& at, Diagnostics& diagnostics) {
  constexpr std::array kinds = {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                                CollectiveKind::broadcast,  CollectiveKind::all_to_all, CollectiveKind::send_recv,
                                CollectiveKind::reduce,     CollectiveKind::gather,     CollectiveKind::scatter};
  std::vector<std::string> names;
  for (const auto kind : kinds) names.emplace_back(name(kind));
  const auto kind = at.find("kind");
  if (kind && !edit.kind.empty() && std::find(names.begin(), names.end(), edit.kind) == names.end()) {
    diagnostics.error(kind->origin(), kind->path(),
                      fmt::format("there is no collective {}", warploom::quoted(edit.kind)),
                      suggestion(edit.kind, names, fmt::format("one of {}", join(names))));
  }
  if (edit.algorithm.empty() && edit.protocol.empty()) {
    diagnostics.error(at.origin(), at.path(), "expected `algorithm`, `protocol` or both",
                      "such as `{kind: all_reduce, algorithm: tree}`");
  }
  check_wishes(edit.algorithm, algorithm_names(), "algorithm", at, diagnostics);
  check_wishes(edit.protocol, protocol_names(), "protocol", at, diagnostics);
}

WhatIf read_what_if(const std::string& path) {
  const ConfigValue config = load_config(path);
  if (config.is_null()) return {};
  Diagnostics diagnostics;
  auto what_if = read<WhatIf>(config, diagnostics);
  what_if.written = config;
  for (std::size_t i = 0; i < what_if.set.size(); ++i) {
    if (what_if.set[i].find('=') != std::string::npos) continue;
    const auto list = config.find("set");
    const bool is_there = list && i < list->items().size();
    diagnostics.error(is_there ? list->items()[i].origin() : config.origin(), fmt::format("set[{}]", i),
                      fmt::format("expected `key=value`, got {}", warploom::quoted(what_if.set[i])),
                      "such as `network.nic.rate=400 Gbps`; `warploom explain CLUSTER` shows the keys");
  }
  if (!diagnostics.has_errors()) report_unread(config, diagnostics);
  diagnostics.throw_if_any();
  return what_if;
}

std::string what_if_schema() { return json_schema<WhatIf>("Warploom what-if"); }

std::vector<std::string> overrides_of(const WhatIf& what_if) {
  std::vector<std::string> overrides = what_if.set;
  if (what_if.clock) overrides.push_back(fmt::format("{}={}", clock_key, exact_string(*what_if.clock)));
  const std::string algorithms = wishes(what_if.collective, &CollectiveEdit::algorithm);
  const std::string protocols = wishes(what_if.collective, &CollectiveEdit::protocol);
  if (!algorithms.empty()) overrides.push_back(fmt::format("{}=\"{}\"", algorithm_key, algorithms));
  if (!protocols.empty()) overrides.push_back(fmt::format("{}=\"{}\"", protocol_key, protocols));
  return overrides;
}

ConfigError placed(const ConfigError& error, const WhatIf& what_if) {
  std::vector<Diagnostic> diagnostics = error.diagnostics();
  for (auto& diagnostic : diagnostics) {
    if (!diagnostic.origin.is_command_line()) continue;
    const std::string part = part_of(diagnostic.path, what_if);
    if (part.empty()) continue;
    if (!diagnostic.path.empty()) diagnostic.message = fmt::format("`{}`: {}", diagnostic.path, diagnostic.message);
    diagnostic.path = part;
    diagnostic.origin = place_of(what_if.written, part);
  }
  return ConfigError(std::move(diagnostics));
}

Origin place_of(const ConfigValue& written, std::string_view path) {
  ConfigValue at = written;
  while (!path.empty()) {
    const auto end = std::min(path.find_first_of(".[]"), path.size());
    const std::string_view step = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (step.empty()) continue;
    if (at.is_list()) {
      const auto index = static_cast<std::size_t>(std::stoull(std::string(step)));
      if (index >= at.items().size()) break;
      at = at.items()[index];
    } else {
      const auto next = at.find(step);
      if (!next) break;
      at = *next;
    }
  }
  return at.origin();
}

}  // namespace warploom
