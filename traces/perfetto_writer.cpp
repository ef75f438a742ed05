// SPDX-License-Identifier: Apache-2.0
// Rows to packets: descriptors and interned texts first, then slices in order of their begin, then the memory counters.
#include "traces/perfetto_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.hpp"
#include "sim/play/memory.hpp"
#include "traces/perfetto_packets.hpp"

namespace warploom {

namespace {

std::uint64_t nanoseconds(Time time) { return static_cast<std::uint64_t>(time.ps() / 1000); }

bool meets(OperationKind kind) {
  return kind == OperationKind::collective || kind == OperationKind::send || kind == OperationKind::recv ||
         kind == OperationKind::fused;
}

std::string_view kind_name(OperationKind kind) {
  switch (kind) {
    case OperationKind::compute:
      return "compute";
    case OperationKind::collective:
      return "collective";
    case OperationKind::send:
      return "send";
    case OperationKind::recv:
      return "recv";
    case OperationKind::copy:
      return "copy";
    case OperationKind::host:
      return "host";
    case OperationKind::fused:
      return "fused";
    case OperationKind::think:
      return "think";
    case OperationKind::marker:
      return "marker";
  }
  return "?";
}

class PerfettoWriter : PerfettoPackets {
 public:
  PerfettoWriter(const Program& program, const Timeline& timeline, std::ostream& out, const PerfettoPart& part)
      : PerfettoPackets(out, part), program_(program), timeline_(timeline) {}

  void write() {
    for (RoleId role = 0; role < program_.roles.size(); ++role) describe_role(role);
    for (StreamId stream = 0; stream < program_.streams.size(); ++stream) describe_stream(stream);
    pair_messages();
    for (const RowId row : rows_to_draw()) write_slice(row);
    const auto changes = memory_changes(program_, timeline_);
    for (RoleId role = 0; role < program_.roles.size(); ++role) write_memory(role, changes[role]);
  }

 private:
  // ---- Tracks: 1.. are roles, then streams, then counters ----------------------------------------------------------

  std::uint64_t track_of_role(RoleId role) const { return 1 + role; }
  std::uint64_t track_of_stream(StreamId stream) const { return 1 + program_.roles.size() + stream; }
  std::uint64_t track_of_counter(RoleId role, std::size_t part) const {
    return 1 + program_.roles.size() + program_.streams.size() + role * (memory_part_names.size() + 1) + part;
  }

  void describe_role(RoleId role) {
    const Role& of_role = program_.roles[role];
    const std::int64_t devices = of_role.device_count();
    describe_process(track_of_role(role),
                     devices == 1 ? of_role.name : fmt::format("{} ({} devices)", of_role.name, devices));
  }

  void describe_stream(StreamId stream) {
    const Stream& of_stream = program_.streams[stream];
    describe_thread(track_of_stream(stream), track_of_role(of_stream.role), of_stream.name);
  }

  void describe_counter(RoleId role, std::size_t part) {
    auto& track = *packet_.mutable_track_descriptor();
    track.set_uuid(global(track_of_counter(role, part)));
    track.set_parent_uuid(global(track_of_role(role)));
    track.set_name(part == 0 ? "memory" : fmt::format("memory: {}", memory_part_names[part - 1]));
    track.mutable_counter()->set_unit(perfetto::CounterDescriptor::UNIT_SIZE_BYTES);
    write_packet();
  }

  // ---- Slices ------------------------------------------------------------------------------------------------------

  bool is_drawn(RowId row) const { return timeline_.end[row] > timeline_.begin[row] || meets(program_.kind[row]); }

  // In order of their begin; a receive after the sends of its moment, because an arrow starts at what comes first.
  std::vector<RowId> rows_to_draw() const {
    std::vector<RowId> rows;
    for (RowId row = 0; row < program_.size(); ++row) {
      if (is_drawn(row)) rows.push_back(row);
    }
    std::sort(rows.begin(), rows.end(), [this](RowId a, RowId b) {
      if (timeline_.begin[a] != timeline_.begin[b]) return timeline_.begin[a] < timeline_.begin[b];
      const bool a_receives = program_.kind[a] == OperationKind::recv;
      const bool b_receives = program_.kind[b] == OperationKind::recv;
      return a_receives != b_receives ? b_receives : a < b;
    });
    return rows;
  }

