// SPDX-License-Identifier: Apache-2.0
// XSpace {planes 1, errors 2, warnings 3, hostnames 4} of tsl/profiler/protobuf/xplane.proto, read at the wire. A plane
// is a device or a host, a line of it a stream or a thread. An event's start is its line's time plus its offset.
//
// Lines of a device beside its streams ("XLA Modules", "TensorFlow Ops", "TensorFlow Name Scope", "Source code") are
// derived: they say the same time again under other names and are not summed. Where a device has no streams (TPU) the
// line "XLA Ops" holds the work. A plane is held as a whole while it is read: names come after the events that refer to
// them (protobuf allows 2 GiB).
#include "traces/xplane_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "sim/core/errors.hpp"
#include "traces/runtime_calls.hpp"
#include "traces/xplane_plane.hpp"

namespace warploom {

namespace {

using xplane::Event;
using xplane::Line;
using xplane::Plane;
using xplane::Stat;

constexpr std::uint64_t largest_plane = 2ULL << 30U;
constexpr std::uint64_t farthest_ps = 1ULL << 62U;
constexpr Nanoseconds farthest = Nanoseconds{1} << 61;
constexpr Nanoseconds an_epoch = 100'000'000'000'000'000;  // 1973: a later time is no time since a start

// "/device:GPU:3" is 3.
std::optional<std::int64_t> device_number(std::string_view plane) {
  if (!plane.starts_with("/device:")) return std::nullopt;
  const auto digits = plane.substr(plane.rfind(':') + 1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || number < 0) return 0;
  return number;
}

// "Stream #16(Kernel)" is 16.
std::string stream_name(std::string_view line) {
  if (!line.starts_with("Stream #")) return std::string(line);
  const auto number = line.substr(8);
  return std::string(number.substr(0, number.find('(')));
}

bool is_collective(std::string_view hlo) {
  constexpr std::array<std::string_view, 6> starts = {"all-reduce", "all-gather",         "reduce-scatter",
                                                      "all-to-all", "collective-permute", "collective-broadcast"};
  return std::any_of(starts.begin(), starts.end(), [&](std::string_view start) { return hlo.starts_with(start); });
}

// "kind:Unknown size:655360 dest:2 async:1".
std::int64_t size_in(std::string_view details) {
  const auto place = details.find("size:");
  if (place == std::string_view::npos) return 0;
  std::int64_t bytes = 0;
  const auto digits = details.substr(place + 5);
  std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
  return std::max<std::int64_t>(0, bytes);
}

class Space {
 public:
  Space(ByteSource& source, const ReadOptions& options) : source_(source), options_(options) {
    capture_.file = source.name();
    capture_.format = "xplane";
    capture_.repairs = Repairs(source.name(), options.strict);
  }

  Capture read() {
    while (take_field()) {
      if (options_.progress) options_.progress(source_.bytes_taken(), source_.bytes_in_all());
    }
    if (capture_.device_ops.empty() && capture_.calls.empty() && capture_.annotations.empty()) {
      throw UserError(fmt::format("{}: no plane holds any work of a device or a host", source_.name()),
                      "capture with `jax.profiler.trace(folder)` around the steps");
    }
    settle_steps();
    if (profile_start_) capture_.base_time = earliest_ < an_epoch ? *profile_start_ : 0;
    return std::move(capture_);
  }

 private:
  bool take_field();
  std::optional<std::uint64_t> varint();
  std::optional<std::string> bytes_of_length(std::uint64_t size);
  void take_plane(std::string_view bytes, std::uint64_t offset);
  void take_device(const Plane& plane, std::int64_t number);
  void take_host(const Plane& plane);
  void take_environment(const Plane& plane);
  void take_work(const Plane& plane, const Line& line, std::int64_t device);
  void take_host_event(const Event& event, const Line& line, std::uint32_t thread);
  void take_steps(const Plane& plane, const Line& line);
  void settle_steps();
  std::string where(const Line& line) const {
    return fmt::format("line `{}`, event {}", line.name.substr(0, 80), capture_.event_count);
  }

  struct Times {
    Nanoseconds start = 0;
    Nanoseconds duration = 0;
  };
  // Picoseconds to the nearest nanosecond; none, and a repair, for what is no time.
  std::optional<Times> times_of(const Event& event, const Line& line) {
    ++capture_.event_count;
    if (event.is_aggregate) {
      capture_.repairs.note("aggregated_event", "sums of many occurrences, which have no time, were left out",
                            where(line));
      return std::nullopt;
    }
    if (event.offset_ps > farthest_ps || event.duration_ps > farthest_ps || line.time_ns > farthest ||
        line.time_ns < -farthest) {
      capture_.repairs.note("row_without_times", "events whose time or duration is none were left out", where(line));
      return std::nullopt;
    }
    const auto start = line.time_ns + static_cast<Nanoseconds>((event.offset_ps + 500) / 1000);
    earliest_ = std::min(earliest_, start);
    return Times{start, static_cast<Nanoseconds>((event.duration_ps + 500) / 1000)};
  }
  void note_step(const Times& times, std::int64_t step, std::uint32_t thread) {
    const TextId name = capture_.texts.add(fmt::format("ProfilerStep#{}", step));
    (thread == nothing ? device_steps_ : capture_.annotations).push_back({times.start, times.duration, name, thread});
    if (thread != nothing) has_host_steps_ = true;
  }

