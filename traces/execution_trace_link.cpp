// SPDX-License-Identifier: Apache-2.0
// The operators of an execution trace found again in a capture of the same program.
#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/classify.hpp"
#include "traces/execution_trace.hpp"

namespace warploom {

namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // operator of the capture, node

// Both kept the same ids, unless the names say that the traces are of different runs.
Pairs by_record_id(const Capture& capture, const ExecutionTrace& trace) {
  std::unordered_map<std::int64_t, std::uint32_t> nodes;
  for (std::uint32_t i = 0; i < trace.nodes.size(); ++i) {
    if (trace.nodes[i].record_id > 0) nodes.try_emplace(trace.nodes[i].record_id, i);
  }
  Pairs pairs;
  std::size_t others = 0;
  for (std::uint32_t i = 0; i < capture.host_ops.size(); ++i) {
    const auto& op = capture.host_ops[i];
    const auto place = op.record_id > 0 ? nodes.find(op.record_id) : nodes.end();
    if (place == nodes.end()) continue;
    if (capture.texts[op.name] == trace.texts[trace.nodes[place->second].name]) {
      pairs.emplace_back(i, place->second);
    } else {
      ++others;
    }
  }
  if (others > pairs.size()) pairs.clear();
  return pairs;
}

using ByName = std::map<std::string_view, std::vector<std::uint32_t>>;

std::size_t common(const ByName& a, const ByName& b) {
  std::size_t sum = 0;
  for (const auto& [name, places] : a) {
    if (const auto other = b.find(name); other != b.end()) sum += std::min(places.size(), other->second.size());
  }
  return sum;
}

// The k-th of a name on a thread is the k-th on the other side, if both have equally many of it.
Pairs by_order(const Capture& capture, const ExecutionTrace& trace) {
  std::map<std::int64_t, ByName> node_threads;
  for (std::uint32_t i = 0; i < trace.nodes.size(); ++i) {
    node_threads[trace.nodes[i].thread][trace.texts[trace.nodes[i].name]].push_back(i);
  }
  std::map<std::uint32_t, ByName> op_threads;  // operators are in the order of their starts on each thread
  for (std::uint32_t i = 0; i < capture.host_ops.size(); ++i) {
    op_threads[capture.host_ops[i].thread][capture.texts[capture.host_ops[i].name]].push_back(i);
  }
  Pairs pairs;
  for (const auto& [thread, ops] : op_threads) {
    const ByName* best = nullptr;
    std::size_t most = 0;
    for (const auto& [node_thread, nodes] : node_threads) {
      if (const std::size_t count = common(ops, nodes); count > most) {
        most = count;
        best = &nodes;
      }
    }
    if (best == nullptr) continue;
    for (const auto& [name, places] : ops) {
      const auto nodes = best->find(name);
      if (nodes == best->end() || nodes->second.size() != places.size()) continue;
      for (std::size_t k = 0; k < places.size(); ++k) pairs.emplace_back(places[k], nodes->second[k]);
    }
  }
  return pairs;
}

class Joining {
 public:
  Joining(Capture& capture, const ExecutionTrace& trace) : capture_(capture), trace_(trace) {}

  void join(std::uint32_t op_place, const ExecutionNode& node) {
    HostOp& op = capture_.host_ops[op_place];
    if (op.shapes == nothing && node.shapes != nothing) {
      op.shapes = text(node.shapes);
      op.types = text(node.types);
    }
    if (op.collective == nothing && node.collective != nothing) op.collective = collective(node.collective);
  }

 private:
  TextId text(TextId id) { return id == nothing ? nothing : capture_.texts.add(trace_.texts[id]); }
  std::uint32_t collective(std::uint32_t place) {
    CollectiveRecord record = trace_.collectives[place];
    record.name = text(record.name);
    record.type = text(record.type);
    record.in_splits = text(record.in_splits);
    record.out_splits = text(record.out_splits);
    if (record.group != nothing) record.group = group(record.group);
    capture_.collectives.push_back(record);
    return static_cast<std::uint32_t>(capture_.collectives.size() - 1);
  }
  std::uint32_t group(std::uint32_t place) {
    const auto [known, is_new] = groups_.try_emplace(place, static_cast<std::uint32_t>(capture_.groups.size()));
    if (!is_new) return known->second;
    ProcessGroup group = trace_.groups[place];
    if (group.ranks.empty() && capture_.world_size == group.size) {  // as large as the world, it is the world
      for (std::int64_t rank = 0; rank < group.size; ++rank) group.ranks.push_back(rank);
    }
    capture_.groups.push_back(std::move(group));
    return known->second;
  }

  Capture& capture_;
  const ExecutionTrace& trace_;
  std::unordered_map<std::uint32_t, std::uint32_t> groups_;
};

}  // namespace

std::int64_t add_execution_trace(Capture& capture, const ExecutionTrace& trace) {
  Pairs pairs = by_record_id(capture, trace);
  if (pairs.empty()) pairs = by_order(capture, trace);
  Joining joining(capture, trace);
  for (const auto& [op, node] : pairs) joining.join(op, trace.nodes[node]);
  take_collectives_of_operators(capture);
  return static_cast<std::int64_t>(pairs.size());
}

}  // namespace warploom
