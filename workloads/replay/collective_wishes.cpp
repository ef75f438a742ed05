// SPDX-License-Identifier: Apache-2.0
// Plans of every kind and group, held against the edits.
#include "workloads/replay/collective_wishes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "network/collectives/choice.hpp"
#include "network/collectives/wishes.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

// Whether a plan is as an edit wants it.
bool is_as_wanted(const CollectiveEdit& edit, CollectiveKind kind, const Plan& plan) {
  return Wishes(edit.algorithm, algorithm_names()).allows(kind, plan.algorithm) &&
         Wishes(edit.protocol, protocol_names()).allows(kind, plan.protocol);
}

}  // namespace

void require_wishes(const WhatIf& what_if, const CollectivePlanner& planner, Retimed& retimed) {
  const auto& edits = what_if.collective;
  if (edits.empty()) return;
  std::vector<std::set<std::string>> refused(edits.size());  // by edit: kinds that are done otherwise
  std::vector<bool> holds(edits.size(), false);              // for any
  std::set<std::pair<CollectiveKind, GroupId>> seen;
  for (const auto& planned : retimed.retiming.collectives) {
    if (!planned || !seen.emplace(planned->call.kind, planned->call.group).second) continue;
    const std::string kind(name(planned->call.kind));
    const Plan plan = planner.plan(planned->call, retimed.retiming.groups[planned->call.group]);
    const bool has_own = std::ranges::any_of(edits, [&](const CollectiveEdit& edit) { return edit.kind == kind; });
    for (std::size_t i = 0; i < edits.size(); ++i) {
      if (edits[i].kind != (has_own ? kind : std::string())) continue;
      if (is_as_wanted(edits[i], planned->call.kind, plan)) {
        holds[i] = true;
      } else {
        refused[i].insert(kind);
      }
    }
  }
  Diagnostics diagnostics;
  for (std::size_t i = 0; i < edits.size(); ++i) {
    if (refused[i].empty()) continue;
    const std::string path = fmt::format("collective[{}]", i);
    const std::string kinds = fmt::format("{}", fmt::join(refused[i], ", "));
    if (holds[i] && edits[i].kind.empty()) {
      retimed.notes.push_back(fmt::format("`{}` cannot be had for {}: the library's own choice", path, kinds));
    } else {
      diagnostics.error(place_of(what_if.written, path), path,
                        fmt::format("{} cannot be done so by the ranks of this run", kinds),
                        fmt::format("`warploom collective {} --cluster CLUSTER --gpus N` shows what can be done",
                                    *refused[i].begin()));
    }
  }
  diagnostics.throw_if_any();
}

}  // namespace warploom
