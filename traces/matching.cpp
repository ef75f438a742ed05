// SPDX-License-Identifier: Apache-2.0
// Lists by group and rank, walked in step; clocks by the medians of their ends.
#include "traces/matching.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "sim/core/text.hpp"
#include "traces/collective_names.hpp"
#include "traces/median.hpp"

namespace warploom {

namespace {

constexpr std::size_t most_mismatches = 20;

// All members end together. A SendRecv kernel of a group is its all-to-all.
bool synchronises(std::string_view name) {
  if (name.find("sendrecv") != std::string_view::npos || name.find("barrier") != std::string_view::npos) return true;
  const auto kind = captured_kind(name);
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::all_gather ||
         kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_to_all;
}

// What operations of several ranks are called, as numbers that can be compared.
class OperationNames {
 public:
  explicit OperationNames(std::size_t captures) : by_text_(captures) {}

  // "ncclDevKernel_AllReduce_Sum_f16_RING_LL(...)" -> "nccldevkernel_allreduce": ranks may have been compiled
  // differently in what follows.
  TextId of(std::uint32_t index, const Capture& capture, const DeviceOp& op) {
    const CollectiveRecord* record = collective_of(capture, op);
    const TextId text = record != nullptr && record->name != nothing ? record->name : op.name;
    if (text == nothing) return names_.add({});
    auto& known = by_text_[index];
    if (known.empty()) known.assign(capture.texts.size(), nothing);
    if (known[text] == nothing) {
      const std::string name = to_lower(capture.texts[text]);
      known[text] = names_.add(std::string_view(name).substr(0, name.find_first_of("(<")));
    }
    return known[text];
  }
  std::string_view operator[](TextId name) const { return names_[name]; }

 private:
  StringTable names_;
  std::vector<std::vector<TextId>> by_text_;  // by capture and its own text
};

// The operations of one group on one rank, in order.
struct Member {
  std::uint32_t capture = 0;
  std::vector<std::uint32_t> ops;
  std::size_t agreed = std::numeric_limits<std::size_t>::max();  // operations before the members called different ones
};
struct GroupOps {
  std::string text;       // for messages
  std::int64_t size = 0;  // 0: not known
  std::vector<Member> members;
};

class Matcher {
 public:
  explicit Matcher(const std::vector<Capture>& captures) : captures_(captures), names_(captures.size()) {
    for (const auto& capture : captures_) result_.of_op.emplace_back(capture.device_ops.size(), nothing);
  }

  Matching run() {
    for (std::uint32_t i = 0; i < captures_.size(); ++i) collect(i);
    for (auto& [key, group] : groups_) match(group);
    result_.matched = static_cast<std::int64_t>(result_.collectives.size());
    add_singles();
    auto& found = result_.collectives;
    const auto start = [&](const MatchedCollective& collective) {
      const auto& first = collective.members.front();
      return std::tuple(captures_[first.capture].device_ops[first.op].start, first.capture, first.op);
    };
    std::sort(found.begin(), found.end(),
              [&](const MatchedCollective& a, const MatchedCollective& b) { return start(a) < start(b); });
    for (std::uint32_t i = 0; i < found.size(); ++i) {
      for (const auto& member : found[i].members) result_.of_op[member.capture][member.op] = i;
    }
    align_clocks();
    return std::move(result_);
  }

 private:
  std::string key_of(const Capture& capture, const DeviceOp& op, std::map<std::uint32_t, std::size_t>& streams,
                     std::int64_t& size) {
    const CollectiveRecord* record = collective_of(capture, op);
    if (record != nullptr && record->source >= 0 && record->target >= 0) {
      size = 2;
      return fmt::format("{} to {}", record->source, record->target);
    }
    if (record != nullptr && record->group != nothing) {
      const auto& group = capture.groups[record->group];
      size = group.size;
      if (!group.ranks.empty()) {  // members may list the same ranks in different orders
        std::vector<std::int64_t> ranks = group.ranks;
        std::sort(ranks.begin(), ranks.end());
        return fmt::format("ranks {} {}", fmt::join(ranks, ","), group.description);
      }
      if (group.size == capture.world_size.value_or(-1)) return "the world";
      return fmt::format("{} of {}", group.name, group.size);
    }
    size = capture.world_size.value_or(static_cast<std::int64_t>(captures_.size()));
    return fmt::format("communication stream {}", streams.try_emplace(op.stream, streams.size()).first->second);
  }

  // What decides on the key of an operation within its capture: keys may list all ranks and are long.
  static std::pair<std::int64_t, std::int64_t> group_within(const Capture& capture, const DeviceOp& op) {
    const CollectiveRecord* record = collective_of(capture, op);
    if (record != nullptr && record->source >= 0 && record->target >= 0) return {record->source, record->target};
    if (record != nullptr && record->group != nothing) return {-1, record->group};
    return {-2, op.stream};
  }

