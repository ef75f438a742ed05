// SPDX-License-Identifier: Apache-2.0
// Groups first, then records, then the members of each collective side by side.
#include "traces/collective_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "sim/core/text.hpp"
#include "traces/collective_names.hpp"

namespace warploom {

namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 50;

struct Fault {
  std::string_view name;
  std::string_view text;
};
constexpr Fault bad_rank = {
    "bad_rank",
    "ranks that are no whole number from 0 to below the world's size, and sizes of the world that are no whole number "
    "above 0, were taken as not recorded"};
constexpr Fault impossible_elements = {
    "impossible_element_count",
    "collectives of fewer than no elements or more than 2^50 bytes keep their recorded time"};
constexpr Fault unknown_type = {"unknown_element_type",
                                "collectives of a type of unknown size keep their recorded time"};
constexpr Fault outside_group = {"rank_outside_group",
                                 "collectives of a rank that is not in their group keep their recorded time"};
constexpr Fault disagreeing = {"disagreeing_collective",
                               "collectives whose members differ in operation, type or size keep their recorded time"};
constexpr Fault unmatched = {"unmatched_collective",
                             "collectives that other captured members of their group do not call are played alone"};

// Of a group: its list of ranks is not used.
enum class GroupFault : std::uint8_t { none, repeated, size, outside };
constexpr std::array<Fault, 4> group_faults = {
    Fault{},
    Fault{"repeated_rank_in_group",
          "collectives of a group that names a rank twice keep their recorded time; its list of ranks is not used"},
    Fault{"group_size_mismatch",
          "collectives of a group whose list of ranks has another size keep their recorded time; the list is not used"},
    Fault{"rank_outside_world",
          "collectives of a group with ranks below zero or not below the world's size keep their recorded time; its "
          "list of ranks is not used"}};

bool is_outside(std::int64_t rank, const Capture& capture) {
  return rank < 0 || (capture.world_size.value_or(0) > 0 && rank >= *capture.world_size);
}

GroupFault fault_of(const ProcessGroup& group, const Capture& capture) {
  if (group.ranks.empty()) return GroupFault::none;
  if (std::set<std::int64_t>(group.ranks.begin(), group.ranks.end()).size() != group.ranks.size()) {
    return GroupFault::repeated;
  }
  if (group.size > 0 && group.size != static_cast<std::int64_t>(group.ranks.size())) return GroupFault::size;
  const bool any_outside =
      std::any_of(group.ranks.begin(), group.ranks.end(), [&](std::int64_t rank) { return is_outside(rank, capture); });
  return any_outside ? GroupFault::outside : GroupFault::none;
}

bool is_impossible(std::int64_t elements, std::int64_t element_size) {
  constexpr std::int64_t not_recorded = -1;
  return elements != not_recorded && (elements < 0 || elements > most_bytes / element_size);
}

std::string count_text(std::int64_t elements) {
  if (elements == no_such_count) return "a count that is no whole number of 64 bits";
  return std::to_string(elements == count_of_minus_one ? -1 : elements);
}

// Elements that all members must agree on; -1: each may have its own, or they are not recorded.
std::int64_t shared_elements(const CollectiveRecord& record, CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
      return record.in_elements;
    case CollectiveKind::all_gather:
      return record.out_elements;
    default:
      return -1;
  }
}

class Checker {
 public:
  Checker(std::vector<Capture>& captures, Matching& matching) : captures_(captures), matching_(matching) {}

  void run() {
    for (std::uint32_t i = 0; i < captures_.size(); ++i) check_capture(i);
    for (auto& collective : matching_.collectives) {
      if (collective.members.size() > 1) {
        compare(collective);
      } else if (collective.is_left_over) {
        note(collective.is_doubtful ? disagreeing : unmatched, collective.members.front());
      }
    }
  }

 private:
  std::string describe(const Capture& capture, std::uint32_t index) const {
    const auto& op = capture.device_ops[index];
    const CollectiveRecord* record = collective_of(capture, op);
    std::string text = fmt::format("device operation {}, ", index);
    if (record == nullptr) return text + warploom::quoted(std::string(capture.texts[op.name]));
    text += warploom::quoted(std::string(capture.texts[record->name]));
    if (record->in_elements != -1) text += " of " + count_text(record->in_elements);
    if (record->out_elements != -1 && record->out_elements != record->in_elements) {
      text += " to " + count_text(record->out_elements);
    }
    if (record->type != nothing) text += fmt::format(" {}", capture.texts[record->type]);
    if (record->group != nothing) text += fmt::format(", group {}", describe(capture.groups[record->group]));
    return text;
  }

