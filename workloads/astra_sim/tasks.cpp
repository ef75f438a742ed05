// SPDX-License-Identifier: Apache-2.0
// What each node of a graph is to do, and for how long.
#include "workloads/astra_sim/tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/core/errors.hpp"
#include "traces/chakra_reader.hpp"
#include "workloads/astra_sim/task_builder.hpp"

namespace warploom {

namespace {

using Kind = AstraTask::Kind;
using Index = ExecutionGraph::Index;

CollectiveKind collective_of(CommKind kind) {
  switch (kind) {
    case CommKind::reduce:
      return CollectiveKind::reduce;
    case CommKind::all_gather:
      return CollectiveKind::all_gather;
    case CommKind::gather:
      return CollectiveKind::gather;
    case CommKind::scatter:
      return CollectiveKind::scatter;
    case CommKind::broadcast:
      return CollectiveKind::broadcast;
    case CommKind::all_to_all:
      return CollectiveKind::all_to_all;
    case CommKind::reduce_scatter:
    case CommKind::reduce_scatter_block:
      return CollectiveKind::reduce_scatter;
    default:
      return CollectiveKind::all_reduce;
  }
}

// "One node", "12 nodes" of notes.
struct Counted {
  std::int64_t no_duration = 0;
  std::int64_t no_duration_but_ops = 0;
  std::int64_t of_one_rank = 0;
  std::int64_t zero_bytes = 0;
  std::int64_t recorded_comm = 0;
  std::int64_t host_comm = 0;
  std::int64_t custom_of_other_size = 0;
};

class Builder {
 public:
  Builder(AstraTasks& out, const AstraRun& run, std::size_t ranks)
      : out_(out), run_(run), groups_(out, run, ranks), matching_(out) {
    out.ranks = ranks;
  }

  void add_rank(const ExecutionGraph& graph, std::uint32_t rank) {
    const auto order = topological_order(graph);
    std::map<Index, std::vector<Index>> after_on_stream;
    for (const auto& [from, to] : stream_edges(graph, order)) after_on_stream[to].push_back(from);
    std::vector<AstraTaskId> task_of(graph.size(), nothing);
    std::vector<AstraTaskId> before;
    for (const Index node : order) {
      before.clear();
      for (const Index other : graph.data(node)) before.push_back(task_of[other]);
      if (const auto more = after_on_stream.find(node); more != after_on_stream.end()) {
        for (const Index other : more->second) before.push_back(task_of[other]);
      }
      task_of[node] = add_node(graph, node, rank, before);
      ++out_.counts[std::string(name(graph.type[node]))];
    }
  }

  void finish() {
    matching_.finish();
    const auto note = [this](std::int64_t count, const char* text) {
      if (count > 0) out_.notes.push_back(fmt::format(fmt::runtime(text), count));
    };
    note(counted_.no_duration_but_ops,
         "{} compute nodes have num_ops but no duration and take no time: set `roofline-enabled` in the system file");
    note(counted_.no_duration, "{} compute nodes have no duration and take no time");
    note(counted_.of_one_rank, "{} collectives are of groups of one rank and take no time");
    note(counted_.zero_bytes, "warning: {} collectives are of 0 bytes: their ranks only wait for each other");
    note(counted_.recorded_comm, "{} communication nodes take their recorded duration: they do not say what they move");
    note(counted_.host_comm,
         "{} communication nodes of the host are calls of its own and take their recorded duration");
    note(counted_.custom_of_other_size,
         "{} custom collectives move what their traces say, which is not their node's comm_size");
  }

 private:
  AstraTaskId add(AstraTask task, std::span<const AstraTaskId> before) {
    if (out_.tasks.size() >= nothing - 1) throw UserError("more than 4,294,967,294 nodes in all ranks");
    const auto id = static_cast<AstraTaskId>(out_.tasks.size());
    out_.tasks.push_back(task);
    out_.before.insert(out_.before.end(), before.begin(), before.end());
    out_.before_begin.push_back(out_.before.size());
    return id;
  }

  std::uint32_t name_of(std::string_view text) {
    const auto [place, is_new] =
        name_ids_.try_emplace(std::string(text), static_cast<std::uint32_t>(out_.names.size()));
    if (is_new) out_.names.emplace_back(text);
    return place->second;
  }

  std::uint32_t lane(std::uint32_t rank, const std::string& name, Kind kind, bool is_exclusive,
                     bool is_shared = false) {
    const auto [place, is_new] =
        lanes_.try_emplace({is_shared ? nothing : rank, name}, static_cast<std::uint32_t>(out_.lanes.size()));
    if (is_new) out_.lanes.push_back({rank, name, kind, is_exclusive, is_shared});
    return place->second;
  }