  // The k-th send of a meeting and its k-th receive are a flow.
  void pair_messages() {
    std::vector<std::uint32_t> sends(program_.meetings.size(), 0);
    std::vector<std::uint32_t> receives(program_.meetings.size(), 0);
    const auto count_of = [&](RowId row) -> std::uint32_t* {
      if (program_.kind[row] == OperationKind::send) return &sends[program_.meeting[row]];
      if (program_.kind[row] == OperationKind::recv) return &receives[program_.meeting[row]];
      return nullptr;
    };
    for (RowId row = 0; row < program_.size(); ++row) {
      if (auto* count = count_of(row)) ++*count;
    }
    std::vector<std::uint32_t> pairs(program_.meetings.size(), 0);
    std::vector<std::uint32_t> first(program_.meetings.size(), 0);
    std::uint32_t flows = 0;
    for (MeetingId meeting = 0; meeting < program_.meetings.size(); ++meeting) {
      pairs[meeting] = std::min(sends[meeting], receives[meeting]);
      first[meeting] = 1 + flows;
      flows += pairs[meeting];
      sends[meeting] = receives[meeting] = 0;
    }
    flow_.assign(program_.size(), 0);
    for (RowId row = 0; row < program_.size(); ++row) {
      auto* count = count_of(row);
      if (count == nullptr) continue;
      const MeetingId meeting = program_.meeting[row];
      if (*count < pairs[meeting]) flow_[row] = first[meeting] + *count;
      ++*count;
    }
  }

  void write_slice(RowId row) {
    const std::uint64_t track = track_of_stream(program_.stream[row]);
    auto& begin = begin_slice(track, nanoseconds(timeline_.begin[row]), row_name(row));
    begin.add_category_iids(
        categories_.id(cause_names[static_cast<std::size_t>(program_.cause[row])], [this](auto iid, const auto& text) {
          describe(*packet_.mutable_interned_data()->add_event_categories(), iid, text);
        }));
    if (flow_[row] != 0 && program_.kind[row] == OperationKind::send) begin.add_flow_ids(global(flow_[row]));
    if (flow_[row] != 0 && program_.kind[row] == OperationKind::recv)
      begin.add_terminating_flow_ids(global(flow_[row]));
    add_arguments(row);
    write_packet();

    end_slice(track, nanoseconds(timeline_.end[row]));
  }

  std::string_view row_name(RowId row) const {
    if (program_.row_name[row] < program_.names.size()) return program_.names[program_.row_name[row]];
    if (program_.kernel[row] < program_.kernels.size()) return program_.kernels[program_.kernel[row]].family;
    if (program_.kind[row] == OperationKind::collective && call_of(row) != none) {
      return name(program_.calls[call_of(row)].kind);
    }
    return kind_name(program_.kind[row]);
  }

  CallId call_of(RowId row) const { return program_.meetings[program_.meeting[row]].call; }

  void add_arguments(RowId row) {
    argument("phase", phase_names[static_cast<std::size_t>(program_.phase[row])]);
    if (program_.layer[row] >= 0) argument("layer", program_.layer[row]);
    if (program_.micro_batch[row] >= 0) argument("micro_batch", program_.micro_batch[row]);
    const Time duration = timeline_.end[row] - timeline_.begin[row];
    if (timeline_.alone[row] != duration) argument("alone_ns", timeline_.alone[row].nanoseconds());
    if (!meets(program_.kind[row])) return;
    const CallId call = call_of(row);
    if (call < timeline_.plans.size()) argument("algorithm", timeline_.plans[call].algorithm);
    if (call != none) argument("bytes", program_.calls[call].bytes.count());
    const Time waited = timeline_.begin[row] - timeline_.ready[row];
    if (waited > Time::zero()) argument("waited_ns", waited.nanoseconds());
  }

  perfetto::DebugAnnotation& annotation(std::string_view key) {
    auto& added = *packet_.mutable_track_event()->add_debug_annotations();
    added.set_name_iid(arguments_.id(key, [this](auto iid, const auto& text) {
      describe(*packet_.mutable_interned_data()->add_debug_annotation_names(), iid, text);
    }));
    return added;
  }
  void argument(std::string_view key, std::int64_t value) { annotation(key).set_int_value(value); }
  void argument(std::string_view key, std::int32_t value) { annotation(key).set_int_value(value); }
  void argument(std::string_view key, double value) { annotation(key).set_double_value(value); }
  void argument(std::string_view key, std::string_view value) {
    annotation(key).set_string_value_iid(values_.id(value, [this](auto iid, const auto& text) {
      auto& added = *packet_.mutable_interned_data()->add_debug_annotation_string_values();
      added.set_iid(iid);
      added.set_str(text);
    }));
  }

