// SPDX-License-Identifier: Apache-2.0
// Fuzz target: two ranks of any bytes (cut in the middle), understood, replayed unchanged and with everything changed:
// the time of every device is explained, or it is a UserError; never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/core/errors.hpp"
#include "sim/play/breakdown.hpp"
#include "sim/play/critical_path.hpp"
#include "traces/captured_run.hpp"
#include "traces/classify.hpp"
#include "traces/kineto_reader.hpp"
#include "traces/link.hpp"

namespace {

using namespace warploom;

void read(std::string_view text, std::int64_t rank, ReadTraces& traces) {
  const auto reader = make_kineto_reader();
  const auto source = bytes_of("rank", text);
  if (!reader->recognises(source->peek())) return;
  for (auto& capture : reader->read(*source, {})) {
    capture.rank = rank;
    link_launches(capture);
    classify(capture);
    traces.captures.push_back(std::move(capture));
  }
}

void play_changed(const CapturedRun& run) {
  Retiming changed;
  for (const auto& capture : run.captures) {
    auto& durations = changed.durations.emplace_back();
    for (const auto& op : capture.device_ops) durations.push_back(op.duration / 2);
    changed.follows.emplace_back(capture.device_ops.size(), capture.device_ops.size() % 2 == 0);
    auto& removed = changed.removed.emplace_back();
    auto& added = changed.added.emplace_back();
    for (std::uint32_t op = 0; op < capture.device_ops.size(); ++op) {
      removed.push_back(op % 3 == 0);
      if (op % 4 == 0) added.emplace(op, 1000);
    }
  }
  changed.think_scale = 0.5;
  changed.is_serial = true;
  const CapturedProgram captured = make_program(run.captures, run.graphs, run.matching, changed);
  const Timeline timeline = play_as_captured(captured.program);
  break_down(captured.program, timeline);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = text.find("\n\n");
  try {
    ReadTraces traces;
    read(text.substr(0, cut), 0, traces);
    if (cut != std::string_view::npos) read(text.substr(cut + 2), 1, traces);
    const CapturedRun run = understand(std::move(traces));
    for (const auto& capture : run.captures) measure(capture);
    find_stragglers(run);
    doubts(run);
    break_down(run.captured.program, run.timeline);
    critical_path(run.captured.program, run.timeline);
    play_changed(run);
  } catch (const UserError&) {
  }
  return 0;
}
