// SPDX-License-Identifier: Apache-2.0
// Joining dependencies by id, ordering, cycles.
#include "traces/execution_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

std::string_view name(NodeType type) {
  constexpr std::array<std::string_view, 8> names = {"invalid", "metadata", "mem_load", "mem_store",
                                                     "compute", "send",     "receive",  "collective"};
  return names[static_cast<std::size_t>(type)];
}

std::string_view name(CommKind kind) {
  constexpr std::array<std::string_view, 11> names = {
      "all_reduce", "reduce",         "all_gather",           "gather",  "scatter", "broadcast",
      "all_to_all", "reduce_scatter", "reduce_scatter_block", "barrier", "unknown"};
  return names[static_cast<std::size_t>(kind)];
}

std::string ExecutionGraph::describe(Index node) const {
  const std::string_view text = texts[name[node]];
  // Names of device functions fill a screen.
  return fmt::format("`{}{}` (node {})", text.substr(0, 80), text.size() > 80 ? "..." : "", id[node]);
}

// ---- Joining ------------------------------------------------------------------------------------------------------

namespace {

KeyIndex index_ids(const ExecutionGraph& graph) {
  KeyIndex ids([&](auto emit) {
    for (std::uint32_t i = 0; i < graph.size(); ++i) emit(graph.id[i], i);
  });
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const std::uint32_t first = ids.find(graph.id[i]);
    if (first == i) continue;
    throw UserError(fmt::format("{}: {} and {} (records {} and {}) have the same id", graph.file, graph.describe(first),
                                graph.describe(i), first + 1, i + 1),
                    "ids must be unique in a file: are two files joined into one?");
  }
  return ids;
}

}  // namespace

// Layers and steps repeat each other: the name that came next the last time is tried before the table of all.
TextId GraphBuilder::name_of(std::string_view text) {
  const TextId last = graph_.name.empty() ? nothing : graph_.name.back();
  if (last < follows_.size() && follows_[last] != nothing && graph_.texts[follows_[last]] == text) {
    return follows_[last];
  }
  const TextId id = graph_.texts.add(text);
  if (last != nothing) {
    if (follows_.size() <= last) follows_.resize(graph_.texts.size(), nothing);
    follows_[last] = id;
  }
  return id;
}

void GraphBuilder::add_folded(const GraphNode& node) {
  auto& column = graph_.folded_duration;
  if (node.folded < 0 && column.empty()) return;
  while (column.size() + 1 < graph_.duration.size()) column.push_back(graph_.duration[column.size()]);
  column.push_back(node.folded < 0 ? node.duration : node.folded);
}

void GraphBuilder::add(const GraphNode& node) {
  if (graph_.size() >= nothing - 1) {
    throw UserError(fmt::format("{}: more than {} nodes", graph_.file, nothing - 2), "split the trace into steps");
  }
  graph_.id.push_back(node.id);
  graph_.name.push_back(name_of(node.name));
  graph_.type.push_back(node.type);
  graph_.is_cpu_op.push_back(node.is_cpu_op);
  graph_.start.push_back(node.start);
  graph_.duration.push_back(node.duration);
  add_folded(node);
  graph_.stream.push_back(node.stream);
  graph_.num_ops.push_back(node.num_ops);
  graph_.tensor_size.push_back(node.tensor_size);
  graph_.comm.push_back(node.has_comm ? static_cast<std::uint32_t>(graph_.comms.size()) : nothing);
  if (node.has_comm) graph_.comms.push_back(node.comm);
  data_ids_.insert(data_ids_.end(), node.data.begin(), node.data.end());
  control_ids_.insert(control_ids_.end(), node.control.begin(), node.control.end());
  graph_.data_begin.push_back(data_ids_.size());
  graph_.control_begin.push_back(control_ids_.size());
}

void GraphBuilder::expect(std::size_t nodes) {
  const std::size_t so_far = graph_.size();
  nodes = std::min<std::size_t>(nodes, nothing);
  if (nodes <= so_far || so_far == 0) return;
  const auto room = [&](auto& column) { column.reserve(nodes); };
  room(graph_.id);
  room(graph_.name);
  room(graph_.type);
  room(graph_.is_cpu_op);
  room(graph_.start);
  room(graph_.duration);
  room(graph_.stream);
  room(graph_.num_ops);
  room(graph_.tensor_size);
  room(graph_.comm);
  room(graph_.data_begin);
  room(graph_.control_begin);
  const double growth = static_cast<double>(nodes) / static_cast<double>(so_far);
  const auto grow = [&](auto& list) {
    const double size = static_cast<double>(list.size()) * growth;
    if (size < 1e10) list.reserve(static_cast<std::size_t>(size));
  };
  grow(graph_.comms);
  grow(data_ids_);
  grow(control_ids_);
}

