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
  bool is_before(Nanoseconds start, Nanoseconds duration) const {
    return static_cast<std::uint64_t>(start) - zero_ + static_cast<std::uint64_t>(duration) >= negative;
  }

  // What began before zero is cut off there.
  CapturedSlice slice(Nanoseconds start, Nanoseconds duration, TextId name, std::string_view category) const {
    const std::uint64_t begin = static_cast<std::uint64_t>(start) - zero_;
    return {begin >= negative ? 0 : begin, begin + static_cast<std::uint64_t>(duration), capture_.texts[name],
            category};
  }

  void add_streams() {
    std::vector<std::vector<CapturedSlice>> lanes(capture_.streams.size());
    for (std::uint32_t i = 0; i < capture_.device_ops.size(); ++i) {
      const auto& op = capture_.device_ops[i];
      if (is_before(op.start, op.duration)) continue;
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
      if (is_before(range.start, range.duration)) continue;
      auto& lane = range.thread == nothing ? on_devices : lanes[range.thread];
      lane.push_back(slice(range.start, range.duration, range.name, "annotation"));
    }
    for (const auto& op : capture_.host_ops) {
      if (is_before(op.start, op.duration)) continue;
      lanes[op.thread].push_back(slice(op.start, op.duration, op.name, "operator"));
    }
    for (std::uint32_t i = 0; i < capture_.calls.size(); ++i) {
      const auto& call = capture_.calls[i];
      if (is_before(call.start, call.duration)) continue;
      auto& added = lanes[call.thread].emplace_back(slice(call.start, call.duration, call.name, "call"));
      if (ends_[i] != nothing) added.starts_flow = first_flow_ + i;
    }
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const auto& thread = capture_.threads[i];
      out_.add_lane(thread.name.empty() ? fmt::format("thread {}", thread.id) : thread.name, lanes[i], true);
    }
    if (!on_devices.empty()) out_.add_lane("annotations of devices", on_devices, true);
  }

  static constexpr std::uint64_t negative = std::uint64_t{1} << 63U;  // differences from here on are below zero

  const Capture& capture_;
  CapturedSlices& out_;
  std::uint64_t zero_;  // the trace's, on the file's clock
  std::uint64_t first_flow_;
  std::vector<std::uint32_t> ends_;  // by call: the operation at which its arrow ends
};

// Zero of the trace on the clock of each file: the earliest event of all, where files say how theirs lead to the epoch.
std::vector<std::uint64_t> common_zeros(const std::vector<Capture>& captures) {
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
  std::vector<std::uint64_t> zeros;
  for (const auto& capture : captures) {
    // Differences of any two 64-bit times fit 64 bits without sign.
    zeros.push_back(static_cast<std::uint64_t>(zero.value_or(0)) - static_cast<std::uint64_t>(base(capture)));
  }
  return zeros;
}

void write_lanes(const std::vector<Capture>& captures, std::span<const std::uint64_t> zeros, std::ostream& out,
                 const PerfettoPart& part) {
  CapturedSlices slices(out, part);
  std::uint64_t flow = 1;
  for (std::size_t i = 0; i < captures.size(); ++i) {
    CaptureLanes(captures[i], slices, zeros[i], flow).run();
    flow += captures[i].calls.size();
  }
  slices.finish();
}

}  // namespace

void write_capture_timeline(const std::vector<Capture>& captures, std::ostream& out) {
  write_lanes(captures, common_zeros(captures), out, {});
}

void write_capture_timeline(const std::vector<Capture>& captures, std::span<const Nanoseconds> zeros, std::ostream& out,
                            const PerfettoPart& part) {
  std::vector<std::uint64_t> unsigned_zeros;
  for (const Nanoseconds zero : zeros) unsigned_zeros.push_back(static_cast<std::uint64_t>(zero));
  write_lanes(captures, unsigned_zeros, out, part);
}

}  // namespace warploom
