// SPDX-License-Identifier: Apache-2.0
// Nodes as operations of a device or a host, each at a moment.
#include "traces/chakra_capture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <utility>

#include "sim/core/errors.hpp"
#include "traces/chakra_reader.hpp"

namespace warploom {

namespace {

using Index = ExecutionGraph::Index;

// "name.3.et", "name.3.json".
std::optional<std::int64_t> rank_of(std::string_view file) {
  file = file.substr(file.find_last_of("/!") + 1);
  for (const std::string_view suffix : {".gz", ".et", ".json"}) {
    if (file.ends_with(suffix)) file.remove_suffix(suffix.size());
  }
  const auto dot = file.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  std::int64_t rank = 0;
  const char* const end = file.data() + file.size();
  const auto [rest, error] = std::from_chars(file.data() + dot + 1, end, rank);
  if (error != std::errc() || rest != end || rank < 0) return std::nullopt;
  return rank;
}

class Converter {
 public:
  explicit Converter(const ExecutionGraph& graph) : graph_(graph) {}

  Capture convert() {
    set_header();
    set_times();
    place_.assign(graph_.size(), nothing);
    for (Index node = 0; node < graph_.size(); ++node) add(node);
    for (Index node = 0; node < graph_.size(); ++node) add_edges(node);
    return std::move(capture_);
  }

 private:
  bool is_work(Index node) const {
    return graph_.type[node] != NodeType::invalid && graph_.type[node] != NodeType::metadata;
  }

  void set_header() {
    capture_.file = graph_.file;
    capture_.format = "chakra";
    capture_.rank = graph_.rank ? graph_.rank : rank_of(graph_.file);
    capture_.is_truncated = graph_.is_truncated;
    capture_.event_count = static_cast<std::int64_t>(graph_.size());
    capture_.facts = graph_.facts;
    if (!graph_.schema.empty()) capture_.facts["schema"] = graph_.schema;
    capture_.repairs = graph_.repairs;
    capture_.groups = graph_.groups;
    for (const NodeType type : graph_.type) ++capture_.events_by_category[std::string(name(type))];
  }

  Nanoseconds later(Nanoseconds start, Nanoseconds duration) const {
    if (start > std::numeric_limits<Nanoseconds>::max() - duration) {
      throw UserError(fmt::format("{}: its durations add up to more than 292 years", graph_.file));
    }
    return start + duration;
  }

  void set_times() {
    const auto order = topological_order(graph_);
    starts_ = graph_.start;
    const bool is_recorded = std::none_of(starts_.begin(), starts_.end(), [](Nanoseconds start) { return start < 0; });
    if (is_recorded && graph_.size() > 0) {
      for (Index node = 0; node < graph_.size(); ++node) later(starts_[node], graph_.duration[node]);
      return;
    }
    capture_.facts["times"] = "computed: the trace does not record when its nodes start";
    std::map<std::pair<bool, std::int64_t>, Nanoseconds> free;  // by stream or thread
    for (const Index node : order) {
      Nanoseconds start = 0;
      for (const Index before : graph_.data(node)) {
        start = std::max(start, starts_[before] + graph_.duration[before]);
      }
      auto& lane = free[{graph_.is_cpu_op[node], graph_.stream[node]}];
      if (is_work(node)) start = std::max(start, lane);
      starts_[node] = start;
      const Nanoseconds end = later(start, graph_.duration[node]);
      if (is_work(node)) lane = end;
    }
  }

  std::uint32_t stream_of(Index node) {
    const auto [place, is_new] =
        streams_.try_emplace(graph_.stream[node], static_cast<std::uint32_t>(capture_.streams.size()));
    if (is_new) {
      DeviceStream stream;
      stream.name = graph_.stream[node] < 0 ? "all" : std::to_string(graph_.stream[node]);
      capture_.streams.push_back(std::move(stream));
    }
    return place->second;
  }

  std::uint32_t thread_of(Index node) {
    const auto [place, is_new] =
        threads_.try_emplace(graph_.stream[node], static_cast<std::uint32_t>(capture_.threads.size()));
    if (is_new) capture_.threads.push_back({0, std::max<std::int64_t>(graph_.stream[node], 0), {}});
    return place->second;
  }

