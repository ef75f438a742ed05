// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either an execution graph, which can be ordered and written and reads back the same, or a
// UserError; never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "sim/core/errors.hpp"
#include "traces/chakra_reader.hpp"
#include "traces/chakra_writer.hpp"

namespace {

using namespace warploom;

std::string written(const ExecutionGraph& graph) {
  std::ostringstream out;
  write_chakra(graph, out);
  return out.str();
}

void try_order(const ExecutionGraph& graph) {
  try {
    if (topological_order(graph).size() != graph.size()) std::abort();
  } catch (const UserError& error) {
    if (error.message().empty()) std::abort();  // a cycle is printed
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  ExecutionGraph graph;
  try {
    graph = read_chakra(*bytes_of("fuzz", bytes));
  } catch (const UserError& error) {
    if (error.message().empty()) std::abort();
    return 0;
  }
  try_order(graph);
  const ExecutionGraph again = read_chakra(*bytes_of("again", written(graph)));
  if (again.id != graph.id || again.type != graph.type || again.duration != graph.duration) std::abort();
  if (again.data_dependency != graph.data_dependency) std::abort();
  return 0;
}
