// SPDX-License-Identifier: Apache-2.0
// Attributes by name; schemas; process groups.
#include "traces/chakra_attributes.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <charconv>
#include <limits>
#include <regex>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

using Kind = AttributeValue::Kind;

constexpr const char* not_whole = "is not a whole number";
constexpr const char* too_large = "does not fit 63 bits";

const char* take(const AttributeValue& value, std::int64_t low, std::int64_t high, std::int64_t& out) {
  if (value.kind == Kind::too_large) return too_large;
  AttributeValue number = value;
  if (number.kind == Kind::text) number = integer_of_text(number.text);
  if (number.kind != Kind::integer) return not_whole;
  if (number.integer < low || number.integer > high) return "is out of range";
  out = number.integer;
  return nullptr;
}

template <class Member>
const char* take_as(const AttributeValue& value, std::int64_t low, Member& out) {
  std::int64_t number = 0;
  const char* why = take(value, low, static_cast<std::int64_t>(std::numeric_limits<Member>::max()), number);
  if (why == nullptr) out = static_cast<Member>(number);
  return why;
}

const char* set_comm(std::string_view what, const AttributeValue& value, NodeComm& comm) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  if (what == "size") return take(value, 0, most, comm.bytes);
  if (what == "src") return take_as(value, 0, comm.source);
  if (what == "dst") return take_as(value, 0, comm.target);
  if (what == "tag") return take_as(value, std::numeric_limits<std::int32_t>::min(), comm.tag);
  if (what == "priority") return take_as(value, 0, comm.priority);
  if (what != "type") return nullptr;
  std::int64_t kind = 0;
  const char* why = take(value, 0, static_cast<std::int64_t>(CommKind::barrier), kind);
  if (why == nullptr) comm.kind = static_cast<CommKind>(kind);
  return why == nullptr ? nullptr : "is no collective that is known (0 to 9)";
}

}  // namespace

AttributeValue integer_of_text(std::string_view text) {
  AttributeValue value;
  text = trim(text);
  // "1048576.0", as STAGE writes sizes.
  if (const auto dot = text.find('.'); dot != std::string_view::npos && dot > 0) {
    if (text.find_first_not_of('0', dot + 1) != std::string_view::npos) return value;
    text = text.substr(0, dot);
  }
  if (text == "true" || text == "True") text = "1";
  if (text == "false" || text == "False") text = "0";
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value.integer);
  if (error == std::errc::result_out_of_range) {
    value.kind = Kind::too_large;
  } else if (error == std::errc() && end == text.data() + text.size()) {
    value.kind = Kind::integer;
  }
  return value;
}

const char* set_attribute(std::string_view name, const AttributeValue& value, GraphNode& node, StringTable& texts) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  std::int64_t number = 0;
  const char* why = nullptr;
  if (name.starts_with("comm_")) {
    node.has_comm = true;
    return set_comm(name.substr(5), value, node.comm);
  }
  switch (name.empty() ? '\0' : name.front()) {
    case 'i':
      if (name == "is_cpu_op") {
        why = take(value, 0, 1, number);
        if (why == nullptr) node.is_cpu_op = number == 1;
      } else if (name == "involved_dim") {
        if (value.kind != Kind::bits) return "is not a list of booleans";
        // Dimensions beyond the list take no part; ASTRA-sim's default is "all".
        node.comm.involved = value.bits;
        node.comm.is_involved_said = true;
        node.has_comm = true;
      }
      return why;
    case 'n':
      return name == "num_ops" ? take(value, 0, most, node.num_ops) : nullptr;
    case 't':
      if (name == "tensor_size") return take(value, 0, most, node.tensor_size);
      if (name == "tid" && node.stream < 0) take(value, 0, most, node.stream);  // not needed: no complaint
      return nullptr;
    case 's':
      if (name == "stream") take(value, 0, most, node.stream);
      if (name == "start_ns") return take(value, 0, most, node.start);
      return nullptr;
    case 'd':
      return name == "duration_ns" ? take(value, 0, most, node.duration) : nullptr;
    case 'p':
      if (name == "pg_name") {
        node.has_comm = true;
        if (value.kind == Kind::text) {
          if (!value.text.empty()) node.comm.group = texts.add(value.text);
        } else if (value.kind == Kind::integer) {
          node.comm.group = texts.add(std::to_string(value.integer));
        } else {
          return "is not a text";
        }
      }
      return nullptr;
    default:
      return nullptr;
  }
}

bool nanoseconds_of_micros(std::string_view text, Nanoseconds& out) {
  const auto dot = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, dot);
  std::int64_t micros = 0;
  const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), micros);
  if (error != std::errc() || end != whole.data() + whole.size() || micros < 0) return false;
  if (micros > std::numeric_limits<std::int64_t>::max() / 1000 - 1) return false;
  out = micros * 1000;
  std::int64_t unit = 100;
  for (std::size_t i = dot + 1; i < text.size(); ++i, unit /= 10) {
    if (text[i] < '0' || text[i] > '9') return false;
    out += (text[i] - '0') * unit;  // digits below a nanosecond count 0
  }
  return true;
}

void require_known_schema(const ExecutionGraph& graph) {
  const std::regex known(
      R"(|symbolic_tensor_network|1\.[01]\.[0-9]{1,3}(-chakra\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})?)");
  if (graph.schema.size() < 100 && std::regex_match(graph.schema, known)) return;
  throw UserError(
      fmt::format("{}: record 0: unknown schema {}", graph.file, warploom::quoted(graph.schema)),
      "known are 1.0.x and 1.1.x, alone or with -chakra.0.0.4 or -chakra.1.0.0, and symbolic_tensor_network");
}

void add_groups(std::string_view json, ExecutionGraph& graph) {
  const simdjson::padded_string text(json.data(), json.size());
  simdjson::dom::parser parser;
  simdjson::dom::array list;
  const auto give_up = [&] {
    graph.repairs.note("unread_process_groups", "a metadata node's list of process groups could not be read", "it");
  };
  if (parser.parse(text).get(list) != simdjson::SUCCESS) return give_up();
  for (const auto item : list) {
    ProcessGroup group;
    std::string_view name;
    simdjson::dom::array ranks;
    if (item["pg_name"].get(name) != simdjson::SUCCESS || item["ranks"].get(ranks) != simdjson::SUCCESS) {
      give_up();
      continue;
    }
    group.name = name;
    std::string_view description;
    if (item["pg_desc"].get(description) == simdjson::SUCCESS) group.description = description;
    for (const auto rank : ranks) {
      std::int64_t value = 0;
      if (rank.get(value) == simdjson::SUCCESS && value >= 0) group.ranks.push_back(value);
    }
    group.size = static_cast<std::int64_t>(group.ranks.size());
    graph.groups.push_back(std::move(group));
  }
}

}  // namespace warploom