  static std::string describe(const ProcessGroup& group) {
    constexpr std::size_t most_ranks = 16;
    std::vector<std::int64_t> ranks(group.ranks.begin(), group.ranks.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                                   most_ranks, group.ranks.size())));
    return fmt::format("`{}` of {} ranks [{}{}]", group.name, group.size, fmt::join(ranks, ", "),
                       group.ranks.size() > most_ranks ? ", ..." : "");
  }

  void note(const Fault& fault, const CollectiveMember& member) {
    auto& capture = captures_[member.capture];
    const bool is_first = capture.repairs.count(fault.name) == 0;
    capture.repairs.note(fault.name, fault.text, is_first ? describe(capture, member.op) : std::string());
  }

  void doubt(const Fault& fault, const CollectiveMember& member) {
    note(fault, member);
    matching_.collectives[matching_.of_op[member.capture][member.op]].is_doubtful = true;
  }

  void check_capture(std::uint32_t index) {
    auto& capture = captures_[index];
    std::vector<GroupFault> of_group;
    for (const auto& group : capture.groups) of_group.push_back(fault_of(group, capture));
    for (std::uint32_t op = 0; op < capture.device_ops.size(); ++op) {
      if (matching_.of_op[index][op] == nothing) continue;
      const CollectiveRecord* record = collective_of(capture, capture.device_ops[op]);
      if (record == nullptr) continue;
      const CollectiveMember member{index, op};
      const std::string_view type = capture.texts[record->type];
      const auto element = element_bytes(type);
      if (!type.empty() && !element) doubt(unknown_type, member);
      if (is_impossible(record->in_elements, element.value_or(1)) ||
          is_impossible(record->out_elements, element.value_or(1))) {
        doubt(impossible_elements, member);
      }
      if (record->group == nothing) continue;
      const auto& ranks = capture.groups[record->group].ranks;
      if (const GroupFault fault = of_group[record->group]; fault != GroupFault::none) {
        doubt(group_faults[static_cast<std::size_t>(fault)], member);
      } else if (capture.rank && !ranks.empty() &&
                 std::find(ranks.begin(), ranks.end(), *capture.rank) == ranks.end()) {
        doubt(outside_group, member);
      }
    }
    for (std::size_t i = 0; i < of_group.size(); ++i) {
      if (of_group[i] != GroupFault::none) capture.groups[i].ranks.clear();
    }
  }

  void compare(MatchedCollective& collective) {
    const auto& first = captures_[collective.members.front().capture];
    const auto& first_op = first.device_ops[collective.members.front().op];
    const CollectiveRecord* expected = collective_of(first, first_op);
    if (expected == nullptr) return;
    const auto kind = captured_kind(first.texts[expected->name]);
    for (const auto& member : collective.members) {
      const auto& capture = captures_[member.capture];
      const CollectiveRecord* record = collective_of(capture, capture.device_ops[member.op]);
      if (record == nullptr) continue;
      const std::string_view own_type = capture.texts[record->type];
      const std::string_view first_type = first.texts[expected->type];
      bool agrees = own_type.empty() || first_type.empty() ||
                    (captured_type(own_type) == captured_type(first_type) &&
                     element_bytes(own_type) == element_bytes(first_type));
      if (agrees && kind) {
        const std::int64_t own = shared_elements(*record, *kind);
        const std::int64_t others = shared_elements(*expected, *kind);
        agrees = own == -1 || others == -1 || own == others;
      }
      if (!agrees) doubt(disagreeing, member);
    }
  }

  std::vector<Capture>& captures_;
  Matching& matching_;
};

}  // namespace

void note_bad_rank(Capture& capture, std::string_view what) {
  capture.repairs.note(bad_rank.name, bad_rank.text, what);
}

void check_ranks(std::vector<Capture>& captures) {
  for (auto& capture : captures) {
    if (!capture.rank || !is_outside(*capture.rank, capture)) continue;
    const std::string world =
        capture.world_size ? fmt::format(" in a world of {}", *capture.world_size) : std::string();
    note_bad_rank(capture, fmt::format("rank {}{}", *capture.rank, world));
    capture.rank.reset();
  }
}

void check_collectives(std::vector<Capture>& captures, Matching& matching) { Checker(captures, matching).run(); }

}  // namespace warploom