  void collect(std::uint32_t index) {
    const auto& capture = captures_[index];
    std::map<std::uint32_t, std::size_t> streams;
    std::map<std::pair<std::int64_t, std::int64_t>, GroupOps*> known;
    for (std::uint32_t i = 0; i < capture.device_ops.size(); ++i) {
      const auto& op = capture.device_ops[i];
      if (op.op_class != OpClass::communication || op.kind != DeviceOpKind::kernel) continue;
      auto& group = known[group_within(capture, op)];
      if (group == nullptr) group = &group_of(index, op, streams);
      group->members.back().ops.push_back(i);
    }
  }

  GroupOps& group_of(std::uint32_t index, const DeviceOp& op, std::map<std::uint32_t, std::size_t>& streams) {
    std::int64_t size = 0;
    const std::string key = key_of(captures_[index], op, streams, size);
    auto& group = groups_[key];
    group.text = key;
    group.size = std::max(group.size, size);
    if (group.members.empty() || group.members.back().capture != index) group.members.push_back({index, {}});
    return group;
  }

  std::int64_t sequence(const Member& member, std::size_t place) const {
    const auto& capture = captures_[member.capture];
    const CollectiveRecord* record = collective_of(capture, capture.device_ops[member.ops[place]]);
    return record == nullptr ? -1 : record->sequence;
  }

  void match(GroupOps& group) {
    std::int64_t all = 0;
    for (const auto& member : group.members) all += static_cast<std::int64_t>(member.ops.size());
    if (group.members.size() < 2) {
      result_.unmatched += all;
      return;
    }
    std::vector<std::size_t> place(group.members.size(), 0);
    std::int64_t matched = 0;
    while (true) {
      skip_to_common_sequence(group, place);
      if (!can_match(group, place)) break;
      MatchedCollective collective;
      for (std::size_t i = 0; i < group.members.size(); ++i) {
        const auto& member = group.members[i];
        const std::uint32_t op = member.ops[place[i]++];
        const Nanoseconds duration = transfer_of(captures_[member.capture], op);
        collective.transfer = i == 0 ? duration : std::min(collective.transfer, duration);
        collective.members.push_back({member.capture, op});
      }
      collective.synchronises = synchronises(names_[operation(collective.members[0])]);
      collective.is_complete = static_cast<std::int64_t>(group.members.size()) == group.size;
      matched += static_cast<std::int64_t>(collective.members.size());
      result_.collectives.push_back(std::move(collective));
    }
    result_.unmatched += all - matched;
  }

  void add_singles() {
    for (const auto& collective : result_.collectives) {
      for (const auto& member : collective.members) result_.of_op[member.capture][member.op] = 0;
    }
    for (const auto& [key, group] : groups_) {
      for (const auto& member : group.members) {
        for (std::size_t i = 0; i < member.ops.size(); ++i) {
          const std::uint32_t op = member.ops[i];
          if (result_.of_op[member.capture][op] != nothing) continue;
          MatchedCollective& alone = result_.collectives.emplace_back();
          alone.members = {{member.capture, op}};
          alone.transfer = transfer_of(captures_[member.capture], op);
          alone.is_left_over = group.members.size() > 1;
          alone.is_doubtful = i >= member.agreed;
        }
      }
    }
  }

  // What the rank's own operation needed at most: where the capture tells waiting from moving, the moving.
  static Nanoseconds transfer_of(const Capture& capture, std::uint32_t index) {
    const auto& op = capture.device_ops[index];
    const CollectiveRecord* record = collective_of(capture, op);
    return record != nullptr && record->transfer >= 0 ? std::min(record->transfer, op.duration) : op.duration;
  }

  // Where all have sequence numbers, those that lack the number of the farthest are passed over.
  void skip_to_common_sequence(const GroupOps& group, std::vector<std::size_t>& place) const {
    while (true) {
      std::int64_t farthest = -1;
      for (std::size_t i = 0; i < group.members.size(); ++i) {
        if (place[i] >= group.members[i].ops.size()) return;
        const std::int64_t number = sequence(group.members[i], place[i]);
        if (number < 0) return;
        farthest = std::max(farthest, number);
      }
      bool moved = false;
      for (std::size_t i = 0; i < group.members.size(); ++i) {
        while (place[i] < group.members[i].ops.size() && sequence(group.members[i], place[i]) < farthest) {
          ++place[i];
          moved = true;
        }
      }
      if (!moved) return;
    }
  }

