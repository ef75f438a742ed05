// SPDX-License-Identifier: Apache-2.0
// How tasks are put together: groups by what nodes call them, and what has to meet across ranks.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "workloads/astra_sim/tasks.hpp"

namespace warploom {

// Which ranks a node communicates with.
class AstraGroupTable {
 public:
  AstraGroupTable(AstraTasks& out, const AstraRun& run, std::size_t ranks);
  // The place in `members` of what the node means; its rank is among them.
  std::uint32_t find(const ExecutionGraph& graph, ExecutionGraph::Index node, std::uint32_t rank);

 private:
  std::uint32_t intern(std::vector<Rank> ranks, bool is_by_dimension, std::string name);
  std::vector<Rank> line(std::uint32_t involved, Rank rank) const;

  AstraTasks& out_;
  const AstraRun& run_;
  std::vector<Rank> all_;
  std::map<std::vector<Rank>, std::uint32_t> known_;
};

// A collective, send or receive of one rank that has yet to meet the others'.
struct AstraPart {
  AstraTaskId task = 0;
  std::uint32_t rank = 0;
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t bytes = 0;
  std::uint32_t priority = 0;
};

class AstraMatching {
 public:
  explicit AstraMatching(AstraTasks& out) : out_(out) {}
  void add_collective(std::uint32_t members, const AstraPart& part) { collectives_[members].push_back(part); }
  // `scope`: sends and receives of different scopes never meet.
  void add_send(const std::string& scope, Rank to, std::int64_t tag, const AstraPart& part) {
    messages_[{scope, part.rank, to, tag}].sends.push_back(part);
  }
  void add_receive(const std::string& scope, Rank from, std::int64_t tag, const AstraPart& part) {
    messages_[{scope, from, part.rank, tag}].receives.push_back(part);
  }
  // Throws UserError that names what lacks its other side.
  void finish();

 private:
  struct Both {
    std::vector<AstraPart> sends;
    std::vector<AstraPart> receives;
  };
  using Lists = std::vector<std::vector<const AstraPart*>>;  // of each member, in its order
  void meet(std::uint32_t members, const std::vector<AstraPart>& parts);
  void add_meeting(std::uint32_t members, const Lists& lists, std::size_t k);
  [[noreturn]] void report_mismatch(std::uint32_t members, const Lists& lists) const;
  std::string describe(const AstraPart& part) const;

  AstraTasks& out_;
  std::map<std::uint32_t, std::vector<AstraPart>> collectives_;
  std::map<std::tuple<std::string, Rank, Rank, std::int64_t>, Both> messages_;
};

}  // namespace warploom
