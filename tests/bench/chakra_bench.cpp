// SPDX-License-Identifier: Apache-2.0
// Reading Chakra traces: `.et` in memory, one node after another as training steps write them.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <sstream>
#include <string>

#include "traces/chakra_reader.hpp"
#include "traces/chakra_writer.hpp"

namespace {

using namespace warploom;

// A chain of kernels with a collective every tenth, names as of layers.
std::string trace(std::int64_t nodes) {
  ExecutionGraph graph;
  graph.file = "made";
  GraphBuilder builder(graph);
  for (std::int64_t i = 0; i < nodes; ++i) {
    GraphNode node;
    node.id = static_cast<std::uint64_t>(i);
    const std::string name = "mb" + std::to_string(i / 5000 % 64) + ".transformer." + std::to_string(i % 5000) + ".ffn";
    node.name = name;
    const bool is_collective = i % 10 == 9;
    node.type = is_collective ? NodeType::collective : NodeType::compute;
    node.duration = 1000 * (1 + i % 97);
    node.stream = 7;
    if (i > 0) node.data.push_back(node.id - 1);
    if (i > 5) node.data.push_back(node.id - 5);
    if (is_collective) {
      node.has_comm = true;
      node.comm = {.bytes = 1 << 20, .kind = CommKind::all_reduce};
    } else {
      node.num_ops = 1'000'000'000;
      node.tensor_size = 1 << 22;
    }
    builder.add(node);
  }
  builder.finish();
  std::ostringstream out;
  write_chakra(graph, out);
  return std::move(out).str();
}

void read_nodes(benchmark::State& state) {
  const std::string bytes = trace(state.range(0));
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  for (auto _ : state) {
    const auto graph = read_execution_graph(*bytes_of("made", bytes));
    const auto order = topological_order(graph);
    benchmark::DoNotOptimize(order.data());
  }
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
  state.counters["peak_rss_MB"] = static_cast<double>(after.ru_maxrss) / 1024;  // the making of the trace included
}
BENCHMARK(read_nodes)->Arg(100'000)->Arg(10'000'000)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
