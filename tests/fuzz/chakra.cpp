// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either an execution graph, which can be ordered and written and reads back the same, or a
// UserError; never a crash.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/support/execution_graph_checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warploom;
  check_graph(std::string(reinterpret_cast<const char*>(data), size),
              [](ByteSource& source) { return read_chakra(source); });
  return 0;
}
