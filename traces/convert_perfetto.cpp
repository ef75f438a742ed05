// SPDX-License-Identifier: Apache-2.0
// Lanes of a capture, one after another.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "sim/core/errors.hpp"
#include "traces/convert_timeline.hpp"
#include "traces/perfetto_writer.hpp"

namespace warploom {

namespace {

std::string_view category_of(const DeviceOp& op) {
  if (op.op_class == OpClass::communication) return "communication";
  switch (op.kind) {
    case DeviceOpKind::kernel:
      return "kernel";
    case DeviceOpKind::copy:
      return "copy";
    case DeviceOpKind::fill:
      return "fill";
    case DeviceOpKind::sync:
      return "sync";
    case DeviceOpKind::graph:
      return "graph";
  }
  return "kernel";
}

template <class Visit>
void for_each_event(const Capture& capture, Visit visit) {
  for (const auto& op : capture.device_ops) visit(op.start, op.duration);
  for (const auto& call : capture.calls) visit(call.start, call.duration);
  for (const auto& op : capture.host_ops) visit(op.start, op.duration);
  for (const auto& range : capture.annotations) visit(range.start, range.duration);
}

class CaptureLanes {
 public:
  CaptureLanes(const Capture& capture, CapturedSlices& out, std::uint64_t zero, std::uint64_t first_flow)
      : capture_(capture), out_(out), zero_(zero), first_flow_(first_flow) {}

  void run() {
    const auto rank = known_rank(capture_);
    out_.add_process(rank ? fmt::format("rank {}", *rank) : capture_.file);
    ends_.assign(capture_.calls.size(), nothing);
    for (std::uint32_t i = 0; i < capture_.device_ops.size(); ++i) {
      const std::uint32_t call = capture_.device_ops[i].launch;
      if (call == nothing || ends_[call] != nothing) continue;
      // An arrow back in time (clocks of device and host that differ) would turn round in the viewer.
      if (capture_.calls[call].start <= capture_.device_ops[i].start) ends_[call] = i;
    }
    add_threads();
    add_streams();
  }

 private:
  CapturedSlice slice(Nanoseconds start, Nanoseconds duration, TextId name, std::string_view category) const {
    const auto begin = static_cast<std::uint64_t>(start) - zero_;
    return {begin, begin + static_cast<std::uint64_t>(duration), capture_.texts[name], category};
  }

  void add_streams() {
    std::vector<std::vector<CapturedSlice>> lanes(capture_.streams.size());
    for (std::uint32_t i = 0; i < capture_.device_ops.size(); ++i) {
      const auto& op = capture_.device_ops[i];
      auto& added = lanes[op.stream].emplace_back(slice(op.start, op.duration, op.name, category_of(op)));
      if (op.launch != nothing && ends_[op.launch] == i) added.ends_flow = first_flow_ + op.launch;
    }
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const auto& stream = capture_.streams[i];
      const bool is_named = stream.name.starts_with("stream");
      out_.add_lane(fmt::format("device {}, {}{}", stream.device, is_named ? "" : "stream ", stream.name), lanes[i],
                    false);
    }
  }

  void add_threads() {
    std::vector<std::vector<CapturedSlice>> lanes(capture_.threads.size());
    std::vector<CapturedSlice> on_devices;
    for (const auto& range : capture_.annotations) {
      auto& lane = range.thread == nothing ? on_devices : lanes[range.thread];
      lane.push_back(slice(range.start, range.duration, range.name, "annotation"));
    }
    for (const auto& op : capture_.host_ops) {
      lanes[op.thread].push_back(slice(op.start, op.duration, op.name, "operator"));
    }
    for (std::uint32_t i = 0; i < capture_.calls.size(); ++i) {
      const auto& call = capture_.calls[i];
      auto& added = lanes[call.thread].emplace_back(slice(call.start, call.duration, call.name, "call"));
      if (ends_[i] != nothing) added.starts_flow = first_flow_ + i;
    }
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const auto& thread = capture_.threads[i];
      out_.add_lane(thread.name.empty() ? fmt::format("thread {}", thread.id) : thread.name, lanes[i], true);
    }
    if (!on_devices.empty()) out_.add_lane("annotations of devices", on_devices, true);
  }

  const Capture& capture_;
  CapturedSlices& out_;
  std::uint64_t zero_;  // the trace's, on the file's clock
  std::uint64_t first_flow_;
  std::vector<std::uint32_t> ends_;  // by call: the operation at which its arrow ends
};

}  // namespace

void write_capture_timeline(const std::vector<Capture>& captures, std::ostream& out) {
  // Epochs fit 64 bits as they are; differences between files are what counts.
  const bool have_bases = std::all_of(captures.begin(), captures.end(),
                                      [](const Capture& capture) { return capture.base_time.has_value(); });
  const auto base = [&](const Capture& capture) { return have_bases ? *capture.base_time : Nanoseconds{0}; };
  std::optional<Nanoseconds> zero;
  for (const auto& capture : captures) {
    for_each_event(capture, [&](Nanoseconds start, Nanoseconds duration) {
      Nanoseconds at = 0;
      Nanoseconds end = 0;
      if (__builtin_add_overflow(start, base(capture), &at) || __builtin_add_overflow(at, duration, &end)) {
        throw UserError(fmt::format("{}: a time is beyond 292 years from the epoch", capture.file));
      }
      zero = std::min(zero.value_or(at), at);
    });
  }
  CapturedSlices slices(out);
  std::uint64_t flow = 1;
  for (const auto& capture : captures) {
    // Differences of any two 64-bit times fit 64 bits without sign.
    const auto file_zero = static_cast<std::uint64_t>(zero.value_or(0)) - static_cast<std::uint64_t>(base(capture));
    CaptureLanes(capture, slices, file_zero, flow).run();
    flow += capture.calls.size();
  }
  slices.finish();
}

}  // namespace warploom
