// SPDX-License-Identifier: Apache-2.0
// Which process a record belongs to stands in metadata that may come at the end, so records are told apart by their
// arguments: "Task Type" has a task of the hardware, "alg_type" an HCCL operation, "notify_id" a task of its planes,
// "level" or "Mode" a call of CANN; Python's have a category. (Ascend/pytorch and mstt, measured on CANN 7 and 8.)
#include "traces/ascend_trace_view.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "traces/decimal_time.hpp"
#include "traces/json_records.hpp"

namespace warploom::ascend {

namespace {

namespace json = simdjson::ondemand;

// What of a record's arguments is looked at. Texts are valid while the record is.
struct Arguments {
  std::string_view task_type, data_type, algorithm, name, dimensions, types;
  std::uint64_t connection = 0;
  std::int64_t count = -1;
  bool is_plane = false;
  bool is_call = false;
};

struct Record {
  std::string_view phase, name, category, id;
  std::string_view process, thread;  // as written
  std::string_view time, duration;   // decimal text
  Arguments arguments;
  bool has_arguments = false;
};

// A number or a text, as written without its quotes.
std::string_view scalar_text(json::value value) {
  if (value.type() == json::json_type::string) return value.get_string().value();
  const std::string_view token = value.raw_json_token();
  return trim(token);
}

std::int64_t whole(std::string_view text, std::int64_t fallback) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : fallback;
}

Arguments arguments_of(json::object object) {
  Arguments arguments;
  for (auto field : object) {
    const std::string_view key = field.unescaped_key().value();
    json::value value = field.value().value();
    const auto type = value.type().value();
    if (type != json::json_type::string && type != json::json_type::number) continue;
    if (key == "Task Type") arguments.task_type = scalar_text(value);
    if (key == "data_type") arguments.data_type = scalar_text(value);
    if (key == "alg_type") arguments.algorithm = scalar_text(value);
    if (key == "name") arguments.name = scalar_text(value);
    if (key == "Input Dims") arguments.dimensions = scalar_text(value);
    if (key == "Input type") arguments.types = scalar_text(value);
    if (key == "count") arguments.count = whole(scalar_text(value), -1);
    if (key == "notify_id" || key == "task type") arguments.is_plane = true;
    if (key == "Mode" || key == "level" || key == "item_id") arguments.is_call = true;
    if (key == "connection_id") {
      const std::int64_t connection = whole(scalar_text(value), 0);
      arguments.connection = connection > 0 ? static_cast<std::uint64_t>(connection) : 0;
    }
  }
  return arguments;
}

Record record_of(json::object object) {
  Record record;
  for (auto field : object) {
    const std::string_view key = field.unescaped_key().value();
    json::value value = field.value().value();
    const auto type = value.type().value();
    if (type == json::json_type::object) {
      if (key == "args") {
        record.arguments = arguments_of(value.get_object().value());
        record.has_arguments = true;
      }
      continue;
    }
    if (type != json::json_type::string && type != json::json_type::number) continue;
    if (key == "ph") record.phase = scalar_text(value);
    if (key == "name") record.name = scalar_text(value);
    if (key == "cat") record.category = scalar_text(value);
    if (key == "id") record.id = scalar_text(value);
    if (key == "pid") record.process = scalar_text(value);
    if (key == "tid") record.thread = scalar_text(value);
    if (key == "ts") record.time = scalar_text(value);
    if (key == "dur") record.duration = scalar_text(value);
  }
  return record;
}

class TraceView {
 public:
  TraceView(ByteSource& source, Builder& builder, const ReadOptions& options)
      : source_(source), builder_(builder), options_(options), records_(source, {}, builder.capture().repairs) {}

  void read() {
    for (auto item = records_.next(); item != JsonRecords::Item::end; item = records_.next()) {
      if (item == JsonRecords::Item::record) take_text();
      if (options_.progress && records_.records() % 65536 == 0) {
        options_.progress(source_.bytes_taken(), source_.bytes_in_all());
      }
    }
    Capture& capture = builder_.capture();
    capture.is_truncated = records_.is_truncated();
    capture.event_count = records_.records();
    name_all();
  }

 private:
  void take_text() {
    const std::string_view text = records_.text();
    try {
      json::document document =
          parser_.iterate(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING).value();
      take(record_of(document.get_object().value()));
    } catch (const simdjson::simdjson_error& error) {
      builder_.capture().repairs.note("broken_record", "records that are no JSON were left out", records_.where());
    }
  }

  void take(const Record& record) {
    if (record.phase == "M") return take_metadata(record);
    const auto time = time_of(record.time);
    if (!time) return;
    if (record.phase == "X") return take_interval(record, *time);
    if (record.phase == "s" || record.phase == "f") take_flow(record, *time);
  }

  std::optional<Nanoseconds> time_of(std::string_view text) {
    const DecimalTime time = parse_time(text);
    if (time.is_ok()) return time.ns;
    builder_.capture().repairs.note("row_without_times", "records whose time or duration is none were left out",
                                    records_.where());
    return std::nullopt;
  }

  void take_metadata(const Record& record) {
    const std::string process(record.process);
    if (record.name == "process_name") processes_[process] = record.arguments.name;
    if (record.name == "thread_name") names_[{process, std::string(record.thread)}] = record.arguments.name;
  }

