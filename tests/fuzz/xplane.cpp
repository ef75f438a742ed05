// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either an XSpace, whose indices all lead somewhere, or a UserError; never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/core/errors.hpp"
#include "traces/classify.hpp"
#include "traces/link.hpp"
#include "traces/xplane_reader.hpp"

namespace {

void check(bool is_true) {
  if (!is_true) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view content{reinterpret_cast<const char*>(data), size};
  const auto reader = warploom::make_xplane_reader();
  reader->recognises(content);
  const auto source = warploom::bytes_of("fuzz", content);
  try {
    for (auto& capture : reader->read(*source, {})) {
      warploom::link_launches(capture);
      warploom::classify(capture);
      for (const auto& op : capture.device_ops) {
        check(op.stream < capture.streams.size() && op.duration >= 0 && op.end() >= op.start);
        check(op.collective == warploom::nothing || op.collective < capture.collectives.size());
      }
      for (const auto& call : capture.calls) check(call.thread < capture.threads.size() && call.duration >= 0);
      for (const auto& detail : capture.details) check(detail.op < capture.device_ops.size());
    }
  } catch (const warploom::UserError& error) {
    check(!error.message().empty());
  }
  return 0;
}
