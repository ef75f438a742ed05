// SPDX-License-Identifier: Apache-2.0
// What every Perfetto trace is made of: packets, tracks, texts that are written once.
#pragma once

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "sim/core/errors.hpp"
#include "traces/perfetto.pb.h"
#include "traces/perfetto_writer.hpp"

namespace warploom {

// Texts of one sort, numbered from 1. A new one is described in the packet that uses it first.
class PerfettoInterner {
 public:
  // `describe(iid, text)` is called for a new text.
  template <class Describe>
  std::uint64_t id(std::string_view text, Describe describe) {
    const auto [place, is_new] = ids_.try_emplace(std::string(text), ids_.size() + 1);
    if (is_new) describe(place->second, place->first);
    return place->second;
  }

 private:
  std::unordered_map<std::string, std::uint64_t> ids_;
};

// What every trace is made of: processes, their threads, slices with interned names.
class PerfettoPackets {
 protected:
  explicit PerfettoPackets(std::ostream& out, PerfettoPart part = {})
      : part_(std::move(part)), stream_(&out), coded_(&stream_) {}

  // Tracks and arrows are numbered from 1 within a part.
  std::uint64_t global(std::uint64_t id) const { return std::uint64_t{part_.number - 1} << 40U | id; }

  void describe_process(std::uint64_t track, const std::string& name) {
    auto& described = *packet_.mutable_track_descriptor();
    described.set_uuid(global(track));
    described.mutable_process()->set_pid(pid(track));
    described.mutable_process()->set_process_name(name + part_.suffix);
    write_packet();
  }

  void describe_thread(std::uint64_t track, std::uint64_t process, const std::string& name) {
    auto& described = *packet_.mutable_track_descriptor();
    described.set_uuid(global(track));
    described.set_parent_uuid(global(process));
    auto& thread = *described.mutable_thread();
    thread.set_pid(pid(process));
    thread.set_tid(pid(track));  // never a pid, which would mean a main thread
    thread.set_thread_name(name);
    write_packet();
  }

  // The begin of a slice; write_packet() when it has all it is to have.
  perfetto::TrackEvent& begin_slice(std::uint64_t track, std::uint64_t time, std::string_view name) {
    packet_.set_timestamp(time);
    auto& begin = *packet_.mutable_track_event();
    begin.set_type(perfetto::TrackEvent::TYPE_SLICE_BEGIN);
    begin.set_track_uuid(global(track));
    begin.set_name_iid(names_.id(name, [this](auto iid, const auto& text) {
      describe(*packet_.mutable_interned_data()->add_event_names(), iid, text);
    }));
    return begin;
  }

  void end_slice(std::uint64_t track, std::uint64_t time) {
    packet_.set_timestamp(time);
    auto& end = *packet_.mutable_track_event();
    end.set_type(perfetto::TrackEvent::TYPE_SLICE_END);
    end.set_track_uuid(global(track));
    write_packet();
  }

  static void describe(perfetto::InternedName& added, std::uint64_t iid, const std::string& text) {
    added.set_iid(iid);
    added.set_name(text);
  }

  void write_packet() {
    constexpr std::uint32_t interned_data_starts = 1;
    constexpr std::uint32_t needs_interned_data = 2;
    constexpr std::uint32_t packet_tag = 1 << 3 | 2;  // Trace.packet, length-delimited
    packet_.set_trusted_packet_sequence_id(part_.number);
    packet_.set_sequence_flags(is_first_ ? interned_data_starts : needs_interned_data);
    is_first_ = false;
    coded_.WriteTag(packet_tag);
    coded_.WriteVarint32(static_cast<std::uint32_t>(packet_.ByteSizeLong()));
    packet_.SerializeWithCachedSizes(&coded_);
    packet_.Clear();
  }

  perfetto::TracePacket packet_;  // one, over and over: its storage is kept

 private:
  // Processes and threads of parts apart, too.
  std::int32_t pid(std::uint64_t track) const {
    return static_cast<std::int32_t>(track + (std::uint64_t{part_.number - 1} << 28U));
  }

  PerfettoPart part_;
  google::protobuf::io::OstreamOutputStream stream_;
  google::protobuf::io::CodedOutputStream coded_;
  bool is_first_ = true;
  PerfettoInterner names_;
};

inline void require_timeline_written(std::ostream& out) {
  if (!out.flush()) throw UserError("could not write the timeline", "is there space left on the disk?");
}

}  // namespace warploom