void GraphBuilder::join(const KeyIndex& ids) {
  std::unordered_set<std::uint64_t> missing;
  const auto join_one = [&](std::vector<std::uint64_t>& begin, std::vector<std::uint64_t>& from,
                            std::vector<ExecutionGraph::Index>& into, std::int64_t& dangling, std::int64_t& own,
                            bool is_control) {
    into.reserve(from.size());
    std::uint64_t first = 0;
    for (std::size_t node = 0; node < graph_.size(); ++node) {
      const std::uint64_t last = begin[node + 1];
      for (; first < last; ++first) {
        const auto target = ids.find(from[first]);
        if (target == node) {
          ++own;
        } else if (target == nothing) {
          ++dangling;
          if (is_control) missing.insert(from[first]);
        } else {
          if (!is_control && from[first] > graph_.id[node]) ++graph_.found.data_to_larger_id;
          into.push_back(target);
        }
      }
      begin[node + 1] = into.size();
    }
    std::vector<std::uint64_t>().swap(from);
    into.shrink_to_fit();
  };
  auto& found = graph_.found;
  found.data = static_cast<std::int64_t>(data_ids_.size());
  found.control = static_cast<std::int64_t>(control_ids_.size());
  join_one(graph_.data_begin, data_ids_, graph_.data_dependency, found.dangling_data, found.self_data, false);
  join_one(graph_.control_begin, control_ids_, graph_.control_dependency, found.dangling_control, found.self_control,
           true);
  found.dangling_control_ids = static_cast<std::int64_t>(missing.size());
}

void GraphBuilder::finish() {
  join(index_ids(graph_));
  const auto& found = graph_.found;
  auto& repairs = graph_.repairs;
  repairs.note("dangling_data_dependency", "data dependencies on nodes that are not in the file were dropped",
               "its nodes", 0, found.dangling_data);
  repairs.note("self_data_dependency", "data dependencies of nodes on themselves were dropped", "its nodes", 0,
               found.self_data);
  repairs.note("dangling_control_dependency",
               "control dependencies (nesting) on nodes that are not in the file were dropped", "its nodes", 0,
               found.dangling_control);
  repairs.note("self_control_dependency", "control dependencies (nesting) of nodes on themselves were dropped",
               "its nodes", 0, found.self_control);
}

// ---- Order --------------------------------------------------------------------------------------------------------

namespace {

using Index = ExecutionGraph::Index;

// Every node that is left waits for one that is left, so that walking from one to the next comes back.
[[noreturn]] void report_cycle(const ExecutionGraph& graph, const std::vector<std::uint32_t>& waits) {
  const auto first_left = [&](std::span<const Index> nodes) {
    return *std::find_if(nodes.begin(), nodes.end(), [&](Index node) { return waits[node] > 0; });
  };
  Index node = 0;
  while (waits[node] == 0) ++node;
  std::unordered_map<Index, std::size_t> seen;
  std::vector<Index> way;
  while (seen.emplace(node, way.size()).second) {
    way.push_back(node);
    node = first_left(graph.data(node));
  }
  way.erase(way.begin(), way.begin() + static_cast<std::ptrdiff_t>(seen[node]));
  std::vector<std::string> names;
  constexpr std::size_t shown = 12;
  for (std::size_t i = 0; i < std::min(way.size(), shown); ++i) names.push_back(graph.describe(way[i]));
  if (way.size() > shown) names.push_back(fmt::format("{} more", way.size() - shown));
  names.push_back(graph.describe(way.front()));
  throw UserError(fmt::format("{}: {} nodes wait for each other in a circle: {}", graph.file, way.size(),
                              join(names, " waits for ")),
                  "none of them could ever run; data_deps must not form cycles");
}

}  // namespace

std::vector<Index> topological_order(const ExecutionGraph& graph) {
  const std::size_t nodes = graph.size();
  std::vector<Index> order;
  order.reserve(nodes);
  bool is_sorted = true;
  for (Index node = 0; node < nodes && is_sorted; ++node) {
    const auto before = graph.data(node);
    is_sorted = std::all_of(before.begin(), before.end(), [node](Index other) { return other < node; });
  }
  if (is_sorted) {
    for (Index node = 0; node < nodes; ++node) order.push_back(node);
    return order;
  }
  std::vector<std::uint64_t> begin(nodes + 1, 0);  // dependents, CSR
  for (const Index before : graph.data_dependency) ++begin[before + 1];
  for (std::size_t i = 0; i < nodes; ++i) begin[i + 1] += begin[i];
  std::vector<Index> dependents(graph.data_dependency.size());
  std::vector<std::uint64_t> fill(begin.begin(), begin.end() - 1);
  std::vector<std::uint32_t> waits(nodes, 0);
  std::priority_queue<Index, std::vector<Index>, std::greater<>> ready;
  for (Index node = 0; node < nodes; ++node) {
    waits[node] = static_cast<std::uint32_t>(graph.data(node).size());
    if (waits[node] == 0) ready.push(node);
    for (const Index before : graph.data(node)) dependents[fill[before]++] = node;
  }
  while (!ready.empty()) {
    const Index node = ready.top();
    ready.pop();
    order.push_back(node);
    for (std::uint64_t i = begin[node]; i < begin[node + 1]; ++i) {
      if (--waits[dependents[i]] == 0) ready.push(dependents[i]);
    }
  }
  if (order.size() != nodes) report_cycle(graph, waits);
  return order;
}

std::vector<std::pair<Index, Index>> stream_edges(const ExecutionGraph& graph, std::span<const Index> order) {
  std::map<std::pair<bool, std::int64_t>, Index> last;
  std::vector<std::pair<Index, Index>> edges;
  for (const Index node : order) {
    if (graph.stream[node] < 0) continue;
    const auto [place, is_first] = last.try_emplace({graph.is_cpu_op[node], graph.stream[node]}, node);
    if (is_first) continue;
    const auto before = graph.data(node);
    if (std::find(before.begin(), before.end(), place->second) == before.end()) {
      edges.emplace_back(place->second, node);
    }
    place->second = node;
  }
  return edges;
}

}  // namespace warploom
