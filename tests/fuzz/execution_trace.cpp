// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either an execution trace, which joins with a capture without a reference astray, or a
// UserError; never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/core/errors.hpp"
#include "traces/execution_trace.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warploom;
  const auto require = [](bool holds) {
    if (!holds) std::abort();
  };
  try {
    const auto source = bytes_of("fuzz.json", {reinterpret_cast<const char*>(data), size});
    const ExecutionTrace trace = read_execution_trace(*source);
    Capture capture;
    capture.world_size = 8;
    capture.threads.emplace_back();
    for (const char* name : {"aten::mm", "record_param_comms", "record_param_comms"}) {
      HostOp op;
      op.name = capture.texts.add(name);
      op.thread = 0;
      op.record_id = static_cast<std::int64_t>(capture.host_ops.size()) + 1;
      capture.host_ops.push_back(op);
    }
    require(add_execution_trace(capture, trace) <= 3);
    for (const auto& op : capture.host_ops) {
      require(op.collective == nothing || op.collective < capture.collectives.size());
      require(op.shapes == nothing || op.shapes < capture.texts.size());
    }
    for (const auto& record : capture.collectives) {
      require(record.group == nothing || record.group < capture.groups.size());
    }
  } catch (const UserError& error) {
    require(!error.message().empty());
  }
  return 0;
}
