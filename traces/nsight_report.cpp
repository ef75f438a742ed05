// SPDX-License-Identifier: Apache-2.0
// Texts, work of the devices and calls.
#include "traces/nsight_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/core/errors.hpp"
#include "traces/runtime_calls.hpp"

namespace warploom::nsight {

namespace {

// "cudaLaunchKernel_v7000" is cudaLaunchKernel; "cuMemcpyHtoDAsync_v2" stays, it is the driver's own name.
std::string_view without_version(std::string_view name) {
  const auto place = name.rfind("_v");
  if (place == std::string_view::npos || name.size() < place + 5) return name;
  const auto digits = name.substr(place + 2);
  return digits.find_first_not_of("0123456789") == std::string_view::npos ? name.substr(0, place) : name;
}

// Named as Kineto names them: "Memcpy HtoD (Pageable -> Device)".
std::string copy_name(std::int64_t kind, std::int64_t source, std::int64_t target) {
  constexpr std::array directions = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                     "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
  constexpr std::array memories = {"Pageable", "Pinned", "Device", "Array", "Managed", "Device Static"};
  const auto direction = kind > 0 && kind < std::ssize(directions) ? directions[static_cast<std::size_t>(kind)] : "";
  const auto memory = [&](std::int64_t which) {
    return which >= 0 && which < std::ssize(memories) ? memories[static_cast<std::size_t>(which)] : "Unknown";
  };
  return fmt::format("Memcpy {} ({} -> {})", direction, memory(source), memory(target));
}

// eventClass of a runtime or driver call. With back traces some versions write the call once more around itself (67).
bool is_api(std::int64_t event_class) { return event_class == 0 || event_class == 1; }

// Bytes of a copy or fill: never negative.
std::int64_t bytes_in(Process& process, const SqliteRows& row, int column) {
  const std::int64_t bytes = row.integer_or(column, 0);
  if (bytes >= 0) return bytes;
  process.capture().repairs.note("negative_bytes", "negative sizes of copies were set to 0", row.where());
  return 0;
}

}  // namespace

std::vector<Capture> Report::read() {
  read_strings();
  read_kernels();
  read_copies();
  read_fills();
  read_graphs();
  read_calls(runtime_table);
  read_calls(driver_table);
  for (auto& [key, process] : processes_) process.settle_calls();
  read_syncs();
  read_nvtx();
  name_threads();
  describe();
  std::vector<Capture> captures;
  for (auto& [key, process] : processes_) captures.push_back(std::move(process.capture()));
  if (captures.empty()) {
    throw UserError(fmt::format("{}: the report holds no work of a GPU and no calls of CUDA", database_.file()),
                    "capture with `nsys profile --trace=cuda,nvtx`");
  }
  return captures;
}

std::optional<DeviceOp> Report::device_op(Process& process, const SqliteRows& row, DeviceOpKind kind) {
  const auto times = times_of(row, process.capture().repairs);
  if (!times) return std::nullopt;
  DeviceOp op;
  op.start = times->start;
  op.duration = times->duration;
  op.kind = kind;
  op.correlation = id_of(row.integer_or(correlation_column, 0));
  op.stream = process.stream(row.integer_or(device_column, 0), row.integer_or(context_column, 0),
                             row.integer_or(stream_column, 0));
  if (const auto node = row.integer(node_column)) op.graph_node = process.graph_node(*node);
  return op;
}

// Only those that something read here refers to: a report with back traces holds millions of others.
void Report::read_strings() {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> references = {{{kernel_table, "demangledName"},
                                                                                        {kernel_table, "shortName"},
                                                                                        {runtime_table, "nameId"},
                                                                                        {driver_table, "nameId"},
                                                                                        {nvtx_table, "textId"},
                                                                                        {"ThreadNames", "nameId"}}};
  std::string used;
  for (const auto& [table, column] : references) {
    if (!database_.has(table, column)) continue;
    used += fmt::format("{}SELECT \"{}\" FROM \"{}\"", used.empty() ? "" : " UNION ", column, table);
  }
  if (used.empty()) return;
  auto rows = database_.rows("StringIds", {"id", "value"}, fmt::format("id IN ({})", used));
  while (rows.next()) {
    if (const auto key = rows.integer(0)) strings_.emplace(*key, rows.text(1));
  }
}

void Report::read_kernels() {
  auto rows = database_.rows(kernel_table, {"start", "end", "globalPid", "deviceId", "contextId", "streamId",
                                            "correlationId", "graphNodeId", "demangledName", "shortName"});
  while (rows.next()) {
    Process& owner = process(process_of(rows.integer_or(process_column, 0)));
    owner.count(kernel_table);
    auto op = device_op(owner, rows, DeviceOpKind::kernel);
    if (!op) continue;
    const auto name = rows.integer(first_own_column);
    op->name = owner.text(strings_, name ? *name : rows.integer_or(first_own_column + 1, -1), rows);
    owner.add(*op);
  }
}

void Report::read_copies() {
  auto rows = database_.rows(copy_table, {"start", "end", "globalPid", "deviceId", "contextId", "streamId",
                                          "correlationId", "graphNodeId", "bytes", "copyKind", "srcKind", "dstKind"});
  while (rows.next()) {
    Process& owner = process(process_of(rows.integer_or(process_column, 0)));
    owner.count(copy_table);
    auto op = device_op(owner, rows, DeviceOpKind::copy);
    if (!op) continue;
    op->bytes = bytes_in(owner, rows, first_own_column);
    op->name = owner.capture().texts.add(copy_name(rows.integer_or(first_own_column + 1, 0),
                                                   rows.integer_or(first_own_column + 2, -1),
                                                   rows.integer_or(first_own_column + 3, -1)));
    owner.add(*op);
  }
}

void Report::read_fills() {
  auto rows = database_.rows(fill_table, {"start", "end", "globalPid", "deviceId", "contextId", "streamId",
                                          "correlationId", "graphNodeId", "bytes"});
  while (rows.next()) {
    Process& owner = process(process_of(rows.integer_or(process_column, 0)));
    owner.count(fill_table);
    auto op = device_op(owner, rows, DeviceOpKind::fill);
    if (!op) continue;
    op->bytes = bytes_in(owner, rows, first_own_column);
    op->name = owner.capture().texts.add("Memset (Device)");
    owner.add(*op);
  }
}

// One row a launch; what runs inside was not captured.
void Report::read_graphs() {
  auto rows = database_.rows(graph_table, {"start", "end", "globalPid", "deviceId", "contextId", "streamId",
                                           "correlationId", "noSuchColumn", "graphId"});
  while (rows.next()) {
    Process& owner = process(process_of(rows.integer_or(process_column, 0)));
    owner.count(graph_table);
    auto op = device_op(owner, rows, DeviceOpKind::graph);
    if (!op) continue;
    op->name = owner.capture().texts.add(fmt::format("graph {}", rows.integer_or(first_own_column, 0)));
    owner.add(*op);
    owner.capture().facts["note_graphs"] =
        "launches of CUDA graphs are opaque blocks, their kernels were not captured: capture with "
        "`nsys profile --cuda-graph-trace=node`";
  }
}

void Report::read_calls(std::string_view table) {
  auto rows = database_.rows(table, {"start", "end", "globalTid", "correlationId", "nameId", "eventClass"});
  std::map<TextId, std::pair<TextId, CallKind>> named;  // of one process at a time would do: keys differ by process
  const Process* last = nullptr;
  while (rows.next()) {
    const std::int64_t global_thread = rows.integer_or(2, 0);
    Process& owner = process(process_of(global_thread));
    if (last != &owner) named.clear();
    last = &owner;
    Capture& capture = owner.capture();
    owner.count(table);
    const auto times = times_of(rows, capture.repairs);
    if (!times) continue;
    HostCall call;
    call.start = times->start;
    call.duration = times->duration;
    call.correlation = id_of(rows.integer_or(3, 0));
    call.thread = owner.thread(global_thread);
    if (const TextId full = owner.text(strings_, rows.integer_or(4, -1), rows); full != nothing) {
      auto place = named.find(full);
      if (place == named.end()) {
        const std::string name(without_version(capture.texts[full]));
        place = named.emplace(full, std::pair(capture.texts.add(name), call_kind(name))).first;
      }
      call.name = place->second.first;
      call.kind = place->second.second;
    }
    owner.note_call(call.correlation, call.kind);
    owner.add(call, is_api(rows.integer_or(5, 0)));
  }
}

}  // namespace warploom::nsight
