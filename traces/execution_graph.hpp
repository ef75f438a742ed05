// SPDX-License-Identifier: Apache-2.0
// What one rank does as a graph: operations and what each waits for, without a clock. Chakra's content, and what
// ASTRA-sim takes.
//
// Struct of arrays, one row a node in the order of the file; below 100 bytes a node besides dependencies. `data`
// dependencies order the nodes. `control` dependencies say of traces of real runs what an operation was called from:
// they dangle, point at themselves and close cycles, and order nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "traces/capture.hpp"
#include "traces/key_index.hpp"
#include "traces/repairs.hpp"

namespace warploom {

// Values as in the file (ChakraProtoMsg).
enum class NodeType : std::uint8_t { invalid, metadata, mem_load, mem_store, compute, send, receive, collective };
std::string_view name(NodeType type);

enum class CommKind : std::uint8_t {
  all_reduce,
  reduce,
  all_gather,
  gather,
  scatter,
  broadcast,
  all_to_all,
  reduce_scatter,
  reduce_scatter_block,
  barrier,
  none,  // not said
};
std::string_view name(CommKind kind);

// What a send, receive or collective says of itself.
struct NodeComm {
  std::int64_t bytes = -1;   // all-gather: of one rank's part; else the full buffer; -1: not said
  std::int32_t source = -1;  // -1: not said
  std::int32_t target = -1;
  std::int32_t tag = 0;
  std::uint32_t priority = 0;
  TextId group = nothing;        // "pg_name"
  std::uint32_t involved = ~0U;  // bit d: dimension d of the network takes part
  CommKind kind = CommKind::none;
  bool is_involved_said = false;

  friend bool operator==(const NodeComm&, const NodeComm&) = default;
};

class ExecutionGraph {
 public:
  using Index = std::uint32_t;

  std::size_t size() const { return id.size(); }
  std::span<const Index> data(Index node) const {
    return std::span(data_dependency).subspan(data_begin[node], data_begin[node + 1] - data_begin[node]);
  }
  std::span<const Index> control(Index node) const {
    return std::span(control_dependency).subspan(control_begin[node], control_begin[node + 1] - control_begin[node]);
  }
  std::string describe(Index node) const;  // "`aten::mm` (node 17)"

  std::string file;
  std::string schema;   // "1.0.2-chakra.0.0.4"; empty: not said
  std::string version;  // of the format, "0.0.4"
  std::optional<std::int64_t> rank;
  bool is_truncated = false;
  std::map<std::string, std::string> facts;  // what else the file says of the run

  // Columns.
  std::vector<std::uint64_t> id;
  std::vector<TextId> name;
  std::vector<NodeType> type;
  std::vector<bool> is_cpu_op;
  std::vector<Nanoseconds> start;     // -1: not recorded
  std::vector<Nanoseconds> duration;  // 0 where not recorded
  // What a simulator without gaps takes instead of the duration (traces/convert_chakra.hpp); empty: the duration.
  std::vector<Nanoseconds> folded_duration;
  std::vector<std::int64_t> stream;             // of the device; of operations of a host its thread; -1: not said
  std::vector<std::int64_t> num_ops;            // -1: not said
  std::vector<std::int64_t> tensor_size;        // bytes; -1: not said
  std::vector<std::uint32_t> comm;              // in `comms`
  std::vector<std::uint64_t> data_begin = {0};  // CSR
  std::vector<Index> data_dependency;
  std::vector<std::uint64_t> control_begin = {0};  // CSR
  std::vector<Index> control_dependency;

  std::vector<NodeComm> comms;
  std::vector<ProcessGroup> groups;  // of metadata nodes
  StringTable texts;
  Repairs repairs;

  // What was found among the dependencies; those that dangle or name their own node are left out above.
  struct Found {
    std::int64_t data = 0;  // in the file
    std::int64_t control = 0;
    std::int64_t dangling_data = 0;
    std::int64_t dangling_control = 0;
    std::int64_t dangling_control_ids = 0;  // distinct
    std::int64_t self_data = 0;
    std::int64_t self_control = 0;
    std::int64_t data_to_larger_id = 0;
  };
  Found found;
};

// A node as a reader hands it over; texts are copied.
struct GraphNode {
  std::uint64_t id = 0;
  std::string_view name;
  NodeType type = NodeType::invalid;
  bool is_cpu_op = false;
  Nanoseconds start = -1;
  Nanoseconds duration = 0;
  Nanoseconds folded = -1;  // -1: the duration
  std::int64_t stream = -1;
  std::int64_t num_ops = -1;
  std::int64_t tensor_size = -1;
  bool has_comm = false;
  NodeComm comm;
  std::vector<std::uint64_t> data;
  std::vector<std::uint64_t> control;
};

// Takes nodes in the order of the file, then joins dependencies by id.
class GraphBuilder {
 public:
  explicit GraphBuilder(ExecutionGraph& graph) : graph_(graph) {}
  void add(const GraphNode& node);
  // Room for about so many nodes in all, by those so far; what it does not take is never touched.
  void expect(std::size_t nodes);
  // Throws UserError for two nodes of one id.
  void finish();

 private:
  void join(const KeyIndex& ids);
  TextId name_of(std::string_view text);
  void add_folded(const GraphNode& node);

  ExecutionGraph& graph_;
  std::vector<TextId> follows_;  // by name: that of the node after it, when it last stood there
  std::vector<std::uint64_t> data_ids_;
  std::vector<std::uint64_t> control_ids_;
};

// The order in which the nodes can run: each after its data dependencies, else as in the file. Throws UserError that
// prints the cycle where there is one.
std::vector<ExecutionGraph::Index> topological_order(const ExecutionGraph& graph);

// (earlier, later) on one stream of the device, or one host thread, that say which they are, where the later does not
// name the earlier itself. `order` is that of launch.
std::vector<std::pair<ExecutionGraph::Index, ExecutionGraph::Index>> stream_edges(
    const ExecutionGraph& graph, std::span<const ExecutionGraph::Index> order);

}  // namespace warploom
