// SPDX-License-Identifier: Apache-2.0
// Reads lists of wishes.
#include "network/collectives/wishes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

// Small letters without `_` and blanks.
std::string plain(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (c != '_' && c != ' ' && c != '-') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

std::vector<std::string_view> parts(std::string_view text, char at) {
  std::vector<std::string_view> found;
  while (true) {
    const auto end = std::min(text.find(at), text.size());
    found.push_back(text.substr(0, end));
    if (end == text.size()) return found;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string> call_names() {
  constexpr std::array kinds{CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                             CollectiveKind::broadcast,  CollectiveKind::all_to_all, CollectiveKind::send_recv,
                             CollectiveKind::reduce,     CollectiveKind::gather,     CollectiveKind::scatter};
  std::vector<std::string> names;
  for (const auto kind : kinds) names.emplace_back(name(kind));
  return names;
}

// The known name that is meant. Throws for any other.
std::string meant(std::string_view text, const std::vector<std::string>& known, std::string_view what) {
  for (const auto& name : known) {
    if (plain(name) == plain(text)) return plain(name);
  }
  throw UserError(fmt::format("there is no {} {}", what, quoted(std::string(text))),
                  fmt::format("one of {}", join(known)));
}

}  // namespace

Wishes::Wishes(std::string_view text, const std::vector<std::string>& known) {
  if (text.empty() || text == "auto") return;
  for (std::string_view part : parts(text, ';')) {
    if (plain(part).empty()) continue;
    List list;
    if (const auto colon = part.find(':'); colon != std::string_view::npos) {
      list.call = meant(part.substr(0, colon), call_names(), "call");
      part.remove_prefix(colon + 1);
    }
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    if (!part.empty() && part.front() == '^') {
      list.leaves_out = true;
      part.remove_prefix(1);
    }
    for (const std::string_view wanted : parts(part, ',')) list.names.push_back(meant(wanted, known, "choice"));
    lists_.push_back(std::move(list));
  }
}

const Wishes::List* Wishes::list_of(CollectiveKind kind) const {
  const List* found = nullptr;
  for (const List& list : lists_) {
    // The last of a kind counts; a call's own before the general.
    if (list.call == plain(name(kind)) || (list.call.empty() && (found == nullptr || found->call.empty())))
      found = &list;
  }
  return found;
}

bool Wishes::has(const List& list, std::string_view name) {
  return std::ranges::find(list.names, plain(name)) != list.names.end();
}

bool Wishes::allows(CollectiveKind kind, std::string_view name) const {
  const List* list = list_of(kind);
  return list == nullptr || has(*list, name) != list->leaves_out;
}

bool Wishes::asks_for(CollectiveKind kind, std::string_view name) const {
  const List* list = list_of(kind);
  return list != nullptr && !list->leaves_out && has(*list, name);
}

}  // namespace warploom
