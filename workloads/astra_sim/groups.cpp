// SPDX-License-Identifier: Apache-2.0
// Which ranks the group of a node means.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/astra_sim/task_builder.hpp"
#include "workloads/astra_sim/topology.hpp"

namespace warploom {

AstraGroupTable::AstraGroupTable(AstraTasks& out, const AstraRun& run, std::size_t ranks)
    : out_(out), run_(run), all_(ranks) {
  std::iota(all_.begin(), all_.end(), 0);
}

std::uint32_t AstraGroupTable::intern(std::vector<Rank> ranks, bool is_by_dimension, std::string name) {
  const auto [place, is_new] = known_.try_emplace(ranks, static_cast<std::uint32_t>(out_.members.size()));
  if (!is_new) return place->second;
  AstraMembers members;
  if (auto box = astra_box(run_.network, ranks)) members.digits = std::move(*box);
  members.is_by_dimension = is_by_dimension;
  members.ranks = std::move(ranks);
  if (is_by_dimension && members.digits.empty() && members.ranks.size() > 1) {
    out_.notes.push_back(fmt::format("{}: its {} ranks fill no box of the network: one ring over all of them", name,
                                     members.ranks.size()));
  }
  out_.members.push_back(std::move(members));
  out_.member_names.push_back(std::move(name));
  return place->second;
}

// The ranks that differ from this one along dimensions that take part alone.
std::vector<Rank> AstraGroupTable::line(std::uint32_t involved, Rank rank) const {
  std::vector<Rank> ranks;
  for (const Rank other : all_) {
    Rank a = rank;
    Rank b = other;
    bool is_same = true;
    for (std::size_t d = 0; d < run_.network.dimensions.size() && is_same; ++d) {
      const std::int64_t n = run_.network.dimensions[d].npus;
      is_same = (involved >> d & 1U) != 0 || a % n == b % n;
      a /= n;
      b /= n;
    }
    if (is_same) ranks.push_back(other);
  }
  return ranks;
}

std::uint32_t AstraGroupTable::find(const ExecutionGraph& graph, ExecutionGraph::Index node, std::uint32_t rank) {
  const NodeComm& comm = graph.comms[graph.comm[node]];
  const std::string name(graph.texts[comm.group]);
  std::vector<Rank> ranks;
  const auto of_trace = std::find_if(graph.groups.rbegin(), graph.groups.rend(),
                                     [&](const ProcessGroup& group) { return group.name == name; });
  if (const auto of_file = run_.groups.find(name); !name.empty() && of_file != run_.groups.end()) {
    ranks = of_file->second;
  } else if (!name.empty() && of_trace != graph.groups.rend()) {
    ranks = of_trace->ranks.empty() ? all_ : of_trace->ranks;
    std::sort(ranks.begin(), ranks.end());
  } else if (name.empty() || name == "0") {
    ranks = all_;
  } else {
    std::vector<std::string> known;
    for (const auto& [other, list] : run_.groups) known.push_back(other);
    throw UserError(
        fmt::format("{}: {} is of group `{}`, which nothing defines", graph.file, graph.describe(node), name),
        known.empty() ? "give the communicator groups: --comm-group FILE.json"
                      : "the communicator groups are: " + join(known));
  }
  if (ranks.back() >= static_cast<Rank>(all_.size())) {
    throw UserError(fmt::format("group `{}` has rank {}, but there are {} ranks", name, ranks.back(), all_.size()));
  }
  if (!std::binary_search(ranks.begin(), ranks.end(), static_cast<Rank>(rank))) {
    throw UserError(fmt::format("{}: rank {} calls {} of group `{}`, which it is no member of", graph.file, rank,
                                graph.describe(node), name));
  }
  const bool is_all = ranks.size() == all_.size();
  if (is_all && comm.is_involved_said) {
    auto some = line(comm.involved, rank);
    if (some.size() < all_.size()) {
      std::string label = fmt::format("the {} ranks from {} along its dimensions", some.size(), some.front());
      return intern(std::move(some), true, std::move(label));
    }
  }
  return intern(std::move(ranks), is_all, is_all ? "all ranks" : fmt::format("group {}", name));
}

}  // namespace warploom