  // The lane that the trace names, or one of the rank for all of a kind.
  std::uint32_t lane_of(const ExecutionGraph& graph, Index node, std::uint32_t rank, Kind kind, const char* otherwise) {
    if (graph.stream[node] < 0) return lane(rank, otherwise, kind, true);
    const bool is_host = graph.is_cpu_op[node];
    return lane(rank, fmt::format("{} {}", is_host ? "host thread" : "stream", graph.stream[node]),
                is_host ? Kind::host : Kind::compute, false);
  }

  AstraTaskId add_node(const ExecutionGraph& graph, Index node, std::uint32_t rank,
                       std::span<const AstraTaskId> before) {
    AstraTask task;
    task.rank = rank;
    task.name = name_of(graph.texts[graph.name[node]]);
    task.node = graph.id[node];
    task.order =
        static_cast<std::int64_t>(std::min<std::uint64_t>(task.node, std::numeric_limits<std::int64_t>::max()));
    task.duration_ns = graph.folded_duration.empty() ? graph.duration[node] : graph.folded_duration[node];
    const NodeType type = graph.type[node];
    if (type == NodeType::invalid || type == NodeType::metadata) return add(task, before);
    if (type == NodeType::mem_load || type == NodeType::mem_store) return add_memory(graph, node, task, before);
    if (graph.is_cpu_op[node]) {
      if (type != NodeType::compute) ++counted_.host_comm;
      return add_timed(task, Kind::host, lane_of(graph, node, rank, Kind::host, "host"), before);
    }
    if (type == NodeType::compute) return add_compute(graph, node, task, before);
    if (run_.system.replay_only) {
      return add_timed(task, Kind::timed_comm, lane_of(graph, node, rank, Kind::timed_comm, "communication"), before);
    }
    if (type == NodeType::collective) return add_collective(graph, node, task, before);
    return add_point_to_point(graph, node, task, before, "", nullptr);
  }

  AstraTaskId add_timed(AstraTask task, Kind kind, std::uint32_t lane, std::span<const AstraTaskId> before) {
    task.kind = task.duration_ns > 0 ? kind : Kind::marker;
    if (task.kind != Kind::marker) task.lane = lane;
    return add(task, before);
  }

  AstraTaskId add_memory(const ExecutionGraph& graph, Index node, AstraTask task, std::span<const AstraTaskId> before) {
    const auto& memory = run_.memory;
    if (memory.kind == AstraMemory::Kind::none && !run_.system.replay_only) {
      throw UserError(
          fmt::format("{}: {} loads or stores remote memory, and there is none", graph.file, graph.describe(node)),
          "give --remote-memory FILE.json of another memory-type than NO_MEMORY_EXPANSION");
    }
    if (!run_.system.replay_only) {
      if (graph.tensor_size[node] < 0) {
        throw UserError(fmt::format("{}: {} does not say its tensor_size", graph.file, graph.describe(node)));
      }
      task.duration_ns = memory.nanoseconds(graph.tensor_size[node]);
    }
    if (memory.kind == AstraMemory::Kind::per_node) {
      const auto place = static_cast<std::int64_t>(task.rank) / memory.npus_per_node;
      return add_timed(task, Kind::memory,
                       lane(task.rank, fmt::format("memory of node {}", place), Kind::memory, true, true), before);
    }
    if (memory.kind == AstraMemory::Kind::pool) {
      return add_timed(task, Kind::memory, lane(task.rank, "memory pool", Kind::memory, true, true), before);
    }
    return add_timed(task, Kind::memory, lane(task.rank, "memory", Kind::memory, true), before);
  }

  AstraTaskId add_compute(const ExecutionGraph& graph, Index node, AstraTask task,
                          std::span<const AstraTaskId> before) {
    const std::int64_t ops = graph.num_ops[node];
    const std::int64_t size = graph.tensor_size[node];
    if (run_.system.roofline && !run_.system.replay_only && ops >= 0 && size >= 0) {
      // Of no tensor: nothing to do, as in ASTRA-sim.
      const double flops_time = static_cast<double>(ops) / (run_.system.peak_tflops * 1e3);  // ns
      const double bytes_time = static_cast<double>(size) / run_.system.memory_gb_per_s;     // ns
      const double time = std::floor(size == 0 ? 0 : std::max(flops_time, bytes_time));
      if (!(time < 9e15)) {
        throw UserError(fmt::format("{}: {} takes longer than 100 days", graph.file, graph.describe(node)));
      }
      task.duration_ns = static_cast<std::int64_t>(time);
    } else if (task.duration_ns == 0) {
      ++(ops > 0 ? counted_.no_duration_but_ops : counted_.no_duration);
    }
    return add_timed(task, Kind::compute, lane_of(graph, node, task.rank, Kind::compute, "compute"), before);
  }

