// SPDX-License-Identifier: Apache-2.0
// Collectives of all ranks, sends and receives: each finds its other sides.
#include <fmt/format.h>

#include <algorithm>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/astra_sim/task_builder.hpp"

namespace warploom {

namespace {

using Key = std::tuple<CollectiveKind, std::int64_t, std::uint32_t>;  // kind, bytes, name

std::string bytes_text(std::int64_t bytes) { return fmt::format("{} bytes", bytes); }

}  // namespace

std::string AstraMatching::describe(const AstraPart& part) const {
  const auto& task = out_.tasks[part.task];
  return fmt::format("`{}` (node {}, {} of {})", out_.names[task.name], task.node, name(part.kind),
                     bytes_text(part.bytes));
}

void AstraMatching::add_meeting(std::uint32_t members, const Lists& lists, std::size_t k) {
  AstraMeeting meeting;
  meeting.kind = lists.front()[k]->kind;
  meeting.bytes = lists.front()[k]->bytes;
  meeting.members = members;
  for (const auto& list : lists) {
    meeting.priority = std::max(meeting.priority, list[k]->priority);
    meeting.parts.push_back(list[k]->task);
    out_.tasks[list[k]->task].meeting = static_cast<std::uint32_t>(out_.meetings.size());
  }
  out_.meetings.push_back(std::move(meeting));
}

// The first place where the members' lists part.
void AstraMatching::report_mismatch(std::uint32_t members, const Lists& lists) const {
  const auto& ranks = out_.members[members].ranks;
  std::size_t most = 0;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (lists[i].size() > most) {
      most = lists[i].size();
      longest = i;
    }
  }
  for (std::size_t k = 0; k < most; ++k) {
    const AstraPart& expected = *lists[longest][k];
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const AstraPart* got = k < lists[i].size() ? lists[i][k] : nullptr;
      if (got != nullptr && got->kind == expected.kind && got->bytes == expected.bytes) continue;
      throw UserError(
          fmt::format("{}: collective {}: rank {} calls {}, rank {} {}", out_.member_names[members], k + 1,
                      ranks[longest], describe(expected), ranks[i],
                      got == nullptr ? fmt::format("calls only {}", lists[i].size()) : "calls " + describe(*got)),
          "all ranks of a group must call the same collectives; the run could never end");
    }
  }
  throw UserError(fmt::format("{}: its ranks call different collectives", out_.member_names[members]));
}

void AstraMatching::meet(std::uint32_t members, const std::vector<AstraPart>& parts) {
  const auto& ranks = out_.members[members].ranks;
  Lists lists(ranks.size());
  for (const auto& part : parts) {
    const auto place = std::lower_bound(ranks.begin(), ranks.end(), static_cast<Rank>(part.rank));
    lists[static_cast<std::size_t>(place - ranks.begin())].push_back(&part);
  }
  const auto bucket = [&](bool by_name) {
    std::map<Key, Lists> buckets;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      for (const AstraPart* part : lists[i]) {
        auto& at = buckets[{part->kind, part->bytes, by_name ? out_.tasks[part->task].name : 0}];
        at.resize(lists.size());
        at[i].push_back(part);
      }
    }
    return buckets;
  };
  const auto is_even = [](const std::map<Key, Lists>& buckets) {
    return std::all_of(buckets.begin(), buckets.end(), [](const auto& entry) {
      return std::all_of(entry.second.begin(), entry.second.end(),
                         [&](const auto& list) { return list.size() == entry.second.front().size(); });
    });
  };
  auto buckets = bucket(true);
  if (!is_even(buckets)) buckets = bucket(false);
  if (!is_even(buckets)) report_mismatch(members, lists);
  for (const auto& [key, alike] : buckets) {
    for (std::size_t k = 0; k < alike.front().size(); ++k) add_meeting(members, alike, k);
  }
}

void AstraMatching::finish() {
  for (const auto& [members, parts] : collectives_) meet(members, parts);
  for (const auto& [key, both] : messages_) {
    const auto& [scope, from, to, tag] = key;
    if (both.sends.size() != both.receives.size()) {
      const AstraPart& some = both.sends.empty() ? both.receives.front() : both.sends.front();
      throw UserError(fmt::format("rank {} sends {} messages of tag {} to rank {}, which receives {} of them; one is "
                                  "`{}` (node {} of rank {})",
                                  from, both.sends.size(), tag, to, both.receives.size(),
                                  out_.names[out_.tasks[some.task].name], out_.tasks[some.task].node, some.rank),
                      "each COMM_SEND_NODE needs a COMM_RECV_NODE of the same source, destination and tag; the run "
                      "could never end");
    }
    for (std::size_t k = 0; k < both.sends.size(); ++k) {
      const AstraPart& send = both.sends[k];
      const AstraPart& receive = both.receives[k];
      if (send.bytes != receive.bytes) {
        throw UserError(fmt::format("rank {} sends {} to rank {} in `{}` (node {}), which expects {} in `{}` (node {})",
                                    from, bytes_text(send.bytes), to, out_.names[out_.tasks[send.task].name],
                                    out_.tasks[send.task].node, bytes_text(receive.bytes),
                                    out_.names[out_.tasks[receive.task].name], out_.tasks[receive.task].node),
                        "comm_size must be the same on both sides; ASTRA-sim would wait for ever");
      }
      const auto id = static_cast<std::uint32_t>(out_.messages.size());
      out_.tasks[send.task].meeting = id;
      out_.tasks[receive.task].meeting = id;
      out_.messages.push_back({send.task, receive.task, send.bytes, from, to});
    }
  }
}

}  // namespace warploom