  // ---- Memory ------------------------------------------------------------------------------------------------------

  struct Counter {
    std::int64_t held = 0;
    std::int64_t written = std::numeric_limits<std::int64_t>::min();
    bool exists = false;
  };

  // Counter 0 is the total, the others are the parts that change.
  void write_memory(RoleId role, const std::vector<MemoryChange>& changes) {
    std::array<Counter, memory_part_names.size() + 1> counters{};
    for (std::size_t part = 0; part < memory_part_names.size(); ++part) {
      counters[part + 1].held = program_.roles[role].resident_bytes[part];
      counters[0].held += program_.roles[role].resident_bytes[part];
    }
    counters[0].exists = !changes.empty() || counters[0].held != 0;
    for (const auto& change : changes) counters[static_cast<std::size_t>(change.part) + 1].exists = true;
    for (std::size_t part = 0; part < counters.size(); ++part) {
      if (counters[part].exists) describe_counter(role, part);
    }
    const auto write_changed = [&](std::uint64_t time) {
      for (std::size_t part = 0; part < counters.size(); ++part) {
        auto& counter = counters[part];
        if (!counter.exists || counter.held == counter.written) continue;
        write_count(track_of_counter(role, part), time, counter.held);
        counter.written = counter.held;
      }
    };
    // The value at the end of a nanosecond is the one that is drawn.
    std::uint64_t now = 0;
    for (const auto& change : changes) {
      if (nanoseconds(change.at) != now) write_changed(now);
      now = nanoseconds(change.at);
      counters[0].held += change.bytes;
      counters[static_cast<std::size_t>(change.part) + 1].held += change.bytes;
    }
    write_changed(now);
  }

  void write_count(std::uint64_t track, std::uint64_t time, std::int64_t value) {
    packet_.set_timestamp(time);
    auto& event = *packet_.mutable_track_event();
    event.set_type(perfetto::TrackEvent::TYPE_COUNTER);
    event.set_track_uuid(global(track));
    event.set_counter_value(value);
    write_packet();
  }

  const Program& program_;
  const Timeline& timeline_;
  PerfettoInterner categories_;
  PerfettoInterner arguments_;
  PerfettoInterner values_;
  std::vector<std::uint32_t> flow_;  // by row: 0 or the number of its arrow
};

// Spans of a lane that overlap go to tracks of their own: slices of a track must nest.
class LaneWriter : PerfettoPackets {
 public:
  explicit LaneWriter(std::ostream& out) : PerfettoPackets(out) {}

  void write(const std::vector<LaneGroup>& groups) {
    for (const LaneGroup& group : groups) write(group);
  }

 private:
  struct Track {
    std::uint64_t id;
    std::uint64_t free;  // when its last slice has ended
  };

  void write(const LaneGroup& group) {
    const std::uint64_t process = next_track_++;
    describe_process(process, group.name);
    std::vector<std::vector<Track>> tracks(group.lanes.size());
    for (std::size_t lane = 0; lane < group.lanes.size(); ++lane) {
      tracks[lane].push_back({next_track_++, 0});
      describe_thread(tracks[lane].front().id, process, group.lanes[lane]);
    }
    std::vector<const LaneSpan*> spans;
    for (const LaneSpan& span : group.spans) {
      if (span.lane < tracks.size() && span.end > span.begin) spans.push_back(&span);
    }
    std::ranges::stable_sort(spans, {}, &LaneSpan::begin);
    for (const LaneSpan* span : spans) {
      std::vector<Track>& own = tracks[span->lane];
      auto track = std::ranges::find_if(own, [&](const Track& one) { return one.free <= span->begin; });
      if (track == own.end()) {
        own.push_back({next_track_++, 0});
        describe_thread(own.back().id, process, fmt::format("{} ({})", group.lanes[span->lane], own.size()));
        track = std::prev(own.end());
      }
      begin_slice(track->id, span->begin, span->what);
      write_packet();
      end_slice(track->id, span->end);
      track->free = span->end;
    }
  }

  std::uint64_t next_track_ = 1;
};

}  // namespace

void write_perfetto(const Program& program, const Timeline& timeline, std::ostream& out, const PerfettoPart& part) {
  PerfettoWriter(program, timeline, out, part).write();  // its end flushes
  require_timeline_written(out);
}

void write_perfetto(const std::vector<LaneGroup>& groups, std::ostream& out) {
  LaneWriter(out).write(groups);
  require_timeline_written(out);
}

}  // namespace warploom
