// SPDX-License-Identifier: Apache-2.0
// Turns Kineto's events, in any order, into a capture.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/capture.hpp"
#include "traces/decimal_time.hpp"
#include "traces/json_text.hpp"
#include "traces/kineto_event.hpp"
#include "traces/kineto_groups.hpp"
#include "traces/runtime_calls.hpp"

namespace warploom {

class KinetoBuilder {
 public:
  // `where` says, when asked, which record is being taken.
  KinetoBuilder(Capture& capture, std::function<std::string()> where);

  void take(const KinetoEvent& event);
  void note(std::string_view name, std::string_view text, Nanoseconds moved = 0, std::int64_t count = 1);
  void note(const JsonMends& mends);
  KinetoGroups& groups() { return groups_; }
  // After the last event: joins what needed all of them, and puts all into an order that is not the file's.
  void finish();

 private:
  struct Span {
    Nanoseconds start = 0;
    Nanoseconds duration = 0;
  };
  struct Category {
    std::string name;
    KinetoRole role = KinetoRole::unknown;
    std::int64_t count = 0;
  };
  struct Flow {  // one end
    std::uint64_t id = 0;
    Nanoseconds time = 0;
    std::uint32_t lane = 0;  // thread
    bool is_start = false;
    bool is_launch = false;  // ac2g: from a call to what it launched
  };
  struct Begun {  // a `B` whose `E` has not come: a copy of what the views showed
    Nanoseconds start = 0;
    std::string name;
    std::string category;
  };

  void take_complete(const KinetoEvent& event);
  void take_span(const KinetoEvent& event, Span span);
  void take_begin(const KinetoEvent& event);
  void take_end(const KinetoEvent& event);
  void take_flow(const KinetoEvent& event);
  void take_metadata(const KinetoEvent& event);
  void add_device_op(const KinetoEvent& event, Span span, DeviceOpKind kind);
  void add_call(const KinetoEvent& event, Span span);
  void add_host_op(const KinetoEvent& event, Span span);
  void add_annotation(const KinetoEvent& event, Span span);
  void add_sync(const KinetoEvent& event, Span span);

  void extend_host(Span span);

  Category& category_of(std::string_view name);
  bool time_of(std::string_view text, Nanoseconds& time);
  TextId text_of(std::string_view raw);            // unescaped, interned
  TextId canonical_text_of(std::string_view raw);  // JSON, spaces made uniform
  std::uint32_t thread_of(std::string_view process, std::string_view thread);
  std::uint32_t stream_of(std::string_view device, std::string_view context, std::string_view stream);

  void drop_duplicates();
  void join_operators();
  void join_flows();
  void name_threads();
  void sort_lanes();

  Capture& capture_;
  std::function<std::string()> where_;
  KinetoGroups groups_;
  std::vector<Category> categories_;
  std::unordered_map<std::string, std::uint32_t> threads_;  // by process and thread as written
  std::unordered_map<std::string, std::uint32_t> streams_;
  std::unordered_map<std::string, std::string> thread_names_;
  std::map<std::string, std::string> process_names_;
  std::unordered_map<std::string, TextId> canonical_;  // by the text as written
  std::unordered_map<TextId, CallKind> call_kinds_;
  std::unordered_map<std::string, std::vector<Begun>> begun_;  // by thread
  std::size_t open_begins_ = 0;
  std::vector<std::uint64_t> call_operators_;    // external ids, beside `calls`
  std::vector<std::uint64_t> device_operators_;  // beside `device_ops`
  std::vector<Flow> flows_;
  std::string key_, last_thread_key_, last_stream_key_, buffer_;
  std::uint32_t last_thread_ = nothing;
  std::uint32_t last_stream_ = nothing;
  std::int64_t without_correlation_ = 0;  // device operations and calls
  bool any_time_ = false;
  bool is_fine_ = false;  // some time is finer than a microsecond
};

}  // namespace warploom
