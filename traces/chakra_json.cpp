// SPDX-License-Identifier: Apache-2.0
// The JSON form of Chakra traces, as the feeder's wrapper writes it: one document, "workload_graph" a list of nodes.
#include <fmt/format.h>
#include <simdjson.h>

#include <array>
#include <charconv>

#include "sim/core/errors.hpp"
#include "traces/chakra_attributes.hpp"
#include "traces/chakra_reader.hpp"

namespace warploom {

namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::uint64_t most_bytes = (std::uint64_t{4} << 30U) - 1024;  // what simdjson 3.0 takes

std::string read_all(ByteSource& source) {
  std::string text;
  constexpr std::size_t step = std::size_t{1} << 20U;
  while (true) {
    const std::size_t before = text.size();
    if (before + step > most_bytes) {
      throw UserError(fmt::format("{}: the JSON is larger than 4 GB", source.name()),
                      "the `.et` form of the same trace has no such limit");
    }
    if (text.capacity() < before + step + simdjson::SIMDJSON_PADDING) text.reserve(2 * before + 2 * step);
    text.resize(before + step);
    const std::size_t count = source.read(std::span(text).subspan(before));
    text.resize(before + count);
    if (count == 0) return text;
  }
}

NodeType type_of(std::string_view text) {
  constexpr std::array<std::string_view, 8> names = {"INVALID_NODE",   "METADATA_NODE", "MEM_LOAD_NODE",
                                                     "MEM_STORE_NODE", "COMP_NODE",     "COMM_SEND_NODE",
                                                     "COMM_RECV_NODE", "COMM_COLL_NODE"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<NodeType>(i);
  }
  const AttributeValue number = integer_of_text(text);
  if (number.kind == AttributeValue::Kind::integer && number.integer >= 0 && number.integer < 8) {
    return static_cast<NodeType>(number.integer);
  }
  throw UserError(fmt::format("there is no type of node `{}`", text.substr(0, 40)));
}

std::string_view trimmed_token(std::string_view token) {
  while (!token.empty() &&
         (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t'))
    token.remove_suffix(1);
  return token;
}

// A number's digits or a text's content.
std::string_view text_of(ondemand::value value) {
  switch (value.type()) {
    case ondemand::json_type::string:
      return value.get_string();
    case ondemand::json_type::number:
    case ondemand::json_type::boolean:
      return trimmed_token(value.raw_json_token());
    default:
      throw UserError("expected a number or a text");
  }
}

std::uint64_t id_of(std::string_view text) {
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw UserError(fmt::format("`{}` is no id", text.substr(0, 40)));
  }
  return id;
}

class Reading {
 public:
  explicit Reading(ExecutionGraph& graph) : graph_(graph), builder_(graph) {}

  void run(ondemand::document& document) {
    bool has_nodes = false;
    for (auto field : document.get_object()) {
      const std::string_view key = field.unescaped_key();
      ondemand::value value = field.value();
      if (key == "workload_graph") {
        if (has_nodes) throw UserError("`workload_graph` stands there twice");
        has_nodes = true;
        for (auto node : value.get_array()) {
          ++record_;
          read_node(node.get_object());
        }
      } else if (value.type() == ondemand::json_type::string || value.type() == ondemand::json_type::number) {
        if (key == "schema") {
          graph_.schema = text_of(value);
        } else {
          graph_.facts.emplace(key, text_of(value).substr(0, 1000));
        }
      }
    }
    if (!has_nodes) throw UserError("there is no `workload_graph`");
    record_ = 0;
    require_known_schema(graph_);
    builder_.finish();
  }
  std::uint64_t record() const { return record_; }

 private:
  void read_node(ondemand::object object) {
    node_ = {};
    std::string name;  // texts of the parser may be overwritten
    for (auto field : object) {
      const std::string_view key = field.unescaped_key();
      read_field(key, field.value(), name);
    }
    node_.name = name;
    node_.has_comm = node_.type >= NodeType::send;
    builder_.add(node_);
  }

  void read_field(std::string_view key, ondemand::value value, std::string& name) {
    if (value.is_null()) return;
    if (key == "Id" || key == "id") {
      node_.id = id_of(text_of(value));
    } else if (key == "Name" || key == "name") {
      name = text_of(value);
    } else if (key == "NodeType" || key == "type" || key == "node_type") {
      node_.type = type_of(text_of(value));
    } else if (key == "ctrlDeps" || key == "ctrl_deps") {
      read_ids(value, node_.control);
    } else if (key == "data_deps" || key == "dataDeps") {
      read_ids(value, node_.data);
    } else if (key == "runtime" || key == "duration_micros" || key == "durationMicros") {
      read_time(value, node_.duration);
    } else if (key == "start_time_micros" || key == "startTimeMicros") {
      read_time(value, node_.start);
    } else {
      read_attribute(key, value);
    }
  }

  void read_ids(ondemand::value value, std::vector<std::uint64_t>& into) {
    for (auto item : value.get_array()) into.push_back(id_of(text_of(item.value())));
  }

  void read_time(ondemand::value value, Nanoseconds& into) {
    const std::string_view text = text_of(value);
    if (!nanoseconds_of_micros(text, into)) {
      throw UserError(fmt::format("`{}` is no time in microseconds", text.substr(0, 40)));
    }
  }

  void read_attribute(std::string_view key, ondemand::value value) {
    AttributeValue attribute;
    const auto type = value.type().value();
    if (type == ondemand::json_type::object) return;
    if (type == ondemand::json_type::array) {
      if (key != "involved_dim") return;
      attribute.kind = AttributeValue::Kind::bits;
      for (auto item : value.get_array()) {
        const std::string_view text = text_of(item.value());
        if (attribute.count < 32 && (text == "true" || text == "1")) attribute.bits |= 1U << attribute.count;
        ++attribute.count;
      }
    } else {
      attribute.kind = AttributeValue::Kind::text;  // whatever wants a number reads it
      attribute.text = text_of(value);
    }
    if (const char* why = set_attribute(key, attribute, node_, graph_.texts)) {
      throw UserError(fmt::format("its `{}` {}", key, why));
    }
  }

  ExecutionGraph& graph_;
  GraphBuilder builder_;
  GraphNode node_;
  std::uint64_t record_ = 0;
};

}  // namespace

bool is_chakra_json(std::string_view first_bytes) {
  const auto first = first_bytes.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string_view::npos || first_bytes[first] != '{') return false;
  const auto graph = first_bytes.find("\"workload_graph\"");
  return graph != std::string_view::npos && graph < first_bytes.find("\"traceEvents\"");
}

ExecutionGraph read_chakra_json(ByteSource& source, const ReadOptions& options) {
  ExecutionGraph graph;
  graph.file = source.name();
  graph.repairs = Repairs(graph.file, options.strict);
  std::string text = read_all(source);
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  Reading reading(graph);
  const auto where = [&] {
    return reading.record() > 0 ? fmt::format("{}: node number {} of its list", graph.file, reading.record())
                                : graph.file;
  };
  try {
    ondemand::parser parser;
    ondemand::document document =
        parser.iterate(simdjson::padded_string_view(text.data(), text.size(), text.capacity()));
    reading.run(document);
    const char* rest = nullptr;
    if (document.current_location().get(rest) == simdjson::SUCCESS)
      throw UserError("something follows the end of the JSON");
  } catch (const simdjson::simdjson_error& error) {
    throw UserError(fmt::format("{}: broken JSON: {}", where(), error.what()));
  } catch (const UserError& error) {
    // Those of the graph as a whole name the file themselves.
    if (error.message().starts_with(graph.file)) throw;
    throw UserError(fmt::format("{}: {}", where(), error.message()), error.hint());
  }
  return graph;
}

}  // namespace warploom
