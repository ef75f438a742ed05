// SPDX-License-Identifier: Apache-2.0
// Schema 1.0.0 of Ascend's unified database. A task is a kernel where COMPUTE_TASK_INFO has its id, a part of a
// communication where COMMUNICATION_TASK_INFO has; times are whole nanoseconds of the epoch, written as text in
// PYTORCH_API.
#include "traces/ascend_database.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/core/errors.hpp"
#include "traces/decimal_time.hpp"

namespace warploom::ascend {

namespace {

constexpr std::int64_t operator_type = 50001;
constexpr std::int64_t queue_type = 50002;
constexpr std::size_t steps_told = 16;

class Profile {
 public:
  Profile(const SqliteDatabase& database, Builder& builder) : database_(database), builder_(builder) {}

  void read() {
    read_strings();
    read_compute_info();
    read_tasks();
    read_communications();
    read_calls();
    read_operators();
    read_steps();
    describe();
  }

 private:
  struct Interval {
    Nanoseconds start = 0;
    Nanoseconds duration = 0;
  };

  std::string_view text(std::int64_t id) const {
    const auto place = strings_.find(id);
    return place == strings_.end() ? std::string_view() : place->second;
  }
  std::string_view text(const SqliteRows& row, int column) const {
    const auto id = row.integer(column);
    return id ? text(*id) : std::string_view();
  }
  // Columns 0 and 1.
  std::optional<Interval> interval(const SqliteRows& row) {
    const auto start = row.integer(0);
    const auto end = row.integer(1);
    Nanoseconds duration = 0;
    if (!start || !end || __builtin_sub_overflow(*end, *start, &duration)) {
      builder_.capture().repairs.note("row_without_times", "records whose time or duration is none were left out",
                                      row.where());
      return std::nullopt;
    }
    Interval found{*start, duration};
    if (!builder_.settle(found.start, found.duration, row.where())) return std::nullopt;
    return found;
  }
  void count(std::string_view table) {
    ++builder_.capture().events_by_category[std::string(table)];
    ++builder_.capture().event_count;
  }
  static std::uint64_t connection_of(const SqliteRows& row, int column) {
    const std::int64_t connection = row.integer_or(column, 0);
    return connection > 0 ? static_cast<std::uint64_t>(connection) : 0;
  }
  // [32 bit process][32 bit thread].
  std::uint32_t thread(std::int64_t global) {
    return builder_.thread(static_cast<std::int64_t>(static_cast<std::uint64_t>(global) >> 32U), global & 0xFFFFFFFF);
  }

  void read_strings();
  void read_compute_info();
  void read_tasks();
  void read_communications();
  void read_calls();
  void read_operators();
  void read_connections();
  void read_steps();
  void describe();

