// SPDX-License-Identifier: Apache-2.0
// What people look for in a captured step: how long, how busy, how much communication is not hidden, which kernels.
//
// Work is what kernels, copies and fills of a device do; synchronisation tasks and opaque graph blocks are none.
// Intervals are half-open. Exposed communication is the union of communication less what it shares with compute (or
// with compute and copies). Names and definitions are those of Holistic Trace Analysis without its rounding to whole
// microseconds (which loses 1.3 to 7.8% of device time where the trace has nanoseconds).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "traces/capture.hpp"
#include "traces/intervals.hpp"
#include "traces/link.hpp"

namespace warploom {

// The three kinds of work that a window is divided by.
enum class WorkKind : std::uint8_t { compute, communication, memory };
inline constexpr std::array<std::string_view, 3> work_kind_names = {"compute", "comm", "mem"};
inline bool is_work(const DeviceOp& op) { return op.kind != DeviceOpKind::sync && op.kind != DeviceOpKind::graph; }
WorkKind work_kind(const DeviceOp& op);
using ByWork = std::array<Nanoseconds, 3>;

struct WindowMetrics {
  Interval window;
  Nanoseconds busy = 0;                 // union of all work
  ByWork unions{};                      // by kind
  Nanoseconds overlap = 0;              // of communication and compute
  Nanoseconds exposed_to_compute = 0;   // communication where no kernel computes
  Nanoseconds exposed_to_any = 0;       // ... and nothing is copied
  std::array<std::int64_t, 3> count{};  // operations that touch the window, by kind
  Nanoseconds idle() const { return window.length() - busy; }
};

struct StreamMetrics {
  std::int64_t device = 0;
  std::string stream;
  std::array<std::int64_t, 3> count{};
  Nanoseconds sum = 0;
  Nanoseconds united = 0;
  Interval span;
  std::int64_t overlaps = 0;  // neighbours in order of start that overlap
  Nanoseconds largest_overlap = 0;
};

// Of the operations that a step launched, wherever they ran.
struct LaunchedMetrics {
  std::array<std::int64_t, 3> count{};
  ByWork sums{};
  Interval span;
  Nanoseconds busy = 0;
};

struct StepMetrics {
  std::int64_t number = -1;  // of ProfilerStep#N
  std::string name;
  WindowMetrics time;
  LaunchedMetrics launched;
};

struct KernelSum {
  TextId name = nothing;
  std::uint32_t first = 0;  // operation of this name
  std::int64_t count = 0;
  Nanoseconds sum = 0;
};

struct Delay {
  std::int64_t count = 0;
  Nanoseconds least = 0;
  Nanoseconds median = 0;  // the upper of two in the middle
  Nanoseconds most = 0;
  std::int64_t negative = 0;  // devices and host do not have one clock
};

// Why a stream stood still between two operations.
struct IdleMetrics {
  Nanoseconds host = 0;    // the next was not launched yet
  Nanoseconds kernel = 0;  // the gap that queued kernels always have (here: under 1 us)
  Nanoseconds other = 0;   // it waited for another stream, or for a peer
};

struct CaptureMetrics {
  std::optional<WindowMetrics> device_span;  // first start to last end of work; none where there is none
  Nanoseconds host_span = 0;
  std::vector<StepMetrics> steps;
  std::vector<StreamMetrics> streams;
  std::vector<std::int64_t> devices;  // with work
  std::array<std::int64_t, 3> count{};
  ByWork sums{};
  std::map<std::string, std::int64_t> count_by_op_kind;  // kernel, memcpy, memset
  std::vector<KernelSum> kernels;                        // the longest sum first
  std::vector<KernelSum> communication;
  std::array<Nanoseconds, 7> sum_by_class{};  // by OpClass
  IdleMetrics idle;
  LaunchLinks links;
  Delay launch_delay;
  std::int64_t zero_durations = 0;
};

WindowMetrics window_metrics(std::span<const DeviceOp> ops, Interval window);
// Of a capture whose launches are joined and whose operations are classified.
CaptureMetrics measure(const Capture& capture);
// Steps by their annotations: "ProfilerStep#7", else none.
std::vector<std::pair<Annotation, std::int64_t>> captured_steps(const Capture& capture);

}  // namespace warploom
