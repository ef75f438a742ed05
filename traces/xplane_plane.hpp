// SPDX-License-Identifier: Apache-2.0
// One XPlane, decoded from its bytes: names and statistics by id, lines of events. Views lead into the bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace warploom::xplane {

// Of a statistic: a number, or a text (also one that it refers to by id).
struct Stat {
  std::string_view name;
  std::string_view text;
  std::int64_t number = 0;
  bool is_number = false;

  // A number written in either way.
  std::optional<std::int64_t> integer() const;
};

struct Event {
  std::string_view name;
  std::uint64_t offset_ps = 0;  // from the line's time
  std::uint64_t duration_ps = 0;
  bool is_aggregate = false;  // of many occurrences, without a time
  std::vector<Stat> stats;    // its own, then those of its name

  const Stat* find(std::string_view stat) const;
};

struct Line {
  std::int64_t id = 0;
  std::string_view name;
  std::int64_t time_ns = 0;
  std::string_view bytes;  // its events, as yet undecoded
};

class Plane {
 public:
  // Decodes all but the events. Throws UserError naming `file` and the offset of what is broken.
  Plane(std::string_view bytes, std::string file, std::uint64_t offset);

  std::string_view name() const { return name_; }
  const std::vector<Line>& lines() const { return lines_; }
  std::vector<Stat> stats() const;
  // The event is the same object each time.
  void for_each_event(const Line& line, const std::function<void(const Event&)>& visit) const;

 private:
  struct Metadata {
    std::string_view name;
    std::vector<std::string_view> stats;
  };
  [[noreturn]] void fail(std::string_view what, std::size_t at) const;
  void take_line(std::string_view bytes);
  void take_event_metadata(std::string_view bytes);
  void take_stat_metadata(std::string_view bytes);
  void decode(std::string_view bytes, Event& event) const;
  Stat stat(std::string_view bytes) const;
  std::size_t offset_of(std::string_view part) const;

  std::string_view bytes_;
  std::string file_;
  std::uint64_t offset_;
  std::string_view name_;
  std::vector<Line> lines_;
  std::vector<std::string_view> stats_;
  std::unordered_map<std::int64_t, Metadata> events_;
  std::unordered_map<std::int64_t, std::string_view> names_;  // of statistics
};

}  // namespace warploom::xplane
