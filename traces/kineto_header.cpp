// SPDX-License-Identifier: Apache-2.0
// Small documents: read whole.
#include "traces/kineto_header.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "traces/collective_checks.hpp"
#include "traces/json_text.hpp"

namespace warploom {

namespace {

using simdjson::dom::element;

constexpr std::size_t longest_fact = 1000;
constexpr std::size_t most_facts = 1000;

// Numbers may be written as strings.
std::optional<std::int64_t> integer_in(const element& item) {
  if (std::int64_t number = 0; item.get(number) == simdjson::SUCCESS) return number;
  if (std::string_view text; item.get(text) == simdjson::SUCCESS) return integer_of(text);
  return std::nullopt;
}
std::optional<std::int64_t> integer_at(const element& item, std::string_view key) {
  element inner;
  if (item[key].get(inner) != simdjson::SUCCESS) return std::nullopt;
  return integer_in(inner);
}
std::string text_at(const element& item, std::string_view key) {
  element inner;
  if (item[key].get(inner) != simdjson::SUCCESS) return {};
  if (std::string_view text; inner.get(text) == simdjson::SUCCESS) return std::string(text);
  return simdjson::minify(inner);
}

void add_fact(Capture& capture, std::string_view key, std::string value) {
  if (value.size() <= longest_fact && capture.facts.size() < most_facts) {
    capture.facts.insert_or_assign(std::string(key), std::move(value));
  }
}

ProcessGroup group_in(const element& item) {
  ProcessGroup group;
  group.name = text_at(item, "pg_name");
  group.description = text_at(item, "pg_desc");
  group.size = std::max<std::int64_t>(integer_at(item, "pg_size").value_or(0), 0);
  RankList list = parse_ranks(text_at(item, "ranks"));  // a list, or one as a string
  if (!list.is_cut) group.ranks = std::move(list.ranks);
  if (group.size == 0) group.size = static_cast<std::int64_t>(group.ranks.size());
  return group;
}

// The number, where it is at least `least`; what is given and is none is noted.
std::optional<std::int64_t> rank_at(const element& info, std::string_view key, std::int64_t least, Capture& capture) {
  element given;
  if (info[key].get(given) != simdjson::SUCCESS || given.is_null()) return std::nullopt;
  if (const auto number = integer_in(given); number && *number >= least) return number;
  note_bad_rank(capture, fmt::format("`{}: {}` of `distributedInfo`", key, simdjson::minify(given)));
  return std::nullopt;
}

void read_distributed(const element& info, Capture& capture, KinetoGroups& groups) {
  if (const auto rank = rank_at(info, "rank", 0, capture)) capture.rank = rank;
  if (const auto size = rank_at(info, "world_size", 1, capture)) capture.world_size = size;
  for (const std::string_view key : {"backend", "nccl_version", "pg_count"}) {
    if (std::string text = text_at(info, key); !text.empty()) add_fact(capture, key, std::move(text));
  }
  simdjson::dom::array list;
  if (info["pg_config"].get(list) != simdjson::SUCCESS) return;
  for (const element item : list) groups.add_configured(group_in(item));
}

void read_devices(const element& properties, Capture& capture) {
  simdjson::dom::array list;
  if (properties.get(list) != simdjson::SUCCESS) return;
  capture.devices.clear();  // the last of equal keys counts
  for (const element item : list) {
    CapturedDevice device;
    device.id = integer_at(item, "id").value_or(static_cast<std::int64_t>(capture.devices.size()));
    device.name = text_at(item, "name");
    device.memory_bytes = integer_at(item, "totalGlobalMem").value_or(0);
    device.sm_count = integer_at(item, "numSms").value_or(0);
    capture.devices.push_back(std::move(device));
  }
}

}  // namespace

bool is_kineto_header(std::string_view key) {
  constexpr std::array large = {std::string_view("metadata"), std::string_view("stackFrames"),
                                std::string_view("samples"),  std::string_view("INFO"),
                                std::string_view("WARNING"),  std::string_view("ERROR")};
  return std::find(large.begin(), large.end(), key) == large.end();
}

bool read_kineto_header(std::string_view key, std::string_view value, Capture& capture, KinetoGroups& groups) {
  const bool is_nested = value.starts_with('{') || value.starts_with('[');
  if (is_nested && key != "distributedInfo" && key != "deviceProperties") return true;
  simdjson::dom::parser parser;
  element root;
  if (parser.parse(value.data(), value.size()).get(root) != simdjson::SUCCESS) {
    JsonMends mends;
    const std::string mended = mend_json(value, mends);
    if (parser.parse(mended).get(root) != simdjson::SUCCESS) return false;
    if (!is_nested) return true;
  }
  if (key == "distributedInfo") {
    read_distributed(root, capture, groups);
  } else if (key == "deviceProperties") {
    read_devices(root, capture);
  } else if (key == "baseTimeNanoseconds") {
    capture.base_time = integer_in(root);
  } else if (std::string_view text; root.get(text) == simdjson::SUCCESS) {
    add_fact(capture, key, std::string(text));
  } else {
    add_fact(capture, key, std::string(value));
  }
  return true;
}

}  // namespace warploom