  std::uint32_t group_of(const NodeComm& comm) {
    const std::string name(graph_.texts[comm.group]);
    for (std::size_t i = 0; i < capture_.groups.size(); ++i) {
      if (capture_.groups[i].name == name) return static_cast<std::uint32_t>(i);
    }
    ProcessGroup group;
    group.name = name;
    capture_.groups.push_back(std::move(group));
    return static_cast<std::uint32_t>(capture_.groups.size() - 1);
  }

  std::uint32_t collective_of(Index node) {
    const NodeComm& comm = graph_.comms[graph_.comm[node]];
    const bool is_collective = graph_.type[node] == NodeType::collective;
    CollectiveRecord record;
    const std::string_view what = is_collective                         ? name(comm.kind)
                                  : graph_.type[node] == NodeType::send ? "send"
                                                                        : "recv";
    record.name = capture_.texts.add(what);
    record.type = capture_.texts.add("Byte");  // sizes are in bytes: elements of one
    record.in_elements = comm.bytes;
    record.source = comm.source;
    record.target = comm.target;
    if (comm.group != nothing) record.group = group_of(comm);
    capture_.collectives.push_back(record);
    return static_cast<std::uint32_t>(capture_.collectives.size() - 1);
  }

  void add(Index node) {
    if (!is_work(node)) return;
    const TextId label = capture_.texts.add(graph_.texts[graph_.name[node]]);
    if (graph_.is_cpu_op[node]) {
      HostOp op;
      op.start = starts_[node];
      op.duration = graph_.duration[node];
      op.name = label;
      op.thread = thread_of(node);
      place_[node] = static_cast<std::uint32_t>(capture_.host_ops.size());
      capture_.host_ops.push_back(op);
      return;
    }
    DeviceOp op;
    op.start = starts_[node];
    op.duration = graph_.duration[node];
    op.name = label;
    op.stream = stream_of(node);
    const NodeType type = graph_.type[node];
    if (type == NodeType::mem_load || type == NodeType::mem_store) {
      op.kind = DeviceOpKind::copy;
      op.bytes = std::max<std::int64_t>(graph_.tensor_size[node], 0);
    } else if (graph_.comm[node] != nothing) {
      op.collective = collective_of(node);
    }
    place_[node] = static_cast<std::uint32_t>(capture_.device_ops.size());
    capture_.device_ops.push_back(op);
  }

  void add_edges(Index node) {
    if (place_[node] == nothing || graph_.is_cpu_op[node]) return;
    for (const Index before : graph_.data(node)) {
      if (place_[before] == nothing) continue;
      if (graph_.is_cpu_op[before]) {
        capture_.device_ops[place_[node]].host_op = place_[before];
      } else {
        capture_.device_edges.push_back({place_[before], place_[node]});
      }
    }
  }

  const ExecutionGraph& graph_;
  Capture capture_;
  std::vector<Nanoseconds> starts_;
  std::vector<std::uint32_t> place_;  // in device_ops or host_ops
  std::map<std::int64_t, std::uint32_t> streams_;
  std::map<std::int64_t, std::uint32_t> threads_;
};

class ChakraReader final : public TraceReader {
 public:
  std::string_view name() const override { return "chakra"; }
  std::string_view meaning() const override { return "Chakra execution traces (.et, .json with workload_graph)"; }
  bool recognises(std::string_view first_bytes) const override {
    return is_chakra_json(first_bytes) || is_chakra(first_bytes);
  }
  std::vector<Capture> read(ByteSource& source, const ReadOptions& options) const override {
    std::vector<Capture> captures;
    captures.push_back(capture_of(read_execution_graph(source, options)));
    return captures;
  }
};

}  // namespace

Capture capture_of(const ExecutionGraph& graph) { return Converter(graph).convert(); }

std::unique_ptr<const TraceReader> make_chakra_reader() { return std::make_unique<ChakraReader>(); }

}  // namespace warploom
