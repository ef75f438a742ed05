// SPDX-License-Identifier: Apache-2.0
// Process groups and collectives as Kineto tells them: at kernels and at `record_param_comms`, with lists of ranks that
// are cut short ("[0, 1, ..., 127]") where a group has more than 30 members, and in `distributedInfo.pg_config`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/capture.hpp"
#include "traces/kineto_event.hpp"

namespace warploom {

// "[0, 1, 5]"; `is_cut`: an ellipsis stands in it, or it is no list of numbers.
struct RankList {
  std::vector<std::int64_t> ranks;
  bool is_cut = false;
};
RankList parse_ranks(std::string_view text);

class KinetoGroups {
 public:
  explicit KinetoGroups(Capture& capture) : capture_(capture) {}

  // The collective that the event's arguments tell: its place in `capture.collectives`; `nothing` where they do not.
  std::uint32_t collective_of(const KinetoEvent& event);
  // An entry of pg_config; it may come before or after the events.
  void add_configured(ProcessGroup group) { configured_.push_back(std::move(group)); }
  // Ranks that were cut are taken from pg_config, else from first rank and stride. Groups are sorted.
  void finish();

 private:
  struct Seen {  // beside `capture.groups`
    std::int64_t first = -1;
    std::int64_t stride = 0;
    bool is_cut = false;
  };
  std::uint32_t group_of(const KinetoEvent& event);
  void complete(ProcessGroup& group, const Seen& seen) const;
  void sort_groups();

  Capture& capture_;
  std::unordered_map<std::string, std::uint32_t> places_;  // by all that was said of the group
  std::vector<Seen> seen_;
  std::vector<ProcessGroup> configured_;
};

}  // namespace warploom
