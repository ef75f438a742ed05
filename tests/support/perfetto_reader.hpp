// SPDX-License-Identifier: Apache-2.0
// Reads a Perfetto trace by the numbers of the official .proto files (google/perfetto, protos/perfetto/trace/**),
// not by ours, and checks what trace_processor would complain about.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warploom::testing {

struct TraceSlice {
  std::uint64_t track = 0;
  std::string name;
  std::string category;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::map<std::string, std::string> arguments;  // numbers as text
};

struct TraceReading {
  std::map<std::uint64_t, std::string> processes;                                       // name by uuid
  std::map<std::uint64_t, std::uint64_t> process_ids;                                   // pid by uuid
  std::map<std::uint64_t, std::string> threads;                                         // name by uuid
  std::map<std::uint64_t, std::uint64_t> parents;                                       // of threads and counters
  std::map<std::uint64_t, std::string> counters;                                        // name by uuid
  std::vector<TraceSlice> slices;                                                       // in order of the file
  std::map<std::uint64_t, std::vector<std::pair<std::uint64_t, std::int64_t>>> values;  // by counter: time, value
  std::vector<std::pair<std::size_t, std::size_t>> arrows;                              // slice to slice
};

class TraceReader {
 public:
  // `nests`: a slice may stand within another of its track.
  static TraceReading read(const std::string& bytes, bool nests = false) {
    TraceReader reader;
    reader.nests_ = nests;
    for (const auto& field : parse(bytes)) {
      check(field.number == 1, "Trace has only packets");
      reader.packet(parse(field.bytes));
    }
    for (const auto& [track, open] : reader.open_) check(open.empty(), "a slice without end");
    check(reader.pending_flows_.empty(), "an arrow without head");
    return std::move(reader.reading_);
  }

 private:
  // The wire format itself: https://protobuf.dev/programming-guides/encoding.
  struct Field {
    std::uint64_t number = 0;
    std::uint64_t value = 0;      // varint or fixed64
    std::string_view bytes = {};  // length-delimited
  };
  using Fields = std::vector<Field>;