  std::int64_t scaled(std::int64_t bytes) const {
    if (run_.comm_scale == 1.0) return bytes;
    const double value = std::floor(static_cast<double>(bytes) * run_.comm_scale);
    if (!(value < 9e18)) throw UserError(fmt::format("{} bytes x {} is too much", bytes, run_.comm_scale));
    return static_cast<std::int64_t>(value);
  }

  AstraTaskId add_collective(const ExecutionGraph& graph, Index node, AstraTask task,
                             std::span<const AstraTaskId> before) {
    const NodeComm& comm = graph.comms[graph.comm[node]];
    const bool is_said = comm.kind != CommKind::none && (comm.bytes >= 0 || comm.kind == CommKind::barrier);
    if (!is_said) {
      if (task.duration_ns == 0) {
        throw UserError(fmt::format("{}: {} says no {} and has no duration", graph.file, graph.describe(node),
                                    comm.kind == CommKind::none ? "comm_type" : "comm_size"),
                        "a COMM_COLL_NODE needs comm_type and comm_size");
      }
      ++counted_.recorded_comm;
      return add_timed(task, Kind::timed_comm, lane_of(graph, node, task.rank, Kind::timed_comm, "communication"),
                       before);
    }
    const std::uint32_t members = groups_.find(graph, node, task.rank);
    if (out_.members[members].ranks.size() < 2) {
      ++counted_.of_one_rank;
      return add(task, before);
    }
    AstraPart part{0, task.rank, collective_of(comm.kind), comm.kind == CommKind::barrier ? 0 : scaled(comm.bytes),
                   comm.priority};
    if (part.bytes == 0 && comm.kind != CommKind::barrier) ++counted_.zero_bytes;
    const std::string custom = custom_prefix(graph.id[node], part.kind);
    if (!custom.empty()) return add_custom(custom, members, part, task, before);
    task.kind = Kind::collective;
    task.lane = graph.stream[node] >= 0 ? lane_of(graph, node, task.rank, Kind::compute, "")
                                        : lane(task.rank, out_.member_names[members] + fmt::format(" #{}", members),
                                               Kind::collective, false);
    part.task = add(task, before);
    matching_.add_collective(members, part);
    return part.task;
  }

  // ---- Custom collectives ------------------------------------------------------------------------------------------

  std::string custom_prefix(std::uint64_t node, CollectiveKind kind) const {
    if (const auto own = run_.system.custom_of_node.find(static_cast<std::int64_t>(node));
        own != run_.system.custom_of_node.end()) {
      return own->second;
    }
    static constexpr std::pair<CollectiveKind, AstraCollective> kinds[] = {
        {CollectiveKind::all_reduce, AstraCollective::all_reduce},
        {CollectiveKind::all_gather, AstraCollective::all_gather},
        {CollectiveKind::reduce_scatter, AstraCollective::reduce_scatter},
        {CollectiveKind::all_to_all, AstraCollective::all_to_all}};
    for (const auto& [ours, theirs] : kinds) {
      if (ours != kind) continue;
      const auto place = run_.system.custom.find(theirs);
      return place == run_.system.custom.end() ? std::string() : place->second;
    }
    return {};
  }

  const std::vector<ExecutionGraph>& custom_graphs(const std::string& prefix) {
    const auto [place, is_new] = customs_.try_emplace(prefix);
    if (is_new) {
      for (const auto& file : astra_workload_files(prefix))
        place->second.push_back(read_execution_graph(*open_bytes(file)));
    }
    return place->second;
  }

