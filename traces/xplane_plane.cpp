// SPDX-License-Identifier: Apache-2.0
// Field numbers of tsl/profiler/protobuf/xplane.proto:
//   XPlane {id 1, name 2, lines 3, event_metadata 4 (map), stat_metadata 5 (map), stats 6}
//   XLine {id 1, name 2, timestamp_ns 3, events 4, duration_ps 9, display_id 10, display_name 11}
//   XEvent {metadata_id 1, offset_ps 2, duration_ps 3, stats 4, num_occurrences 5}
//   XStat {metadata_id 1, double 2, uint64 3, int64 4, str 5, bytes 6, ref 7}
//   XEventMetadata {id 1, name 2, metadata 3, display_name 4, stats 5}, XStatMetadata {id 1, name 2}
#include "traces/xplane_plane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "sim/core/errors.hpp"
#include "traces/wire_reader.hpp"

namespace warploom::xplane {

namespace {

using Type = WireField::Type;

// A map's entry is a message {key 1, value 2}.
std::pair<std::int64_t, std::string_view> entry_of(std::string_view bytes) {
  std::pair<std::int64_t, std::string_view> entry;
  WireReader reader(bytes);
  for (WireField field; reader.next(field);) {
    if (field.is(1, Type::varint)) entry.first = field.integer();
    if (field.is(2, Type::bytes)) entry.second = field.bytes;
  }
  return entry;
}

}  // namespace

std::optional<std::int64_t> Stat::integer() const {
  if (is_number) return number;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

const Stat* Event::find(std::string_view stat) const {
  const auto place = std::find_if(stats.begin(), stats.end(), [&](const Stat& own) { return own.name == stat; });
  return place == stats.end() ? nullptr : &*place;
}

Plane::Plane(std::string_view bytes, std::string file, std::uint64_t offset)
    : bytes_(bytes), file_(std::move(file)), offset_(offset) {
  WireReader reader(bytes);
  for (WireField field; reader.next(field);) {
    if (field.type != Type::bytes) continue;
    switch (field.number) {
      case 2:
        name_ = field.bytes;
        break;
      case 3:
        take_line(field.bytes);
        break;
      case 4:
        take_event_metadata(field.bytes);
        break;
      case 5:
        take_stat_metadata(field.bytes);
        break;
      case 6:
        stats_.push_back(field.bytes);
        break;
      default:
        break;
    }
  }
  if (reader.is_broken()) fail("a plane is broken", reader.offset());
}

std::size_t Plane::offset_of(std::string_view part) const {
  return part.data() == nullptr ? 0 : static_cast<std::size_t>(part.data() - bytes_.data());
}

void Plane::fail(std::string_view what, std::size_t at) const {
  throw UserError(fmt::format("{}: byte {}: {} (plane `{}`)", file_, offset_ + at, what, name_.substr(0, 80)),
                  "the file is cut short or no XSpace: capture it again");
}

void Plane::take_line(std::string_view bytes) {
  Line line;
  std::string_view display_name;
  WireReader reader(bytes);
  for (WireField field; reader.next(field);) {
    if (field.is(1, Type::varint)) line.id = field.integer();
    if (field.is(2, Type::bytes)) line.name = field.bytes;
    if (field.is(3, Type::varint)) line.time_ns = field.integer();
    if (field.is(11, Type::bytes)) display_name = field.bytes;
  }
  if (reader.is_broken()) fail("a line is broken", offset_of(bytes) + reader.offset());
  if (line.name.empty()) line.name = display_name;
  line.bytes = bytes;
  lines_.push_back(line);
}

void Plane::take_event_metadata(std::string_view bytes) {
  const auto [id, value] = entry_of(bytes);
  Metadata metadata;
  std::string_view display_name;
  WireReader reader(value);
  for (WireField field; reader.next(field);) {
    if (field.is(2, Type::bytes)) metadata.name = field.bytes;
    if (field.is(4, Type::bytes)) display_name = field.bytes;
    if (field.is(5, Type::bytes)) metadata.stats.push_back(field.bytes);
  }
  if (reader.is_broken()) fail("a name of events is broken", offset_of(bytes));
  if (metadata.name.empty()) metadata.name = display_name;
  events_[id] = std::move(metadata);
}

void Plane::take_stat_metadata(std::string_view bytes) {
  const auto [id, value] = entry_of(bytes);
  WireReader reader(value);
  std::string_view name;
  for (WireField field; reader.next(field);) {
    if (field.is(2, Type::bytes)) name = field.bytes;
  }
  names_[id] = name;
}

Stat Plane::stat(std::string_view bytes) const {
  Stat result;
  WireReader reader(bytes);
  for (WireField field; reader.next(field);) {
    if (field.is(1, Type::varint)) {
      const auto place = names_.find(field.integer());
      if (place != names_.end()) result.name = place->second;
    } else if (field.is(3, Type::varint) || field.is(4, Type::varint)) {
      result.number = field.integer();
      result.is_number = true;
    } else if (field.is(5, Type::bytes)) {
      result.text = field.bytes;
    } else if (field.is(7, Type::varint)) {
      const auto place = names_.find(field.integer());
      if (place != names_.end()) result.text = place->second;
    }
  }
  return result;
}

std::vector<Stat> Plane::stats() const {
  std::vector<Stat> result;
  for (const auto bytes : stats_) result.push_back(stat(bytes));
  return result;
}

void Plane::decode(std::string_view bytes, Event& event) const {
  event.name = {};
  event.offset_ps = 0;
  event.duration_ps = 0;
  event.is_aggregate = false;
  event.stats.clear();
  const Metadata* metadata = nullptr;
  WireReader reader(bytes);
  for (WireField field; reader.next(field);) {
    if (field.is(1, Type::varint)) {
      const auto place = events_.find(field.integer());
      metadata = place == events_.end() ? nullptr : &place->second;
    } else if (field.is(2, Type::varint)) {
      event.offset_ps = field.value;
      event.is_aggregate = false;
    } else if (field.is(3, Type::varint)) {
      event.duration_ps = field.value;
    } else if (field.is(4, Type::bytes)) {
      event.stats.push_back(stat(field.bytes));
    } else if (field.is(5, Type::varint)) {
      event.is_aggregate = true;
    }
  }
  if (reader.is_broken()) fail("an event is broken", offset_of(bytes) + reader.offset());
  if (metadata == nullptr) return;
  event.name = metadata->name;
  for (const auto own : metadata->stats) event.stats.push_back(stat(own));
}

void Plane::for_each_event(const Line& line, const std::function<void(const Event&)>& visit) const {
  Event event;
  WireReader reader(line.bytes);
  for (WireField field; reader.next(field);) {
    if (!field.is(4, Type::bytes)) continue;
    decode(field.bytes, event);
    visit(event);
  }
}

}  // namespace warploom::xplane
