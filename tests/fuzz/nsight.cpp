// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either a report, whose indices all lead somewhere, or a UserError; never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/core/errors.hpp"
#include "traces/classify.hpp"
#include "traces/link.hpp"
#include "traces/nsight_reader.hpp"

namespace {

void check(bool is_true) {
  if (!is_true) std::abort();
}

void check(const warploom::Capture& capture) {
  for (const auto& op : capture.device_ops) {
    check(op.stream < capture.streams.size() && op.duration >= 0 && op.end() >= op.start);
    check(op.launch == warploom::nothing || op.launch < capture.calls.size());
    check(op.name == warploom::nothing || op.name < capture.texts.size());
  }
  for (const auto& call : capture.calls) check(call.thread < capture.threads.size() && call.duration >= 0);
  for (const auto& op : capture.host_ops) check(op.thread < capture.threads.size() && op.duration >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto source = warploom::bytes_of("fuzz", {reinterpret_cast<const char*>(data), size});
  try {
    for (auto& capture : warploom::make_nsight_reader()->read(*source, {})) {
      warploom::link_launches(capture);
      warploom::classify(capture);
      check(capture);
    }
  } catch (const warploom::UserError& error) {
    if (error.message().empty()) std::abort();
  }
  return 0;
}