  void take_interval(const Record& record, Nanoseconds start) {
    if (!record.category.empty()) {
      ++builder_.capture().events_by_category[std::string(record.category)];
    } else {
      ++without_category_[std::string(record.process)];
    }
    auto duration = time_of(record.duration.empty() ? "0" : record.duration);
    if (!duration || !builder_.settle(start, *duration, records_.where())) return;
    const Arguments& arguments = record.arguments;
    if (!record.category.empty()) return take_host(record, start, *duration);
    if (!arguments.task_type.empty()) return take_task(record, start, *duration);
    if (arguments.is_plane) return;  // the same task stands on its stream of the hardware
    if (arguments.is_call) {
      builder_.add_call(start, *duration, record.name, thread(record), arguments.connection);
    } else if (!arguments.algorithm.empty() || (record.has_arguments && record.name.starts_with("hcom_"))) {
      take_communication(record, start, *duration);
    }
    // The rest is the vendor's own analysis, which is computed here from the tasks.
  }

  void take_host(const Record& record, Nanoseconds start, Nanoseconds duration) {
    Capture& capture = builder_.capture();
    if (record.category == "user_annotation" || record.name.starts_with("ProfilerStep#")) {
      capture.annotations.push_back({start, duration, capture.texts.add(record.name), thread(record)});
    } else if (record.category == "cpu_op" || record.category == "enqueue" || record.category == "dequeue") {
      HostOp op;
      op.start = start;
      op.duration = duration;
      op.name = capture.texts.add(record.name);
      op.thread = thread(record);
      if (!record.arguments.dimensions.empty()) op.shapes = capture.texts.add(record.arguments.dimensions);
      if (!record.arguments.types.empty()) op.types = capture.texts.add(record.arguments.types);
      builder_.add_host_op(op);
    }
  }

  void take_task(const Record& record, Nanoseconds start, Nanoseconds duration) {
    Task task;
    task.start = start;
    task.duration = duration;
    task.stream = builder_.stream(key(record));
    task.connection = record.arguments.connection;
    task.name = record.name;
    task.kind = kind_of_task(record.arguments.task_type, record.name);
    builder_.add(task);
  }

  void take_communication(const Record& record, Nanoseconds start, Nanoseconds duration) {
    Communication operation;
    operation.start = start;
    operation.duration = duration;
    operation.stream = builder_.stream(key(record));
    operation.connection = record.arguments.connection;
    operation.name = record.name;
    operation.data_type = record.arguments.data_type;
    operation.algorithm = record.arguments.algorithm;
    operation.count = record.arguments.count;
    operation.group = builder_.group(key(record));
    builder_.add(operation);
  }

  void take_flow(const Record& record, Nanoseconds at) {
    const bool is_begin = record.phase == "s";
    if (record.category == "async_npu") {
      // Its id is the start of the operation on the device, in nanoseconds.
      const std::int64_t device_start = whole(record.id, -1);
      if (is_begin && device_start >= 0) builder_.call_from(device_start, thread(record), at);
    } else if (record.category == "HostToDevice") {
      if (is_begin) {
        builder_.launch_begin(std::string(record.id), at, thread(record));
      } else {
        builder_.launch_end(std::string(record.id), at, builder_.stream(key(record)));
      }
    } else if (record.category == "async_task_queue" || record.category == "fwdbwd") {
      const std::string id = fmt::format("{} {}", record.category, record.id);
      if (is_begin) {
        builder_.hand_off_begin(id, at, thread(record));
      } else {
        builder_.hand_off_end(id, at, thread(record));
      }
    }
  }

  static std::string key(const Record& record) { return fmt::format("{}/{}", record.process, record.thread); }
  std::uint32_t thread(const Record& record) {
    return builder_.thread(whole(record.process, 0), whole(record.thread, 0));
  }

  void name_all() {
    Capture& capture = builder_.capture();
    for (const auto& [place, name] : names_) {
      const std::string stream = place.first + "/" + place.second;
      builder_.name_stream(stream, name);
      for (auto& group : capture.groups) {
        if (group.name == stream) group.name = name.substr(0, name.rfind(" Communication"));
      }
      for (auto& own : capture.threads) {
        if (std::to_string(own.id) == place.second && std::to_string(own.process) == place.first) own.name = name;
      }
    }
    for (const auto& [process, count] : without_category_) {
      const auto name = processes_.find(process);
      capture.events_by_category[name == processes_.end() ? process : name->second] += count;
    }
  }

  ByteSource& source_;
  Builder& builder_;
  const ReadOptions& options_;
  JsonRecords records_;
  json::parser parser_;
  std::map<std::string, std::string> processes_;
  std::map<std::pair<std::string, std::string>, std::string> names_;  // of (process, thread)
  std::map<std::string, std::int64_t> without_category_;              // intervals by process
};

}  // namespace

bool is_trace_view(std::string_view first_bytes) {
  if (first_bytes.starts_with("\xEF\xBB\xBF")) first_bytes.remove_prefix(3);
  const auto root = first_bytes.find_first_not_of(" \t\r\n");
  if (root == std::string_view::npos || first_bytes[root] != '[') return false;
  for (auto at = first_bytes.find("\"ts\""); at != std::string_view::npos; at = first_bytes.find("\"ts\"", at + 4)) {
    const std::string_view value = trim(first_bytes.substr(at + 4, 16));
    if (value.starts_with(":") && trim(value.substr(1)).starts_with("\"")) return true;
  }
  return false;
}

void read_trace_view(ByteSource& source, Builder& builder, const ReadOptions& options) {
  TraceView(source, builder, options).read();
}

}  // namespace warploom::ascend
