// SPDX-License-Identifier: Apache-2.0
// What is Chakra's is told by content, as everywhere.
#include "traces/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "traces/chakra_capture.hpp"
#include "traces/chakra_reader.hpp"
#include "traces/json_text.hpp"

namespace warploom {

namespace {

namespace fs = std::filesystem;

class Collecting {
 public:
  explicit Collecting(const ReadOptions& options) : options_(options), readers_(trace_readers()) {}

  // False: there is another trace among them.
  bool take(const std::string& path) {
    if (!fs::is_directory(path)) return take_file(path);
    for (const auto& reader : readers_) {
      if (reader->recognises_folder(path)) return false;
    }
    std::vector<std::string> inner;
    for (const auto& entry : fs::directory_iterator(path, fs::directory_options::skip_permission_denied)) {
      if (entry.is_regular_file()) inner.push_back(entry.path().string());
      if (entry.is_directory()) return false;  // left to the reader of all formats
    }
    std::sort(inner.begin(), inner.end());
    return std::all_of(inner.begin(), inner.end(), [this](const std::string& file) { return take_file(file); });
  }

  std::vector<ExecutionGraph> finish() {
    number();
    return std::move(graphs_);
  }

 private:
  bool take_file(const std::string& path) {
    const auto source = open_bytes(path);
    bool is_alone = true;
    const bool is_archive =
        for_each_member(*source, [&](ByteSource& member) { is_alone = is_alone && take_source(member); });
    return is_archive ? is_alone : take_source(*source);
  }

  bool take_source(ByteSource& source) {
    const std::string_view first = source.peek();
    if (is_chakra(first) || is_chakra_json(first)) {
      graphs_.push_back(read_execution_graph(source, options_));
      return true;
    }
    return std::none_of(readers_.begin(), readers_.end(),
                        [&](const auto& reader) { return reader->recognises(first); });
  }

  void number() {
    std::set<std::int64_t> known;
    bool all_know = true;
    for (auto& graph : graphs_) {
      if (!graph.rank) graph.rank = chakra_rank_in_name(graph.file);
      all_know = all_know && graph.rank.has_value();
      if (graph.rank && !known.insert(*graph.rank).second) {
        throw UserError(fmt::format("rank {} is there twice, the second time in {}", *graph.rank, graph.file),
                        "convert the files of one run");
      }
    }
    std::int64_t next = 0;
    for (auto& graph : graphs_) {
      if (!all_know) graph.rank = next++;
    }
    std::stable_sort(graphs_.begin(), graphs_.end(),
                     [](const ExecutionGraph& a, const ExecutionGraph& b) { return a.rank < b.rank; });
  }

  const ReadOptions& options_;
  std::vector<std::unique_ptr<const TraceReader>> readers_;
  std::vector<ExecutionGraph> graphs_;
};

constexpr std::string_view type_names[] = {"INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
                                           "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};

std::string micros(Nanoseconds time) { return fmt::format("{}.{:03}", time / 1000, time % 1000); }

void add_comm(std::string& line, const ExecutionGraph& graph, const NodeComm& comm) {
  const auto add = [&line](std::string_view key, auto value) { line += fmt::format(R"(, "{}": {})", key, value); };
  if (comm.kind != CommKind::none) add("comm_type", static_cast<int>(comm.kind));
  if (comm.bytes >= 0) add("comm_size", comm.bytes);
  if (comm.source >= 0) add("comm_src", comm.source);
  if (comm.target >= 0) add("comm_dst", comm.target);
  if (comm.source >= 0 || comm.target >= 0 || comm.tag != 0) add("comm_tag", comm.tag);
  if (comm.priority != 0) add("comm_priority", comm.priority);
  if (comm.group != nothing) add("pg_name", json_string(graph.texts[comm.group]));
  if (comm.is_involved_said) {
    std::vector<std::string> bits;
    for (unsigned d = 0; d < 8; ++d) bits.emplace_back((comm.involved >> d & 1U) != 0 ? "true" : "false");
    add("involved_dim", "[" + join(bits) + "]");
  }
}

}  // namespace

std::vector<ExecutionGraph> read_chakra_alone(std::span<const std::string> paths, const ReadOptions& options) {
  Collecting collecting(options);
  for (const auto& path : paths) {
    if (!collecting.take(path)) return {};
  }
  return collecting.finish();
}

void write_chakra_json(const ExecutionGraph& graph, std::ostream& out) {
  out << "{\n";
  if (!graph.schema.empty()) out << "\"schema\": " << json_string(graph.schema) << ",\n";
  for (const auto& [key, value] : graph.facts) {
    if (key != "schema" && key != "workload_graph" && key != "duration_micros")
      out << json_string(key) << ": " << json_string(value) << ",\n";
  }
  out << "\"workload_graph\": [";
  std::string line;
  std::string buffer;
  JsonMends mends;  // a name's bytes that are no UTF-8 become U+FFFD
  for (ExecutionGraph::Index node = 0; node < graph.size(); ++node) {
    std::vector<std::uint64_t> data;
    for (const auto before : graph.data(node)) data.push_back(graph.id[before]);
    std::vector<std::uint64_t> control;
    for (const auto before : graph.control(node)) control.push_back(graph.id[before]);
    line = fmt::format(
        R"({}{{"Id": {}, "Name": {}, "NodeType": "{}", "ctrlDeps": [{}], "data_deps": [{}], "runtime": {}, )"
        R"("is_cpu_op": {})",
        node == 0 ? "\n" : ",\n", graph.id[node], json_string(valid_utf8(graph.texts[graph.name[node]], buffer, mends)),
        type_names[static_cast<std::size_t>(graph.type[node])], fmt::join(control, ", "), fmt::join(data, ", "),
        micros(graph.duration[node]), graph.is_cpu_op[node]);
    if (graph.start[node] >= 0) line += R"(, "start_time_micros": )" + micros(graph.start[node]);
    if (graph.stream[node] >= 0) line += fmt::format(R"(, "stream": {})", graph.stream[node]);
    if (graph.num_ops[node] >= 0) line += fmt::format(R"(, "num_ops": {})", graph.num_ops[node]);
    if (graph.tensor_size[node] >= 0) line += fmt::format(R"(, "tensor_size": {})", graph.tensor_size[node]);
    if (graph.comm[node] != nothing) add_comm(line, graph, graph.comms[graph.comm[node]]);
    out << line << '}';
  }
  out << "\n]}\n";
  if (!out.flush()) throw UserError(fmt::format("{}: cannot be written", graph.file), "is the disk full?");
}

}  // namespace warploom
