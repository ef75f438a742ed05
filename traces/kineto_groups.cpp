// SPDX-License-Identifier: Apache-2.0
// Groups by all that is said of them; lists cut short are completed at the end.
#include "traces/kineto_groups.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <tuple>
#include <utility>

#include "traces/collective_names.hpp"

namespace warploom {

namespace {

constexpr std::int64_t largest_group = 1 << 22;  // a size beyond it is not believed

// Numbers below zero and those that are none stay apart from what is not recorded.
std::int64_t elements_of(const KinetoEvent& event, KinetoArg key) {
  constexpr std::int64_t not_recorded = -1;
  if (event[key].empty()) return not_recorded;
  const std::int64_t elements = event.integer(key).value_or(no_such_count);
  return elements == not_recorded ? count_of_minus_one : elements;
}

bool is_same(const ProcessGroup& a, const ProcessGroup& b) {
  return std::tie(a.name, a.description, a.size, a.ranks) == std::tie(b.name, b.description, b.size, b.ranks);
}

}  // namespace

RankList parse_ranks(std::string_view text) {
  RankList list;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    if (*at == '.') list.is_cut = true;
    if ((*at < '0' || *at > '9') && *at != '-') {
      ++at;
      continue;
    }
    std::int64_t rank = 0;
    const auto [rest, error] = std::from_chars(at, end, rank);
    if (error != std::errc()) {
      list.is_cut = true;
      at = rest > at ? rest : at + 1;
      continue;
    }
    list.ranks.push_back(rank);
    at = rest;
  }
  return list;
}

std::uint32_t KinetoGroups::group_of(const KinetoEvent& event) {
  const std::string_view name = event[KinetoArg::group_name];
  const std::string_view description = event[KinetoArg::group_description];
  const std::string_view ranks = event[KinetoArg::group_ranks];
  const std::int64_t size = std::max<std::int64_t>(event.integer(KinetoArg::group_size).value_or(0), 0);
  if (name.empty() && description.empty() && ranks.empty() && size == 0) return nothing;
  std::string key(name);
  for (const auto part : {description, ranks, event[KinetoArg::group_size]}) key.append(1, '\0').append(part);
  const auto [place, is_new] = places_.emplace(std::move(key), static_cast<std::uint32_t>(capture_.groups.size()));
  if (is_new) {
    RankList list = parse_ranks(ranks);
    Seen seen;
    seen.is_cut = list.is_cut;
    ProcessGroup group{std::string(name), std::string(description), size, std::move(list.ranks)};
    if (seen.is_cut) group.ranks.clear();
    capture_.groups.push_back(std::move(group));
    seen_.push_back(seen);
  }
  Seen& seen = seen_[place->second];
  if (const auto first = event.integer(KinetoArg::rank_start)) seen.first = *first;
  if (const auto stride = event.integer(KinetoArg::rank_stride)) seen.stride = *stride;
  return place->second;
}

std::uint32_t KinetoGroups::collective_of(const KinetoEvent& event) {
  const std::string_view name = event[KinetoArg::collective];
  if (name.empty()) return nothing;
  const auto text = [&](KinetoArg key) { return event[key].empty() ? nothing : capture_.texts.add(event[key]); };
  CollectiveRecord record;
  record.name = capture_.texts.add(name);
  record.type = text(KinetoArg::element_type);
  record.in_elements = elements_of(event, KinetoArg::in_elements);
  record.out_elements = elements_of(event, KinetoArg::out_elements);
  record.group = group_of(event);
  record.source = event.integer(KinetoArg::source).value_or(-1);
  record.target = event.integer(KinetoArg::target).value_or(-1);
  record.sequence = event.integer(KinetoArg::sequence).value_or(-1);
  record.in_splits = text(KinetoArg::in_splits);
  record.out_splits = text(KinetoArg::out_splits);
  capture_.collectives.push_back(record);
  return static_cast<std::uint32_t>(capture_.collectives.size() - 1);
}

void KinetoGroups::complete(ProcessGroup& group, const Seen& seen) const {
  if (!group.ranks.empty()) return;
  // A name is a counter: it must also have the size. `[]` can stand for the whole world.
  for (const auto& known : configured_) {
    const bool is_same = known.name == group.name && (group.size == 0 || known.size == group.size) &&
                         (known.description == group.description || group.description.empty());
    if (is_same && !known.ranks.empty()) {
      group.ranks = known.ranks;
      return;
    }
  }
  if (group.size <= 0 || group.size > largest_group) return;
  if (seen.first >= 0 && seen.stride > 0 && seen.stride <= largest_group && seen.first <= largest_group) {
    for (std::int64_t i = 0; i < group.size; ++i) group.ranks.push_back(seen.first + i * seen.stride);
  } else if (capture_.world_size == group.size) {
    group.ranks.resize(static_cast<std::size_t>(group.size));
    std::iota(group.ranks.begin(), group.ranks.end(), 0);
  }
}

void KinetoGroups::sort_groups() {
  auto& groups = capture_.groups;
  std::vector<std::uint32_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto key = [&](std::uint32_t i) {
      return std::tie(groups[i].name, groups[i].description, groups[i].size, groups[i].ranks);
    };
    return key(a) < key(b);
  });
  std::vector<std::uint32_t> new_place(groups.size());
  std::vector<ProcessGroup> sorted;
  for (const std::uint32_t old : order) {  // told twice in different words, they are one
    if (sorted.empty() || !is_same(sorted.back(), groups[old])) sorted.push_back(std::move(groups[old]));
    new_place[old] = static_cast<std::uint32_t>(sorted.size() - 1);
  }
  groups = std::move(sorted);
  for (auto& record : capture_.collectives) {
    if (record.group != nothing) record.group = new_place[record.group];
  }
}

void KinetoGroups::finish() {
  for (auto& group : configured_) {
    if (group.ranks.empty()) complete(group, {});
  }
  for (std::size_t i = 0; i < seen_.size(); ++i) complete(capture_.groups[i], seen_[i]);
  for (auto& group : configured_) {  // those of which no event speaks
    const bool is_known = std::any_of(capture_.groups.begin(), capture_.groups.end(), [&](const ProcessGroup& seen) {
      return seen.name == group.name && seen.size == group.size;
    });
    if (!is_known) capture_.groups.push_back(group);
  }
  sort_groups();
}

}  // namespace warploom