  // What the algorithm's trace of this member does, between a beginning and an end.
  AstraTaskId add_custom(const std::string& prefix, std::uint32_t members, const AstraPart& part, AstraTask task,
                         std::span<const AstraTaskId> before) {
    const auto& graphs = custom_graphs(prefix);
    const auto& ranks = out_.members[members].ranks;
    if (graphs.size() != ranks.size()) {
      throw UserError(fmt::format("{}: a custom collective of {} ranks, called by {} ({})", prefix, graphs.size(),
                                  ranks.size(), out_.member_names[members]));
    }
    const auto place = std::lower_bound(ranks.begin(), ranks.end(), static_cast<Rank>(task.rank)) - ranks.begin();
    const auto& graph = graphs[static_cast<std::size_t>(place)];
    const std::string call = fmt::format("{}/{}/{}", members, name(part.kind), part.bytes);
    const std::string scope = fmt::format("{}/{}", call, calls_[{task.rank, call}]++);
    AstraTask begin = task;
    begin.duration_ns = 0;
    std::vector<AstraTaskId> waits = {add(begin, before)};
    const AstraTaskId start = waits.front();
    std::vector<AstraTaskId> task_of(graph.size(), nothing);
    std::vector<AstraTaskId> all = {start};
    std::int64_t sent = 0;
    for (const Index node : topological_order(graph)) {
      waits.assign(1, start);
      for (const Index other : graph.data(node)) waits.push_back(task_of[other]);
      AstraTask step = task;
      step.name = name_of(graph.texts[graph.name[node]]);
      step.node = graph.id[node];
      step.duration_ns = graph.duration[node];
      if (graph.type[node] == NodeType::send || graph.type[node] == NodeType::receive) {
        task_of[node] = add_point_to_point(graph, node, step, waits, scope, &ranks);
        if (graph.type[node] == NodeType::send) sent += graph.comms[graph.comm[node]].bytes;
      } else {
        task_of[node] = add_timed(step, Kind::timed_comm, lane(task.rank, "reduction", Kind::timed_comm, true), waits);
      }
      all.push_back(task_of[node]);
    }
    // A ring's share is told by its size; of other algorithms nothing is known.
    const auto n = static_cast<double>(ranks.size());
    if (part.kind == CollectiveKind::all_reduce && sent > 0 &&
        std::abs(static_cast<double>(sent) - 2 * (n - 1) / n * static_cast<double>(part.bytes)) >
            0.01 * static_cast<double>(sent)) {
      ++counted_.custom_of_other_size;
    }
    AstraTask end = task;
    end.duration_ns = 0;
    return add(end, all);
  }

  // `members`: numbers in the trace are places among them.
  AstraTaskId add_point_to_point(const ExecutionGraph& graph, Index node, AstraTask task,
                                 std::span<const AstraTaskId> before, const std::string& scope,
                                 const std::vector<Rank>* members) {
    const NodeComm& comm = graph.comms[graph.comm[node]];
    const bool is_send = graph.type[node] == NodeType::send;
    const std::int32_t peer_number = is_send ? comm.target : comm.source;
    const auto refuse = [&](const std::string& why) {
      throw UserError(fmt::format("{}: {} {}", graph.file, graph.describe(node), why));
    };
    if (peer_number < 0) refuse(is_send ? "says no comm_dst" : "says no comm_src");
    if (comm.bytes < 0) refuse("says no comm_size");
    const auto most = static_cast<std::int64_t>(members != nullptr ? members->size() : out_.ranks);
    if (peer_number >= most) refuse(fmt::format("names rank {}, but there are {}", peer_number, most));
    const Rank peer = members != nullptr ? (*members)[static_cast<std::size_t>(peer_number)] : peer_number;
    const std::int32_t own = is_send ? comm.source : comm.target;
    if (members == nullptr && own >= 0 && own != static_cast<std::int32_t>(task.rank)) {
      refuse(fmt::format("is of rank {}, in the file of rank {}", own, task.rank));
    }
    if (peer == static_cast<Rank>(task.rank)) refuse("is from a rank to itself");
    task.kind = is_send ? Kind::send : Kind::receive;
    task.duration_ns = 0;
    task.lane = lane(task.rank, fmt::format("{} {} tag {}", is_send ? "to" : "from", peer, comm.tag), task.kind, false);
    AstraPart part{add(task, before), task.rank, CollectiveKind::send_recv, scaled(comm.bytes), comm.priority};
    if (is_send) {
      matching_.add_send(scope, peer, comm.tag, part);
    } else {
      matching_.add_receive(scope, peer, comm.tag, part);
    }
    return part.task;
  }

  AstraTasks& out_;
  const AstraRun& run_;
  AstraGroupTable groups_;
  AstraMatching matching_;
  Counted counted_;
  std::unordered_map<std::string, std::uint32_t> name_ids_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> lanes_;
  std::map<std::string, std::vector<ExecutionGraph>> customs_;
  std::map<std::pair<std::uint32_t, std::string>, std::int64_t> calls_;
};

}  // namespace

AstraTasks astra_tasks(const std::vector<ExecutionGraph>& graphs, const AstraRun& run) {
  AstraTasks out;
  const auto npus = run.network.npus();
  const auto ranks = static_cast<std::int64_t>(graphs.size());
  if (ranks > npus) {
    throw UserError(fmt::format("{} ranks of the workload, {} NPUs of the network", ranks, npus),
                    "npus_count must multiply to the number of ranks");
  }
  if (ranks < npus) {
    out.notes.push_back(
        fmt::format("the network has {} NPUs, the workload {} ranks: the first {} are used", npus, ranks, ranks));
  }
  Builder builder(out, run, graphs.size());
  for (std::size_t rank = 0; rank < graphs.size(); ++rank)
    builder.add_rank(graphs[rank], static_cast<std::uint32_t>(rank));
  builder.finish();
  return out;
}

}  // namespace warploom
