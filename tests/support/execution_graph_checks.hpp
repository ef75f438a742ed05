// SPDX-License-Identifier: Apache-2.0
// What holds of every execution graph that was read, whatever its bytes: it can be ordered, or its cycle is printed,
// and it is written and reads back the same. Fails by abort(), for fuzz targets.
#pragma once

#include <cstdlib>
#include <sstream>
#include <string>

#include "sim/core/errors.hpp"
#include "traces/chakra_reader.hpp"
#include "traces/chakra_writer.hpp"

namespace warploom {

inline void require_ordered(const ExecutionGraph& graph) {
  try {
    if (topological_order(graph).size() != graph.size()) std::abort();
  } catch (const UserError& error) {
    if (error.message().empty()) std::abort();  // a cycle is printed
  }
}

inline void require_round_trip(const ExecutionGraph& graph) {
  std::ostringstream out;
  write_chakra(graph, out);
  const std::string written = out.str();
  const ExecutionGraph again = read_chakra(*bytes_of("again", written));
  if (again.id != graph.id || again.type != graph.type || again.duration != graph.duration) std::abort();
  if (again.data_dependency != graph.data_dependency) std::abort();
}

// `read` gives a graph or a UserError with words.
template <class Read>
void check_graph(const std::string& bytes, Read read) {
  ExecutionGraph graph;
  try {
    graph = read(*bytes_of("fuzz", bytes));
  } catch (const UserError& error) {
    if (error.message().empty()) std::abort();
    return;
  }
  require_ordered(graph);
  require_round_trip(graph);
}

}  // namespace warploom