  ByteSource& source_;
  const ReadOptions& options_;
  Capture capture_;
  std::uint64_t offset_ = 0;
  std::optional<Nanoseconds> profile_start_;
  Nanoseconds earliest_ = farthest;
  std::vector<Annotation> device_steps_;
  bool has_host_steps_ = false;
};

std::optional<std::uint64_t> Space::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    char byte = 0;
    if (source_.read(std::span(&byte, 1)) == 0) return std::nullopt;
    ++offset_;
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(byte) & 0x7FU) << shift;
    if ((static_cast<unsigned char>(byte) & 0x80U) == 0) return value;
  }
  return std::nullopt;
}

// A field of the XSpace; false at the end. What is cut short ends the reading: a plane without its end has no names.
bool Space::take_field() {
  if (source_.peek().empty()) return false;
  const auto fail = [&](std::string_view what) {
    throw UserError(fmt::format("{}: byte {}: {}", source_.name(), offset_, what),
                    "the file is cut short or no XSpace: capture it again");
  };
  const auto key = varint();
  if (!key || (*key & 7U) != 2 || *key >> 3U == 0) fail("no field of an XSpace");
  const auto size = varint();
  if (!size || *size > largest_plane) fail("a plane of no length, or longer than protobuf allows");
  const std::uint64_t begin = offset_;
  const auto bytes = bytes_of_length(*size);
  if (!bytes) {
    capture_.is_truncated = true;
    capture_.repairs.note("truncated_plane", "a plane that the file cuts short was left out",
                          fmt::format("byte {}", begin));
    return false;
  }
  if (*key >> 3U == 1) take_plane(*bytes, begin);
  if (*key >> 3U == 4 && bytes->size() < 256) capture_.facts["host"] = *bytes;
  return true;
}

// Grows as the bytes come, whatever length is claimed; none where the file ends before.
std::optional<std::string> Space::bytes_of_length(std::uint64_t size) {
  std::string bytes;
  while (bytes.size() < size) {
    const std::size_t before = bytes.size();
    const auto room = std::min<std::uint64_t>(size - before, (1UL << 16U) + before);
    bytes.resize(before + static_cast<std::size_t>(room));
    const std::size_t count = source_.read(std::span(bytes).subspan(before));
    bytes.resize(before + count);
    offset_ += count;
    if (count == 0) return std::nullopt;
  }
  return bytes;
}

void Space::take_plane(std::string_view bytes, std::uint64_t offset) {
  const Plane plane(bytes, source_.name(), offset);
  if (const auto number = device_number(plane.name())) return take_device(plane, *number);
  if (plane.name() == "Task Environment") return take_environment(plane);
  if (plane.name().starts_with("/host:") && plane.name() != "/host:metadata") take_host(plane);
}

void Space::take_environment(const Plane& plane) {
  for (const auto& stat : plane.stats()) {
    if (stat.name == "profile_start_time") profile_start_ = stat.integer();
  }
}

void Space::take_device(const Plane& plane, std::int64_t number) {
  CapturedDevice device;
  device.id = number;
  for (const auto& stat : plane.stats()) {
    if (stat.name == "device_type_string" || (stat.name == "device_vendor" && device.name.empty())) {
      device.name = stat.text;
    }
    if (stat.name == "memory_size") device.memory_bytes = std::max<std::int64_t>(0, stat.integer().value_or(0));
    if (stat.name == "core_count") device.sm_count = std::max<std::int64_t>(0, stat.integer().value_or(0));
  }
  capture_.devices.push_back(std::move(device));
  const bool has_streams = std::any_of(plane.lines().begin(), plane.lines().end(),
                                       [](const Line& line) { return line.name.starts_with("Stream #"); });
  for (const auto& line : plane.lines()) {
    const bool is_work = has_streams ? line.name.starts_with("Stream #") : line.name == "XLA Ops";
    if (is_work) {
      take_work(plane, line, number);
    } else if (line.name == "Steps") {
      take_steps(plane, line);
    }
  }
}

