// SPDX-License-Identifier: Apache-2.0
// Slices of captured runs as packets, track by track.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "traces/perfetto_packets.hpp"
#include "traces/perfetto_writer.hpp"

namespace warploom {

// Ends are written when the next slice of their track begins after them, the inner before the outer.
class CapturedSlices::Writer : PerfettoPackets {
 public:
  Writer(std::ostream& out, const PerfettoPart& part) : PerfettoPackets(out, part) {}

  void add_process(const std::string& name) {
    process_ = next_track_++;
    describe_process(process_, name);
  }

  void add_lane(const std::string& name, std::vector<CapturedSlice>& slices, bool nest) {
    std::stable_sort(slices.begin(), slices.end(), [](const CapturedSlice& a, const CapturedSlice& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    tracks_.clear();
    for (const CapturedSlice& slice : slices) {
      Track& track = track_for(slice, nest, name);
      begin(track.id, slice);
      track.open.push_back(slice.end);
    }
    for (Track& track : tracks_) close(track, std::numeric_limits<std::uint64_t>::max());
  }

 private:
  struct Track {
    std::uint64_t id = 0;
    std::vector<std::uint64_t> open;  // ends, the innermost last
  };

  Track& track_for(const CapturedSlice& slice, bool nest, const std::string& name) {
    for (Track& track : tracks_) {
      close(track, slice.begin);
      if (track.open.empty() || (nest && slice.end <= track.open.back())) return track;
    }
    Track& track = tracks_.emplace_back();
    track.id = next_track_++;
    describe_thread(track.id, process_, tracks_.size() == 1 ? name : fmt::format("{} ({})", name, tracks_.size()));
    return track;
  }

  void close(Track& track, std::uint64_t now) {
    while (!track.open.empty() && track.open.back() <= now) {
      end_slice(track.id, track.open.back());
      track.open.pop_back();
    }
  }

  void begin(std::uint64_t track, const CapturedSlice& slice) {
    auto& event = begin_slice(track, slice.begin, slice.name);
    event.add_category_iids(categories_.id(slice.category, [this](auto iid, const auto& text) {
      describe(*packet_.mutable_interned_data()->add_event_categories(), iid, text);
    }));
    if (slice.starts_flow != 0) event.add_flow_ids(global(slice.starts_flow));
    if (slice.ends_flow != 0) event.add_terminating_flow_ids(global(slice.ends_flow));
    write_packet();
  }

  std::uint64_t next_track_ = 1;
  std::uint64_t process_ = 0;
  std::vector<Track> tracks_;
  PerfettoInterner categories_;
};

CapturedSlices::CapturedSlices(std::ostream& out, const PerfettoPart& part)
    : out_(out), writer_(std::make_unique<Writer>(out, part)) {}
CapturedSlices::~CapturedSlices() = default;
void CapturedSlices::add_process(const std::string& name) { writer_->add_process(name); }
void CapturedSlices::add_lane(const std::string& name, std::vector<CapturedSlice>& slices, bool nest) {
  writer_->add_lane(name, slices, nest);
}
void CapturedSlices::finish() {
  writer_.reset();  // its end flushes
  require_timeline_written(out_);
}

}  // namespace warploom