  struct Compute {
    std::int64_t name = -1, type = -1, core = -1, shapes = -1, types = -1, output_shapes = -1;
  };
  const SqliteDatabase& database_;
  Builder& builder_;
  std::unordered_map<std::int64_t, std::string> strings_;
  std::unordered_map<std::int64_t, Compute> compute_;                        // by globalTaskId
  std::unordered_map<std::int64_t, std::vector<std::int64_t>> connections_;  // of an operator's connection id
};

// Those that something read here refers to; stacks are most of the rest.
void Profile::read_strings() {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 15> references = {{
      {"TASK", "taskType"},
      {"COMPUTE_TASK_INFO", "name"},
      {"COMPUTE_TASK_INFO", "opType"},
      {"COMPUTE_TASK_INFO", "taskType"},
      {"COMPUTE_TASK_INFO", "inputShapes"},
      {"COMPUTE_TASK_INFO", "inputDataTypes"},
      {"COMPUTE_TASK_INFO", "outputShapes"},
      {"COMMUNICATION_OP", "opName"},
      {"COMMUNICATION_OP", "groupName"},
      {"COMMUNICATION_OP", "algType"},
      {"CANN_API", "name"},
      {"PYTORCH_API", "name"},
      {"PYTORCH_API", "inputShapes"},
      {"PYTORCH_API", "inputDtypes"},
      {"MSTX_EVENTS", "message"},
  }};
  std::string used;
  for (const auto& [table, column] : references) {
    if (!database_.has(table, column)) continue;
    used += fmt::format("{}SELECT \"{}\" FROM \"{}\"", used.empty() ? "" : " UNION ", column, table);
  }
  if (used.empty()) return;
  auto rows = database_.rows("STRING_IDS", {"id", "value"}, fmt::format("id IN ({})", used));
  while (rows.next()) {
    if (const auto id = rows.integer(0)) strings_.emplace(*id, rows.text(1));
  }
}

void Profile::read_compute_info() {
  auto rows = database_.rows("COMPUTE_TASK_INFO", {"globalTaskId", "name", "opType", "taskType", "inputShapes",
                                                   "inputDataTypes", "outputShapes"});
  while (rows.next()) {
    if (const auto id = rows.integer(0)) {
      compute_[*id] = {rows.integer_or(1, -1), rows.integer_or(2, -1), rows.integer_or(3, -1),
                       rows.integer_or(4, -1), rows.integer_or(5, -1), rows.integer_or(6, -1)};
    }
  }
}

void Profile::read_tasks() {
  auto rows =
      database_.rows("TASK", {"startNs", "endNs", "deviceId", "connectionId", "globalTaskId", "taskType", "streamId"});
  while (rows.next()) {
    count("TASK");
    const auto found = interval(rows);
    if (!found) continue;
    Task task;
    task.start = found->start;
    task.duration = found->duration;
    task.connection = connection_of(rows, 3);
    const std::int64_t device = rows.integer_or(2, 0);
    const std::string stream = fmt::format("Stream {}", rows.integer_or(6, 0));
    task.stream = builder_.stream(fmt::format("{}/{}", device, stream));
    builder_.capture().streams[task.stream].device = device;
    builder_.capture().streams[task.stream].name = stream;
    const std::string_view type = text(rows, 5);
    const auto compute = compute_.find(rows.integer_or(4, -1));
    task.name = compute == compute_.end() ? type : text(compute->second.name);
    // Tasks of a kernel's type without a row of their own stand around others (FFTS) and do no work themselves.
    task.kind = kind_of_task(type, type);
    if (task.kind == DeviceOpKind::kernel) task.kind = DeviceOpKind::sync;
    if (compute != compute_.end()) task.kind = DeviceOpKind::kernel;
    builder_.add(task);
    if (compute == compute_.end()) continue;
    KernelDetail detail;
    detail.name = task.name;
    detail.type = text(compute->second.type);
    detail.core = text(compute->second.core);
    const auto bare = [](std::string_view quoted) {
      const bool is_quoted = quoted.size() >= 2 && quoted.front() == '"' && quoted.back() == '"';
      return is_quoted ? quoted.substr(1, quoted.size() - 2) : quoted;
    };
    detail.shapes = bare(text(compute->second.shapes));
    detail.types = text(compute->second.types);
    detail.output_shapes = bare(text(compute->second.output_shapes));
    builder_.describe(task.start, detail);
  }
}

void Profile::read_communications() {
  std::unordered_map<std::int64_t, std::string> types;
  auto named = database_.rows("ENUM_HCCL_DATA_TYPE", {"id", "name"});
  while (named.next()) types[named.integer_or(0, -1)] = named.text(1);
  auto rows = database_.rows("COMMUNICATION_OP", {"startNs", "endNs", "opName", "groupName", "connectionId", "dataType",
                                                  "algType", "count", "deviceId"});
  while (rows.next()) {
    count("COMMUNICATION_OP");
    const auto found = interval(rows);
    if (!found) continue;
    Communication operation;
    operation.start = found->start;
    operation.duration = found->duration;
    operation.connection = connection_of(rows, 4);
    operation.name = text(rows, 2);
    const auto type = types.find(rows.integer_or(5, -1));
    if (type != types.end()) operation.data_type = type->second;
    operation.algorithm = text(rows, 6);
    operation.count = rows.integer_or(7, -1);
    const std::string_view group = text(rows, 3);
    operation.group = builder_.group(group);
    const std::string stream = fmt::format("Group {} Communication", operation.group);
    operation.stream = builder_.stream(fmt::format("{}/{}", rows.integer_or(8, 0), stream));
    builder_.capture().streams[operation.stream].device = rows.integer_or(8, 0);
    builder_.capture().streams[operation.stream].name = stream;
    builder_.add(operation);
  }
}

void Profile::read_calls() {
  auto rows = database_.rows("CANN_API", {"startNs", "endNs", "globalTid", "connectionId", "name"});
  while (rows.next()) {
    count("CANN_API");
    const auto found = interval(rows);
    if (!found) continue;
    builder_.add_call(found->start, found->duration, text(rows, 4), thread(rows.integer_or(2, 0)),
                      connection_of(rows, 3));
  }
}

void Profile::read_connections() {
  auto rows = database_.rows("CONNECTION_IDS", {"id", "connectionId"});
  while (rows.next()) connections_[rows.integer_or(0, -1)].push_back(rows.integer_or(1, -1));
}

// A connection that two operators share is a hand-over: of the queue, or of forward to backward. One that a task has
// leads from the task to its operator.
void Profile::read_operators() {
  read_connections();
  std::unordered_map<std::uint64_t, std::uint32_t> operator_of;
  auto rows = database_.rows(
      "PYTORCH_API", {"startNs", "endNs", "globalTid", "connectionId", "name", "type", "inputShapes", "inputDtypes"});
  while (rows.next()) {
    count("PYTORCH_API");
    const std::int64_t type = rows.integer_or(5, operator_type);
    if (type != operator_type && type != queue_type) continue;  // Python's functions
    const auto found = interval(rows);
    if (!found) continue;
    HostOp op;
    op.start = found->start;
    op.duration = found->duration;
    op.name = builder_.capture().texts.add(text(rows, 4));
    op.thread = thread(rows.integer_or(2, 0));
    if (const auto shapes = text(rows, 6); !shapes.empty()) op.shapes = builder_.capture().texts.add(shapes);
    if (const auto types = text(rows, 7); !types.empty()) op.types = builder_.capture().texts.add(types);
    if (text(rows, 4).starts_with("ProfilerStep#")) {
      builder_.capture().annotations.push_back({op.start, op.duration, op.name, op.thread});
      continue;
    }
    const std::uint32_t place = builder_.add_host_op(op);
    const auto own = connections_.find(rows.integer_or(3, -1));
    if (own == connections_.end()) continue;
    for (const std::int64_t connection : own->second) {
      if (connection <= 0) continue;
      const auto [other, is_first] = operator_of.emplace(static_cast<std::uint64_t>(connection), place);
      const std::string id = std::to_string(connection);
      if (is_first) continue;
      const HostOp& before = builder_.capture().host_ops[other->second];
      const bool is_after = op.start >= before.start;
      builder_.hand_off_begin(id, is_after ? before.start : op.start, is_after ? before.thread : op.thread);
      builder_.hand_off_end(id, is_after ? op.start : before.start, is_after ? op.thread : before.thread);
    }
  }
  for (auto& op : builder_.capture().device_ops) {
    const auto place = operator_of.find(op.correlation);
    if (op.correlation != 0 && op.kind != DeviceOpKind::sync && place != operator_of.end()) op.host_op = place->second;
  }
}

void Profile::read_steps() {
  Capture& capture = builder_.capture();
  for (const auto& annotation : capture.annotations) {
    if (capture.texts[annotation.name].starts_with("ProfilerStep#")) return;  // PyTorch's own say it
  }
  auto rows = database_.rows("STEP_TIME", {"startNs", "endNs", "id"});
  while (rows.next()) {
    count("STEP_TIME");
    const auto found = interval(rows);
    if (!found) continue;
    const TextId name = capture.texts.add(fmt::format("ProfilerStep#{}", rows.integer_or(2, 0)));
    capture.annotations.push_back({found->start, found->duration, name, nothing});
  }
}

void Profile::describe() {
  Capture& capture = builder_.capture();
  auto devices = database_.rows("NPU_INFO", {"id", "name"});
  while (devices.next()) {
    CapturedDevice device;
    device.id = devices.integer_or(0, 0);
    device.name = devices.text(1);
    capture.devices.push_back(std::move(device));
  }
  auto ranks = database_.rows("RANK_DEVICE_MAP", {"rankId"});
  if (ranks.next() && ranks.integer_or(0, -1) >= 0) capture.rank = ranks.integer(0);
  auto hosts = database_.rows("HOST_INFO", {"hostName"});
  if (hosts.next() && !hosts.text(0).empty()) capture.facts["host"] = hosts.text(0);
  auto metadata = database_.rows("META_DATA", {"name", "value"});
  while (metadata.next()) {
    if (metadata.text(0) == "SCHEMA_VERSION") capture.facts["schema"] = metadata.text(1);
  }
}

}  // namespace

bool is_profile(const SqliteDatabase& database) {
  return database.has("TASK", "startNs") && database.has("STRING_IDS");
}

void read_profile(const SqliteDatabase& database, Builder& builder) { Profile(database, builder).read(); }

void read_analysis(const SqliteDatabase& database, Builder& builder) {
  auto steps = database.rows("StepTraceTime", {"step", "computing", "communication_not_overlapped", "overlapped",
                                               "communication", "free", "stage", "bubble", "preparing"});
  constexpr std::array names = {
      "Computing", "Communication(Not Overlapped)", "Overlapped", "Communication", "Free", "Stage", "Bubble",
      "Preparing"};
  for (std::size_t told = 0; told < steps_told && steps.next(); ++told) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string value = steps.number_text(static_cast<int>(i) + 1);
      if (!value.empty())
        builder.capture().facts[fmt::format("step_trace_time {} {}", steps.text(0), names[i])] = value;
    }
  }
  auto rows = database.rows("CommAnalyzerTime", {"hccl_op_name", "group_name", "transit_time"});
  while (rows.next()) {
    if (rows.text(0) == "Total Op Info") continue;
    const DecimalTime transit = parse_time(rows.number_text(2), DecimalUnit::ms);
    if (transit.is_ok() && transit.ns >= 0) builder.set_transfer(rows.text(0), transit.ns, rows.text(1));
  }
}

}  // namespace warploom::ascend