void Space::take_work(const Plane& plane, const Line& line, std::int64_t device) {
  const auto stream = static_cast<std::uint32_t>(capture_.streams.size());
  capture_.streams.push_back({device, 0, stream_name(line.name)});
  plane.for_each_event(line, [&](const Event& event) {
    ++capture_.events_by_category["device"];
    const auto times = times_of(event, line);
    if (!times) return;
    DeviceOp op;
    op.start = times->start;
    op.duration = times->duration;
    op.stream = stream;
    op.name = capture_.texts.add(event.name);
    if (const Stat* stat = event.find("correlation_id")) {
      op.correlation = static_cast<std::uint64_t>(std::max<std::int64_t>(0, stat->integer().value_or(0)));
    }
    if (const Stat* stat = event.find("memcpy_details")) {
      op.kind = DeviceOpKind::copy;
      op.bytes = size_in(stat->text);
    } else if (const Stat* fill = event.find("memset_details")) {
      op.kind = DeviceOpKind::fill;
      op.bytes = size_in(fill->text);
    }
    const Stat* hlo = event.find("hlo_op");
    const std::string_view hlo_name = hlo != nullptr ? hlo->text : event.name;
    if (is_collective(hlo_name) && op.kind == DeviceOpKind::kernel) {
      CollectiveRecord record;
      record.name = capture_.texts.add(hlo_name);
      op.collective = static_cast<std::uint32_t>(capture_.collectives.size());
      capture_.collectives.push_back(record);
    }
    if (hlo != nullptr && !hlo->text.empty()) {
      DeviceOpDetail detail;
      detail.op = static_cast<std::uint32_t>(capture_.device_ops.size());
      detail.type = capture_.texts.add(hlo->text);
      capture_.details.push_back(detail);
    }
    capture_.device_ops.push_back(op);
  });
}

void Space::take_steps(const Plane& plane, const Line& line) {
  plane.for_each_event(line, [&](const Event& event) {
    ++capture_.events_by_category["Steps"];
    const auto times = times_of(event, line);
    if (!times) return;
    std::int64_t step = 0;
    const auto [end, error] = std::from_chars(event.name.data(), event.name.data() + event.name.size(), step);
    if (error == std::errc()) note_step(*times, step, nothing);
  });
}

void Space::take_host(const Plane& plane) {
  for (const auto& line : plane.lines()) {
    const auto thread = static_cast<std::uint32_t>(capture_.threads.size());
    capture_.threads.push_back({0, line.id, std::string(line.name)});
    plane.for_each_event(line, [&](const Event& event) { take_host_event(event, line, thread); });
  }
}

void Space::take_host_event(const Event& event, const Line& line, std::uint32_t thread) {
  const bool is_python = event.name.starts_with("$");  // the Python tracer's, one a call
  const Stat* correlation = event.find("correlation_id");
  const CallKind kind = call_kind(event.name);
  const bool is_call = correlation != nullptr || kind != CallKind::other;
  ++capture_.events_by_category[is_python ? "python_function" : is_call ? "runtime" : "host"];
  if (is_python) {
    ++capture_.event_count;
    return;
  }
  const auto times = times_of(event, line);
  if (!times) return;
  if (is_call) {
    HostCall call;
    call.start = times->start;
    call.duration = times->duration;
    call.thread = thread;
    call.name = capture_.texts.add(event.name);
    call.kind = kind;
    if (correlation != nullptr) {
      call.correlation = static_cast<std::uint64_t>(std::max<std::int64_t>(0, correlation->integer().value_or(0)));
    }
    capture_.calls.push_back(call);
    return;
  }
  const Stat* step = event.find("step_num");
  if (step != nullptr && step->integer()) return note_step(*times, *step->integer(), thread);
  if (times->duration == 0) return;  // a moment, such as an allocation
  capture_.annotations.push_back({times->start, times->duration, capture_.texts.add(event.name), thread});
}

// The host's steps where it marked them, else the devices'.
void Space::settle_steps() {
  if (has_host_steps_) return;
  capture_.annotations.insert(capture_.annotations.end(), device_steps_.begin(), device_steps_.end());
}

class XplaneReader final : public TraceReader {
 public:
  std::string_view name() const override { return "xplane"; }
  std::string_view meaning() const override { return "XSpace files of JAX, XLA and TensorFlow (.xplane.pb)"; }

  // A first field of bytes, and in it (after an id) a plane's name.
  bool recognises(std::string_view first_bytes) const override {
    if (first_bytes.size() < 4 || first_bytes[0] != '\x0A') return false;
    std::size_t at = 1;
    while (at < first_bytes.size() && (static_cast<unsigned char>(first_bytes[at]) & 0x80U) != 0) ++at;
    ++at;
    if (at < first_bytes.size() && first_bytes[at] == '\x08') {
      ++at;
      while (at < first_bytes.size() && (static_cast<unsigned char>(first_bytes[at]) & 0x80U) != 0) ++at;
      ++at;
    }
    if (at + 2 >= first_bytes.size() || first_bytes[at] != '\x12') return false;
    const std::string_view name = first_bytes.substr(at + 2);
    return name.starts_with("/device:") || name.starts_with("/host:") || name.starts_with("Task Environment");
  }

  std::vector<Capture> read(ByteSource& source, const ReadOptions& options) const override {
    std::vector<Capture> captures;
    captures.push_back(Space(source, options).read());
    return captures;
  }
};

}  // namespace

std::unique_ptr<const TraceReader> make_xplane_reader() { return std::make_unique<XplaneReader>(); }

}  // namespace warploom
