// SPDX-License-Identifier: Apache-2.0
// What captured communication is in Chakra's words: kinds, sizes, communicator groups, who sends to whom.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "traces/captured_run.hpp"
#include "traces/execution_graph.hpp"

namespace warploom {

// Groups are told by their ranks and what the capture calls them, and numbered from 1 in the order in which they are
// met; the group of all ranks has no name, as ASTRA-sim wants it (it then uses the dimensions of its network).
class CommunicationNodes {
 public:
  // Throws UserError for two captures of one rank.
  explicit CommunicationNodes(const CapturedRun& run);

  std::int64_t rank(std::uint32_t capture) const { return ranks_[capture]; }
  // What it takes by itself: with partners the matched transfer, else as recorded.
  Nanoseconds transfer(std::uint32_t capture, std::uint32_t op) const;
  // Makes `node` a collective, a send or a receive; where kind or size are not recorded it stays what it is, counted.
  void describe(std::uint32_t capture, std::uint32_t op, GraphNode& node, StringTable& texts);

  std::vector<ProcessGroup> groups() const;
  std::string groups_json() const;  // empty: no groups
  std::vector<std::string> notes() const;

 private:
  using Key = std::pair<std::vector<std::int64_t>, std::string>;
  // Ranks of the group, ascending; empty: not known.
  std::vector<std::int64_t> members(std::uint32_t capture, std::uint32_t op, const CollectiveRecord& record) const;
  void describe_message(std::uint32_t capture, const CollectiveRecord& record, GraphNode& node);

  const CapturedRun& run_;
  std::vector<std::int64_t> ranks_;  // by capture
  std::vector<std::int64_t> all_;    // 0 to the number of ranks
  std::map<Key, std::int64_t> ids_;
  std::vector<std::map<std::pair<std::int64_t, std::int64_t>, std::int32_t>> messages_;  // by capture: next tag
  std::int64_t undescribed_ = 0;
  std::int64_t with_absent_ranks_ = 0;
};

}  // namespace warploom
