// SPDX-License-Identifier: Apache-2.0
// The tables beside trace_view.json: kernels, communication, steps, settings.
#include "traces/ascend_tables.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "sim/core/csv.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "traces/decimal_time.hpp"

namespace warploom::ascend {

namespace {

namespace json = simdjson::ondemand;

constexpr std::size_t largest = 1UL << 30U;
constexpr std::int64_t steps_told = 16;

std::string content_of(ByteSource& source) {
  std::string content;
  for (;;) {
    const std::size_t before = content.size();
    if (before > largest) throw UserError(fmt::format("{}: longer than 1 GiB", source.name()));
    content.resize(before + (1UL << 16U) + before / 2);
    const std::size_t count = source.read(std::span(content).subspan(before));
    content.resize(before + count);
    if (count == 0) return content;
  }
}

// Calls `visit` with the root object; what is no JSON is a UserError.
void with_json(ByteSource& source, const std::function<void(json::object)>& visit) {
  const simdjson::padded_string content(content_of(source));
  json::parser parser;
  json::document document;
  bool is_begun = false;
  try {
    document = parser.iterate(content).value();
    is_begun = true;
    visit(document.get_object().value());
  } catch (const simdjson::simdjson_error& error) {
    const char* at = nullptr;
    const bool is_known = is_begun && document.current_location().get(at) == simdjson::SUCCESS &&
                          at >= content.data() && at <= content.data() + content.size();
    throw UserError(fmt::format("{}: {}{}", source.name(), error.what(),
                                is_known ? fmt::format(" near byte {}", at - content.data()) : std::string()),
                    "the file is broken: analyse the profile again (torch_npu.profiler.profiler.analyse)");
  }
}

// Every "op@group" below {step: {p2p|collective: {...}}}.
void for_each_operation(
    ByteSource& source,
    const std::function<void(std::string_view operation, std::string_view group, json::value)>& visit) {
  with_json(source, [&](json::object steps) {
    for (auto step : steps) {
      for (auto kind : step.value().get_object().value()) {
        for (auto operation : kind.value().get_object().value()) {
          const std::string_view key = operation.unescaped_key().value();
          const auto at = key.rfind('@');
          visit(key.substr(0, at), at == std::string_view::npos ? std::string_view() : key.substr(at + 1),
                operation.value().value());
        }
      }
    }
  });
}

std::string_view text_or(const CsvRow& row, std::string_view column) {
  return row.has(column) ? row.text(column) : std::string_view();
}

// "32,3,224,224" stands in quotes of its own.
std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return text.substr(1, text.size() - 2);
  return text;
}

}  // namespace

void read_kernel_details(ByteSource& source, Builder& builder) {
  CsvReader table = CsvReader::from_text(content_of(source), source.name());
  table.require({"Name", "Start Time(us)", "Duration(us)"});
  CsvRow row;
  const auto where = [&] { return fmt::format("{}, line {}", source.name(), row.line()); };
  for (;;) {
    try {
      if (!table.next(row)) return;
    } catch (const CsvRowError&) {
      builder.capture().repairs.note("broken_row", "rows with too few or too many cells were left out", where());
      continue;
    }
    const std::string_view core = text_or(row, "Accelerator Core");
    if (core == "HCCL" || core == "COMMUNICATION" || row.text("Name").starts_with("hcom_")) continue;
    const DecimalTime start = parse_time(row.text("Start Time(us)"));
    if (!start.is_ok()) {
      builder.capture().repairs.note("row_without_times", "records whose time or duration is none were left out",
                                     where());
      continue;
    }
    KernelDetail detail;
    detail.name = row.text("Name");
    detail.type = text_or(row, "Type");
    detail.core = core;
    detail.shapes = unquoted(text_or(row, "Input Shapes"));
    detail.types = text_or(row, "Input Data Types");
    detail.output_shapes = unquoted(text_or(row, "Output Shapes"));
    builder.describe(start.ns, detail);
  }
}