  bool can_match(GroupOps& group, const std::vector<std::size_t>& place) {
    TextId name = nothing;
    std::size_t ended = 0;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      const auto& member = group.members[i];
      if (place[i] >= member.ops.size()) {
        ++ended;
        continue;
      }
      const TextId own = operation({member.capture, member.ops[place[i]]});
      if (names_[name].empty()) name = own;
      if (own == name) continue;
      note(fmt::format("group `{}`, operation {}: {} calls `{}`, {} calls `{}`", group.text, place[i],
                       name_of(group.members[0].capture), names_[name], name_of(member.capture), names_[own]));
      for (std::size_t k = 0; k < group.members.size(); ++k) group.members[k].agreed = place[k];
      return false;
    }
    if (ended > 0 && ended < group.members.size()) {
      for (std::size_t i = 0; i < group.members.size(); ++i) {
        if (place[i] < group.members[i].ops.size()) continue;
        note(fmt::format("group `{}`: {} has {} operations, others go on with `{}`", group.text,
                         name_of(group.members[i].capture), place[i], names_[name]));
        break;
      }
    }
    return ended == 0;
  }

  TextId operation(const CollectiveMember& member) {
    const auto& capture = captures_[member.capture];
    return names_.of(member.capture, capture, capture.device_ops[member.op]);
  }
  std::string name_of(std::uint32_t capture) const {
    const auto rank = known_rank(captures_[capture]);
    return rank ? fmt::format("rank {}", *rank) : captures_[capture].file;
  }
  void note(std::string text) {
    if (result_.mismatches.size() < most_mismatches) result_.mismatches.push_back(std::move(text));
  }

  Nanoseconds end_of(const CollectiveMember& member) const {
    return captures_[member.capture].device_ops[member.op].end() - result_.clock_offset[member.capture];
  }

  // Members of a collective do not end at one moment: what the medians say of clocks that lie nearer than three times
  // the distance that is left between ends is no offset.
  void align_clocks() {
    std::vector<Nanoseconds> bases(captures_.size(), 0);
    for (std::size_t i = 0; i < captures_.size(); ++i) {
      const Nanoseconds first_base = captures_[0].base_time.value_or(0);
      bases[i] = first_base - captures_[i].base_time.value_or(first_base);
    }
    result_.clock_offset = bases;
    settle_clocks();
    bool any = false;
    for (std::size_t i = 0; i < captures_.size(); ++i) {
      any = any || std::abs(result_.clock_offset[i] - bases[i]) > 3 * result_.clock_residual;
    }
    if (!any) result_.clock_offset = bases;
    align_strangers();
  }

  // Captures that share no collective with others begin together, if they do not lie within each other's time anyway.
  void align_strangers() {
    if (captures_.size() < 2) return;
    std::vector<bool> has_peer(captures_.size(), false);
    for (const auto& collective : result_.collectives) {
      for (const auto& member : collective.members) {
        has_peer[member.capture] = has_peer[member.capture] || collective.members.size() > 1;
      }
    }
    std::optional<std::pair<Nanoseconds, Nanoseconds>> first;
    for (std::uint32_t i = 0; i < captures_.size(); ++i) {
      Nanoseconds begin = std::numeric_limits<Nanoseconds>::max();
      Nanoseconds end = std::numeric_limits<Nanoseconds>::min();
      for (const auto& op : captures_[i].device_ops) {
        begin = std::min(begin, op.start - result_.clock_offset[i]);
        end = std::max(end, op.end() - result_.clock_offset[i]);
      }
      if (begin > end) continue;
      if (!first) {
        first = {begin, end};
        continue;
      }
      if (has_peer[i] || (begin <= first->second && end >= first->first)) continue;
      result_.clock_offset[i] += begin - first->first;
      note(fmt::format("{} shares no collective with the others and lies at another time: aligned by its begin",
                       name_of(i)));
    }
  }

  // Each clock moves by the median distance of its ends from those of its peers, until none moves.
  void settle_clocks() {
    constexpr int rounds = 8;
    for (int round = 0; round <= rounds; ++round) {
      std::vector<std::vector<Nanoseconds>> distances(captures_.size());
      std::vector<Nanoseconds> all;
      for (const auto& collective : result_.collectives) {
        if (!collective.synchronises) continue;
        std::vector<Nanoseconds> ends;
        for (const auto& member : collective.members) ends.push_back(end_of(member));
        const Nanoseconds middle = upper_median(ends);
        for (const auto& member : collective.members) {
          distances[member.capture].push_back(end_of(member) - middle);
          all.push_back(std::abs(end_of(member) - middle));
        }
      }
      result_.clock_residual = all.empty() ? 0 : upper_median(all);
      if (round == rounds) return;
      bool moved = false;
      for (std::size_t i = 0; i < captures_.size(); ++i) {
        const Nanoseconds shift = distances[i].empty() ? 0 : upper_median(distances[i]);
        result_.clock_offset[i] += shift;
        moved = moved || shift != 0;
      }
      if (!moved) return;
    }
  }

  const std::vector<Capture>& captures_;
  OperationNames names_;
  std::map<std::string, GroupOps> groups_;
  Matching result_;
};

}  // namespace

Matching match_collectives(const std::vector<Capture>& captures) { return Matcher(captures).run(); }

}  // namespace warploom