  static void check(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(what);
  }
  static std::uint64_t take_varint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      check(!bytes.empty() && shift < 64, "a number is cut off");
      const auto byte = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if (byte < 0x80) return value;
    }
  }
  static Fields parse(std::string_view bytes) {
    Fields fields;
    while (!bytes.empty()) {
      const std::uint64_t tag = take_varint(bytes);
      auto& field = fields.emplace_back(Field{tag >> 3});
      std::uint64_t length = 8;
      switch (tag & 7) {
        case 0:
          field.value = take_varint(bytes);
          continue;
        case 1:
          break;
        case 2:
          length = take_varint(bytes);
          break;
        default:
          check(false, "a wire type that nobody writes");
      }
      check(length <= bytes.size(), "a message is cut off");
      field.bytes = bytes.substr(0, length);
      bytes.remove_prefix(length);
      for (std::size_t i = 8; (tag & 7) == 1 && i > 0; --i) {
        field.value = field.value << 8 | static_cast<unsigned char>(field.bytes[i - 1]);
      }
    }
    return fields;
  }
  static std::vector<const Field*> all(const Fields& fields, int number) {
    std::vector<const Field*> found;
    for (const auto& field : fields) {
      if (field.number == static_cast<std::uint64_t>(number)) found.push_back(&field);
    }
    return found;
  }
  static const Field* one(const Fields& fields, int number) {
    const auto found = all(fields, number);
    check(found.size() <= 1, "a field twice");
    return found.empty() ? nullptr : found.front();
  }
  static std::uint64_t number(const Fields& fields, int number) {
    const auto* field = one(fields, number);
    return field == nullptr ? 0 : field->value;
  }
  static std::string text(const Fields& fields, int number) {
    const auto* field = one(fields, number);
    return field == nullptr ? std::string() : std::string(field->bytes);
  }
  static void intern(std::map<std::uint64_t, std::string>& index, const Fields& data, int field) {
    for (const auto* entry : all(data, field)) {
      const auto fields = parse(entry->bytes);
      check(number(fields, 1) != 0, "an iid of zero");
      check(index.emplace(number(fields, 1), text(fields, 2)).second, "an iid twice");
    }
  }
  static std::string look_up(const std::map<std::uint64_t, std::string>& index, std::uint64_t iid) {
    const auto place = index.find(iid);
    check(place != index.end(), "an iid that was not described");
    return place->second;
  }

  // TracePacket: timestamp 8, sequence id 10, track_event 11, interned_data 12, sequence_flags 13, track_descriptor 60.
  void packet(const Fields& fields) {
    const std::uint64_t sequence = number(fields, 10);
    const bool is_first = sequence != sequence_;
    check(sequence > 0 && (!is_first || sequence == sequence_ + 1), "packet sequences one after another");
    if (is_first) {
      sequence_ = sequence;
      for (auto* index : {&names_, &categories_, &argument_names_, &argument_values_}) index->clear();
    }
    check(number(fields, 13) == (is_first ? 1 : 2), "the first packet clears the interned data, the others need it");
    if (const auto* data = one(fields, 12)) {
      const auto interned = parse(data->bytes);
      intern(categories_, interned, 1);
      intern(names_, interned, 2);
      intern(argument_names_, interned, 3);
      intern(argument_values_, interned, 29);
    }
    if (const auto* descriptor = one(fields, 60)) track(parse(descriptor->bytes));
    if (const auto* event = one(fields, 11)) this->event(number(fields, 8), parse(event->bytes));
  }

  // TrackDescriptor: uuid 1, name 2, process 3 {pid 1, process_name 6}, thread 4 {pid 1, tid 2, thread_name 5},
  // parent_uuid 5, counter 8 {unit 3}.
  void track(const Fields& fields) {
    const std::uint64_t uuid = number(fields, 1);
    check(uuid != 0 && tracks_.insert({uuid, true}).second, "a uuid of zero, or twice");
    reading_.parents[uuid] = number(fields, 5);
    if (const auto* process = one(fields, 3)) {
      const auto of = parse(process->bytes);
      reading_.processes[uuid] = text(of, 6);
      reading_.process_ids[uuid] = number(of, 1);
    } else if (const auto* thread = one(fields, 4)) {
      const auto of = parse(thread->bytes);
      reading_.threads[uuid] = text(of, 5);
      check(reading_.process_ids.at(number(fields, 5)) == number(of, 1), "a thread of another process");
      check(thread_ids_.insert({number(of, 2), true}).second, "a thread id twice");
    } else {
      const auto* counter = one(fields, 8);
      check(counter != nullptr && number(parse(counter->bytes), 3) == 3, "a counter of bytes");
      reading_.counters[uuid] = text(fields, 2);
    }
  }

  // TrackEvent: category_iids 3, debug_annotations 4, type 9, name_iid 10, track_uuid 11, counter_value 30,
  // flow_ids 47 and terminating_flow_ids 48 (fixed64).
  void event(std::uint64_t time, const Fields& fields) {
    const std::uint64_t track = number(fields, 11);
    check(tracks_.contains(track), "an event on a track that was not described");
    check(time >= last_[track], "times of a track go backwards");
    last_[track] = time;
    switch (number(fields, 9)) {
      case 1:
        begin(track, time, fields);
        break;
      case 2: {
        check(!open_[track].empty(), "an end without begin");
        reading_.slices[open_[track].back()].end = time;
        open_[track].pop_back();
        break;
      }
      case 4:
        reading_.values[track].emplace_back(time, static_cast<std::int64_t>(number(fields, 30)));
        break;
      default:
        check(false, "an event of another type");
    }
  }

  void begin(std::uint64_t track, std::uint64_t time, const Fields& fields) {
    const std::uint64_t category = number(fields, 3);  // pictures of a block have none
    TraceSlice slice{
        track, look_up(names_, number(fields, 10)), category == 0 ? "" : look_up(categories_, category), time, 0, {}};
    for (const auto* annotation : all(fields, 4)) {
      // DebugAnnotation: name_iid 1, int_value 4, double_value 5, string_value_iid 17.
      const auto of = parse(annotation->bytes);
      auto& value = slice.arguments[look_up(argument_names_, number(of, 1))];
      if (one(of, 4) != nullptr) value = std::to_string(static_cast<std::int64_t>(number(of, 4)));
      if (const auto* real = one(of, 5)) value = std::to_string(std::bit_cast<double>(real->value));
      if (one(of, 17) != nullptr) value = look_up(argument_values_, number(of, 17));
    }
    const std::size_t index = reading_.slices.size();
    check(nests_ || open_[track].empty(), "slices of a track overlap");
    open_[track].push_back(index);
    // As trace_processor does: a flow begins where its id is first seen in time; at one time, first in the file.
    for (const auto* flow : all(fields, 47)) check(pending_flows_.emplace(flow->value, index).second, "an arrow twice");
    for (const auto* flow : all(fields, 48)) {
      const auto place = pending_flows_.find(flow->value);
      check(place != pending_flows_.end(), "an arrow that begins nowhere");
      check(reading_.slices[place->second].begin <= time, "an arrow back in time");
      reading_.arrows.emplace_back(place->second, index);
      pending_flows_.erase(place);
    }
    reading_.slices.push_back(std::move(slice));
  }

  bool nests_ = false;
  std::uint64_t sequence_ = 0;
  TraceReading reading_;
  std::map<std::uint64_t, std::string> names_, categories_, argument_names_, argument_values_;
  std::map<std::uint64_t, bool> tracks_, thread_ids_;
  std::map<std::uint64_t, std::uint64_t> last_;
  std::map<std::uint64_t, std::vector<std::size_t>> open_;
  std::map<std::uint64_t, std::size_t> pending_flows_;
};

}  // namespace warploom::testing