void read_communication(ByteSource& source, Builder& builder) {
  for_each_operation(source, [&](std::string_view operation, std::string_view group, json::value value) {
    if (operation == "Total Op Info") return;
    for (auto part : value.get_object().value()) {
      if (part.unescaped_key().value() != "Communication Time Info") continue;
      for (auto field : part.value().get_object().value()) {
        if (field.unescaped_key().value() != "Transit Time(ms)") continue;
        const DecimalTime transit = parse_time(trim(field.value().raw_json_token().value()), DecimalUnit::ms);
        if (transit.is_ok() && transit.ns >= 0) builder.set_transfer(operation, transit.ns, group);
      }
    }
  });
}

// Within a server HCCL's meshes reach every member, so that the pairs tell who they are; pairs over RDMA are
// neighbours alone.
void read_communication_matrix(ByteSource& source, Builder& builder) {
  for_each_operation(source, [&](std::string_view operation, std::string_view group, json::value value) {
    if (operation.starts_with("total") || operation == "Total Op Info") return;
    for (auto pair : value.get_object().value()) {
      const std::string_view ranks = pair.unescaped_key().value();
      bool is_within = false;
      for (auto field : pair.value().get_object().value()) {
        if (field.unescaped_key().value() != "Transport Type") continue;
        const std::string_view transport = field.value().get_string().value();
        is_within = transport == "HCCS" || transport == "LOCAL" || transport == "PCIE" || transport == "SIO";
      }
      const auto dash = ranks.find('-');
      if (!is_within || dash == std::string_view::npos) continue;
      for (const std::string_view written : {ranks.substr(0, dash), ranks.substr(dash + 1)}) {
        if (written.empty() || written.size() > 7 ||
            written.find_first_not_of("0123456789") != std::string_view::npos) {
          continue;
        }
        builder.add_member(group, std::stoll(std::string(written)));
      }
    }
  });
}

void read_step_times(ByteSource& source, Builder& builder) {
  CsvReader table = CsvReader::from_text(content_of(source), source.name());
  CsvRow row;
  try {
    while (table.rows_read() < steps_told && table.next(row)) {
      for (const auto& column : table.columns()) {
        if (column == "Step" || row.is_blank(column)) continue;
        builder.capture().facts[fmt::format("step_trace_time {} {}", text_or(row, "Step"), column)] = row.text(column);
      }
    }
  } catch (const CsvRowError& error) {
    builder.capture().repairs.note("broken_row", "rows with too few or too many cells were left out", error.message());
  }
}

void read_profiler_info(ByteSource& source, Builder& builder) {
  with_json(source, [&](json::object info) {
    for (auto field : info) {
      const std::string_view key = field.unescaped_key().value();
      if (key == "rank_id") {
        std::int64_t rank = -1;
        if (field.value().get_int64().get(rank) == simdjson::SUCCESS && rank >= 0) builder.capture().rank = rank;
      } else if (key == "config") {
        for (auto part : field.value().get_object().value()) {
          if (part.unescaped_key().value() != "experimental_config") continue;
          for (auto setting : part.value().get_object().value()) {
            if (setting.unescaped_key().value() != "_profiler_level") continue;
            builder.capture().facts["profiler_level"] = std::string(setting.value().get_string().value());
          }
        }
      } else if (key == "cann_version" || key == "torch_npu_version") {
        std::string_view version;
        if (field.value().get_string().get(version) == simdjson::SUCCESS) {
          builder.capture().facts[std::string(key)] = std::string(version);
        }
      }
    }
  });
}

// {"parallel_group_info": {"<name or hash>": {"group_name": "tp", "group_rank": 0, "global_ranks": [0, 1]}}}.
void read_profiler_metadata(ByteSource& source, Builder& builder) {
  with_json(source, [&](json::object metadata) {
    for (auto field : metadata) {
      if (field.unescaped_key().value() != "parallel_group_info") continue;
      for (auto group : field.value().get_object().value()) {
        const std::string key(group.unescaped_key().value());
        for (auto part : group.value().get_object().value()) {
          if (part.unescaped_key().value() != "global_ranks") continue;
          for (auto rank : part.value().get_array().value()) {
            std::int64_t value = -1;
            if (rank.get_int64().get(value) == simdjson::SUCCESS && value >= 0) builder.add_member(key, value);
          }
        }
      }
    }
  });
}

}  // namespace warploom::ascend
