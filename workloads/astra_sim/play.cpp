// SPDX-License-Identifier: Apache-2.0
// From files to results.
#include "workloads/astra_sim/play.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>

#include "network/fabrics.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "sim/core/version.hpp"
#include "traces/chakra_reader.hpp"
#include "workloads/astra_sim/dry_run.hpp"
#include "workloads/astra_sim/program.hpp"
#include "workloads/astra_sim/tasks.hpp"
#include "workloads/astra_sim/topology.hpp"

namespace warploom {

namespace {

using Kind = AstraTask::Kind;

std::string in_words(const AstraNetwork& network) {
  std::vector<std::string> parts;
  for (const auto& dimension : network.dimensions) {
    parts.push_back(fmt::format("{} {} ({} GiB/s, {} ns)", enum_name(dimension.block), dimension.npus,
                                dimension.gib_per_s, dimension.latency_ns));
  }
  return join(parts, " x ");
}

std::string_view in_words(AstraBackend backend) {
  switch (backend) {
    case AstraBackend::shared_links:
      return "links shared by all that runs";
    case AstraBackend::unaware:
      return "closed forms, congestion-unaware";
    case AstraBackend::aware:
      return "closed forms, congestion-aware";
  }
  return "?";
}

std::vector<ExecutionGraph> read_graphs(const AstraSimInputs& inputs, AstraSimResult& result) {
  Repairs repairs(inputs.workload, false);
  ReadOptions options;
  options.strict = inputs.strict;
  std::vector<ExecutionGraph> graphs;
  for (const auto& file : astra_workload_files(inputs.workload)) {
    graphs.push_back(read_execution_graph(*open_bytes(file), options));
    graphs.back().rank = static_cast<std::int64_t>(graphs.size()) - 1;
    repairs.add(graphs.back().repairs);
  }
  result.repairs = repairs.all();
  return graphs;
}

AstraGroups read_groups(const AstraSimInputs& inputs, std::vector<std::string>& notes) {
  if (inputs.comm_group) return read_astra_groups(*inputs.comm_group);
  const std::string beside = inputs.workload + ".json";
  std::error_code error;
  if (!std::filesystem::is_regular_file(beside, error)) return {};
  notes.push_back(fmt::format("communicator groups from `{}`, which lies beside the workload", beside));
  return read_astra_groups(beside);
}

Machine machine_of(const std::shared_ptr<const Topology>& topology, const AstraTasks& tasks,
                   const AstraProgram& program, const AstraCollectives& collectives) {
  Machine machine;
  machine.name = "ASTRA-sim network";
  DeviceClass device;
  device.name = "NPU";
  device.hbm_bandwidth = Bandwidth{1e15};  // nothing here asks for it
  device.peak = FlopRate{1e12};
  machine.device_classes.push_back(std::move(device));
  machine.planner = std::make_shared<AstraPlanner>(tasks, program, collectives);
  machine.fabric = [topology](Engine& engine, BundleListener& listener) {
    return fabric_registry().make_named("fluid", topology, engine, listener);
  };
  return machine;
}

// ---- What every rank did ------------------------------------------------------------------------------------------

enum Activity : std::uint8_t { kernel, of_host, transfer, waiting };

struct Change {
  Time at;
  Activity what = kernel;
  int by = 0;
};

// Walks the moments at which something begins or ends.
AstraRankResult summed(std::vector<Change> changes) {
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  AstraRankResult result;
  std::array<int, 4> active{};
  Time before = Time::zero();
  for (const auto& change : changes) {
    const Time length = change.at - before;
    before = change.at;
    const bool communicates = active[transfer] > 0 || active[waiting] > 0;
    if (active[kernel] > 0) result.compute = result.compute + length;
    if (active[of_host] > 0) result.host = result.host + length;
    if (communicates) result.communication = result.communication + length;
    if (communicates && active[kernel] == 0) {
      result.exposed_communication = result.exposed_communication + length;
      if (active[transfer] == 0) result.waiting = result.waiting + length;
    }
    active[change.what] += change.by;
  }
  return result;
}

std::vector<AstraRankResult> rank_results(const AstraTasks& tasks, const AstraProgram& program,
                                          const Timeline& timeline) {
  std::vector<std::vector<Change>> changes(tasks.ranks);
  std::vector<Time> finish(tasks.ranks, Time::zero());
  const auto add = [&](std::uint32_t rank, Activity what, Time from, Time to) {
    if (from >= to) return;
    changes[rank].push_back({from, what, 1});
    changes[rank].push_back({to, what, -1});
  };
  for (AstraTaskId id = 0; id < tasks.tasks.size(); ++id) {
    const AstraTask& task = tasks.tasks[id];
    const RowId row = program.row_of[id];
    const Time end = timeline.end[row];
    finish[task.rank] = std::max(finish[task.rank], end);
    switch (task.kind) {
      case Kind::compute:
        add(task.rank, kernel, timeline.begin[row], end);
        break;
      case Kind::host:
        add(task.rank, of_host, timeline.begin[row], end);
        break;
      case Kind::timed_comm:
        add(task.rank, transfer, timeline.begin[row], end);
        break;
      case Kind::collective:
      case Kind::send:
        add(task.rank, waiting, timeline.ready[row], timeline.begin[row]);
        add(task.rank, transfer, timeline.begin[row], end);
        break;
      case Kind::receive: {
        // From when this rank could have taken it.
        Time own = Time::zero();
        for (std::uint64_t i = tasks.before_begin[id]; i < tasks.before_begin[id + 1]; ++i) {
          own = std::max(own, timeline.end[program.row_of[tasks.before[i]]]);
        }
        const RowId send = program.row_of[tasks.messages[task.meeting].send];
        add(task.rank, waiting, own, std::min(end, timeline.begin[send]));
        add(task.rank, transfer, std::max(own, timeline.begin[send]), end);
        break;
      }
      case Kind::marker:
      case Kind::memory:
        break;
    }
  }
  std::vector<AstraRankResult> results;
  for (std::size_t rank = 0; rank < tasks.ranks; ++rank) {
    results.push_back(summed(std::move(changes[rank])));
    results.back().rank = static_cast<std::int64_t>(rank);
    results.back().finish = finish[rank];
  }
  return results;
}

std::map<std::string, std::string> call_names(const AstraTasks& tasks, const AstraProgram& program,
                                              const Timeline& timeline) {
  std::map<std::string, std::string> calls;
  for (CallId id = 0; id < program.program.calls.size(); ++id) {
    const Call& call = program.program.calls[id];
    const std::uint32_t members = program.members_of_group[call.group];
    if (members == nothing) continue;
    calls.emplace(fmt::format("{} of {} bytes, {}", name(call.kind), call.bytes.count(), tasks.member_names[members]),
                  timeline.plans[id].algorithm);
  }
  return calls;
}

}  // namespace

AstraSimResult play_astra_sim(const AstraSimInputs& inputs, const PlayOptions& options) {
  AstraSimResult result;
  AstraSystem system = read_astra_system(inputs.system, result.notes);
  const AstraNetwork network = read_astra_network(inputs.network);
  const AstraMemory memory = inputs.remote_memory ? read_astra_memory(*inputs.remote_memory) : AstraMemory{};
  const AstraGroups groups = read_groups(inputs, result.notes);
  if (!(inputs.comm_scale >= 0 && inputs.comm_scale < 1e9) ||
      !(inputs.injection_scale >= 0 && inputs.injection_scale < 1e9)) {
    throw UserError("a scale must lie between 0 and 1e9");
  }
  system.endpoint_delay_ns =
      static_cast<std::int64_t>(std::floor(static_cast<double>(system.endpoint_delay_ns) * inputs.injection_scale));

  AstraTasks tasks;
  {
    const auto graphs = read_graphs(inputs, result);
    tasks = astra_tasks(graphs, {system, network, memory, groups, inputs.comm_scale});
  }
  const auto topology = astra_topology(network);
  const AstraCollectives collectives(system, network, topology, inputs.backend);
  AstraDurations durations;
  for (const auto& meeting : tasks.meetings) {
    durations.meetings.push_back(astra_nanoseconds(tasks, meeting, collectives));
  }
  for (const auto& message : tasks.messages) {
    durations.messages.push_back(collectives.send_nanoseconds(message.bytes, message.from, message.to));
  }
  const auto order = astra_order(tasks, durations, system.scheduling_policy, inputs.rendezvous);
  AstraProgram program = astra_program(tasks, order, network, inputs.rendezvous);
  const Machine machine = machine_of(topology, tasks, program, collectives);
  result.timeline = play(program.program, machine, options);
  result.makespan = result.timeline.makespan;
  result.ranks = rank_results(tasks, program, result.timeline);
  result.calls = call_names(tasks, program, result.timeline);
  result.notes.insert(result.notes.end(), tasks.notes.begin(), tasks.notes.end());
  result.nodes = tasks.counts;
  result.network = in_words(network);
  result.backend = in_words(inputs.backend);
  result.report = make_report(program.program, machine, result.timeline);
  result.report.name = std::filesystem::path(inputs.workload).filename().string();
  result.report.version = std::string(version());
  result.report.machine = result.network;
  result.report.assumptions = result.notes;
  result.program = std::move(program.program);
  if (result.makespan == Time::zero()) {
    result.notes.emplace_back("warning: nothing takes any time: no durations, no communication");
  }
  return result;
}

}  // namespace warploom
