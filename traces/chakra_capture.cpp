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

class Converter {
 public:
  explicit Converter(const ExecutionGraph& graph) : graph_(graph) {}

  Capture convert() {
    set_header();
    set_times();
    place_.assign(graph_.size(), nothing);
    for (Index node = 0; node < graph_.size(); ++node) add(node);
    for (Index node = 0; node < graph_.size(); ++node) add_edges(node);
    if (is_recorded_) add_calls();
    return std::move(capture_);
  }

 private:
  bool is_work(Index node) const {
    return graph_.type[node] != NodeType::invalid && graph_.type[node] != NodeType::metadata;
  }

  void set_header() {
    capture_.file = graph_.file;
    capture_.format = "chakra";
    capture_.rank = graph_.rank ? graph_.rank : chakra_rank_in_name(graph_.file);
    capture_.is_truncated = graph_.is_truncated;
    capture_.event_count = static_cast<std::int64_t>(graph_.size());
    capture_.facts = graph_.facts;
    if (const auto fact = graph_.facts.find("resolution_ns"); fact != graph_.facts.end()) {
      const std::string& text = fact->second;
      Nanoseconds resolution = 1;
      std::from_chars(text.data(), text.data() + text.size(), resolution);
      capture_.resolution = std::clamp<Nanoseconds>(resolution, 1, 1'000'000);
    }
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
    is_recorded_ = std::none_of(starts_.begin(), starts_.end(), [](Nanoseconds start) { return start < 0; });
    if (is_recorded_ && graph_.size() > 0) {
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
    // Profilers' copies and fills are compute nodes to converters; they keep the profilers' names.
    const std::string_view called = graph_.texts[graph_.name[node]];
    const bool is_fill = type == NodeType::compute && called.starts_with("Memset");
    if (type == NodeType::mem_load || type == NodeType::mem_store || is_fill ||
        (type == NodeType::compute && called.starts_with("Memcpy"))) {
      op.kind = is_fill ? DeviceOpKind::fill : DeviceOpKind::copy;
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
      } else if (!is_recorded_ || !is_queued_behind(before, node)) {
        capture_.device_edges.push_back({place_[before], place_[node]});
      }
    }
  }

  // Where starts are recorded the order of a stream is known without its being a dependency.
  bool is_queued_behind(Index before, Index node) const {
    return graph_.stream[node] >= 0 && graph_.stream[before] == graph_.stream[node] && end(before) <= starts_[node];
  }

  Nanoseconds end(Index node) const { return starts_[node] + graph_.duration[node]; }

  // Where starts are recorded, host nodes are calls: what a device node waits for launches it at its end; one that
  // waits for device nodes returns at its end, having been made when what it waits for of the host was done.
  void add_calls() {
    std::vector<std::uint32_t> launched_by(graph_.size(), nothing);  // by device node: the host node
    for (Index node = 0; node < graph_.size(); ++node) {
      if (place_[node] == nothing || graph_.is_cpu_op[node]) continue;
      for (const Index before : graph_.data(node)) {
        if (place_[before] == nothing || !graph_.is_cpu_op[before]) continue;
        auto& launcher = launched_by[node];
        if (launcher == nothing || end(before) > end(launcher)) launcher = before;
      }
    }
    std::vector<std::uint32_t> call_of(graph_.size(), nothing);  // by host node that launches
    for (Index node = 0; node < graph_.size(); ++node) {
      if (const std::uint32_t launcher = launched_by[node]; launcher != nothing) {
        if (call_of[launcher] == nothing) {
          const DeviceOpKind made = capture_.device_ops[place_[node]].kind;
          const CallKind kind = made == DeviceOpKind::copy   ? CallKind::copy
                                : made == DeviceOpKind::fill ? CallKind::fill
                                                             : CallKind::launch;
          call_of[launcher] = add_call(launcher, end(launcher), 0, kind);
        }
        capture_.device_ops[place_[node]].launch = call_of[launcher];
      }
    }
    for (Index node = 0; node < graph_.size(); ++node) {
      if (place_[node] != nothing && graph_.is_cpu_op[node]) add_wait(node, launched_by, call_of);
    }
  }

  void add_wait(Index node, const std::vector<std::uint32_t>& launched_by, const std::vector<std::uint32_t>& call_of) {
    std::size_t waits = 0;
    Index maker = nothing;  // the host node before it
    for (const Index before : graph_.data(node)) {
      if (place_[before] == nothing) continue;
      if (!graph_.is_cpu_op[before]) ++waits;
      if (graph_.is_cpu_op[before] && (maker == nothing || end(before) > end(maker))) maker = before;
    }
    if (waits == 0) return;
    Nanoseconds start = maker == nothing ? starts_[node] : std::min(end(maker), end(node));
    if (maker != nothing && call_of[maker] != nothing) {
      for (const Index before : graph_.data(node)) {
        if (graph_.is_cpu_op[before] || launched_by[before] != maker) continue;
        auto& call = capture_.calls[call_of[maker]];  // a copy that its call waits for
        call.kind = CallKind::copy;
        call.duration = end(node) - call.start;
        return;
      }
      start = std::min(start + 1, end(node));  // after the launch that its node stands for as well
    }
    add_call(node, start, end(node) - start, waits > 1 ? CallKind::device_sync : CallKind::event_sync);
  }

  std::uint32_t add_call(Index node, Nanoseconds start, Nanoseconds duration, CallKind kind) {
    HostCall call;
    call.start = start;
    call.duration = duration;
    call.name = capture_.host_ops[place_[node]].name;
    call.thread = capture_.host_ops[place_[node]].thread;
    call.host_op = place_[node];
    call.kind = kind;
    capture_.calls.push_back(call);
    return static_cast<std::uint32_t>(capture_.calls.size() - 1);
  }

  const ExecutionGraph& graph_;
  Capture capture_;
  bool is_recorded_ = false;
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

std::optional<std::int64_t> chakra_rank_in_name(std::string_view file) {
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

Capture capture_of(const ExecutionGraph& graph) { return Converter(graph).convert(); }

std::unique_ptr<const TraceReader> make_chakra_reader() { return std::make_unique<ChakraReader>(); }

}  // namespace warploom
