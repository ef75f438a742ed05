// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either an Ascend trace or one of its tables, or a UserError; never a crash. The first byte
// says which.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/core/errors.hpp"
#include "traces/ascend_reader.hpp"
#include "traces/ascend_tables.hpp"
#include "traces/classify.hpp"
#include "traces/link.hpp"

namespace {

using namespace warploom;

void check(bool is_true) {
  if (!is_true) std::abort();
}

void finish(Capture capture) {
  link_launches(capture);
  classify(capture);
  for (const auto& op : capture.device_ops) {
    check(op.stream < capture.streams.size() && op.duration >= 0 && op.end() >= op.start);
    check(op.launch == nothing || op.launch < capture.calls.size());
    check(op.host_op == nothing || op.host_op < capture.host_ops.size());
  }
  for (const auto& edge : capture.device_edges) {
    check(edge.from < capture.device_ops.size() && edge.to < capture.device_ops.size() && edge.from != edge.to);
  }
  for (const auto& detail : capture.details) check(detail.op < capture.device_ops.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto source = bytes_of("fuzz", {reinterpret_cast<const char*>(data) + 1, size - 1});
  try {
    ascend::Builder builder("fuzz", false);
    switch (data[0]) {
      case 'k':
        ascend::read_kernel_details(*source, builder);
        break;
      case 'c':
        ascend::read_communication(*source, builder);
        break;
      case 'm':
        ascend::read_communication_matrix(*source, builder);
        break;
      case 's':
        ascend::read_step_times(*source, builder);
        break;
      case 'i':
        ascend::read_profiler_info(*source, builder);
        break;
      case 'p':
        ascend::read_profiler_metadata(*source, builder);
        break;
      case 'd':
        return finish(std::move(read_ascend_database(SqliteDatabase(*source), {}).at(0))), 0;
      default:
        return finish(std::move(make_ascend_reader()->read(*source, {}).at(0))), 0;
    }
    finish(builder.finish());
  } catch (const UserError& error) {
    check(!error.message().empty());
  }
  return 0;
}
