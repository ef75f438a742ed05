// SPDX-License-Identifier: Apache-2.0
// Nodes one by one, as both generations of schemas write them.
#include "traces/execution_trace.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "traces/json_records.hpp"
#include "traces/json_text.hpp"
#include "traces/kineto_event.hpp"
#include "traces/kineto_groups.hpp"

namespace warploom {

namespace {

using simdjson::dom::array;
using simdjson::dom::element;

constexpr std::array schemas = {std::string_view("1.0.1"), std::string_view("1.0.2"), std::string_view("1.0.3"),
                                std::string_view("1.0.4"), std::string_view("1.1.0"), std::string_view("1.1.1")};

std::optional<std::int64_t> integer_in(const element& item) {
  if (std::int64_t number = 0; item.get(number) == simdjson::SUCCESS) return number;
  if (std::string_view text; item.get(text) == simdjson::SUCCESS) return integer_of(text);
  return std::nullopt;
}

// "Tensor(c10::Half)", "float": as Kineto's `dtype` says it.
std::string_view element_type(std::string_view type) {
  using Name = std::pair<std::string_view, std::string_view>;
  static constexpr std::array names = {
      Name{"float", "Float"},        Name{"double", "Double"},    Name{"long int", "Long"}, Name{"int", "Int"},
      Name{"unsigned char", "Byte"}, Name{"signed char", "Char"}, Name{"bool", "Bool"},     Name{"short int", "Short"}};
  if (const auto tensor = type.find("Tensor("); tensor != std::string_view::npos) {
    type.remove_prefix(tensor + 7);
    type = type.substr(0, type.find(')'));
  }
  if (type.starts_with("c10::")) return type.substr(5);
  const auto place = std::find_if(names.begin(), names.end(), [&](const Name& name) { return name.first == type; });
  return place == names.end() ? type : place->second;
}

// [tensor, storage, offset, elements, bytes an element, device], or a list of them; nested at most `depth` times.
std::int64_t elements_in(const element& value, int depth = 3) {
  array list;
  if (depth == 0 || value.get(list) != simdjson::SUCCESS) return 0;
  if (list.size() == 6 && list.at(5).is_string() && list.at(3).is_int64()) return list.at(3).get_int64().value();
  std::int64_t sum = 0;
  for (const element item : list) sum += std::clamp<std::int64_t>(elements_in(item, depth - 1), 0, 1LL << 50);
  return sum;
}

// Inputs or outputs of a node.
struct Operands {
  array values, shapes, types;
  bool is_known = false;
};

Operands operands_of(const element& node, const char* plain, const char* shapes, const char* types) {
  Operands result;
  if (element inner; node[plain].get(inner) == simdjson::SUCCESS && inner.is_object()) {  // 1.0.2 and later
    result.is_known = inner["values"].get(result.values) == simdjson::SUCCESS &&
                      inner["shapes"].get(result.shapes) == simdjson::SUCCESS &&
                      inner["types"].get(result.types) == simdjson::SUCCESS;
  } else {
    result.is_known = node[plain].get(result.values) == simdjson::SUCCESS &&
                      node[shapes].get(result.shapes) == simdjson::SUCCESS &&
                      node[types].get(result.types) == simdjson::SUCCESS;
  }
  return result;
}

class ExecutionReading {
 public:
  ExecutionReading(ByteSource& source, const ReadOptions& options) : source_(source) {
    trace_.file = source.name();
    trace_.repairs = Repairs(source.name(), options.strict);
  }

  ExecutionTrace read() {
    JsonRecords::Options cutting;
    cutting.array = "nodes";
    JsonRecords records(source_, cutting, trace_.repairs);
    for (auto item = records.next(); item != JsonRecords::Item::end; item = records.next()) {
      if (item == JsonRecords::Item::value) {
        if (records.key() == "schema") take_schema(records.text());
      } else if (!take_node(records.text())) {
        trace_.repairs.note("broken_node", "nodes that are no JSON were not kept", records.where());
      }
    }
    if (trace_.schema.empty()) throw UserError(fmt::format("{}: no `schema` in this execution trace", trace_.file));
    std::stable_sort(trace_.nodes.begin(), trace_.nodes.end(),
                     [](const ExecutionNode& a, const ExecutionNode& b) { return a.id < b.id; });
    return std::move(trace_);
  }

 private:
  void take_schema(std::string_view text) {
    trace_.schema = text.size() >= 2 ? text.substr(1, text.size() - 2) : text;
    const std::string_view number = std::string_view(trace_.schema).substr(0, trace_.schema.find('-'));
    if (std::find(schemas.begin(), schemas.end(), number) == schemas.end()) {
      throw UserError(
          fmt::format("{}: execution traces of schema {} are not known", trace_.file, warploom::quoted(trace_.schema)),
          "known: 1.0.1, 1.0.2, 1.0.3, 1.0.4, 1.1.0, 1.1.1, with or without a `-chakra` suffix");
    }
  }

  bool take_node(std::string_view text) {
    element node;
    if (parser_.parse(text.data(), text.size()).get(node) != simdjson::SUCCESS) {
      JsonMends mends;
      if (parser_.parse(mend_json(text, mends)).get(node) != simdjson::SUCCESS) return false;
    }
    if (!node.is_object()) return false;
    attributes_ = {};
    if (array list; node["attrs"].get(list) == simdjson::SUCCESS) {
      for (const element item : list) take_attribute(item);
    }
    ExecutionNode kept;
    kept.id = number(node, "id").value_or(0);
    kept.thread = number(node, "tid").value_or(0);
    kept.record_id = number(node, "rf_id").value_or(-1);
    std::string_view name;
    if (node["name"].get(name) != simdjson::SUCCESS) return false;
    kept.name = trace_.texts.add(name);
    const Operands inputs = operands_of(node, "inputs", "input_shapes", "input_types");
    if (inputs.is_known && inputs.shapes.size() > 0) {
      kept.shapes = canonical(simdjson::minify(inputs.shapes));
      kept.types = canonical(types_text(inputs.types));
    }
    if (name == "record_param_comms") {
      kept.collective = collective_of(inputs, operands_of(node, "outputs", "output_shapes", "output_types"));
    }
    trace_.nodes.push_back(kept);
    return true;
  }

  void take_attribute(const element& item) {
    std::string_view name;
    element value;
    if (item["name"].get(name) != simdjson::SUCCESS || item["value"].get(value) != simdjson::SUCCESS) return;
    std::string_view text;
    attributes_.insert_or_assign(std::string(name),
                                 value.get(text) == simdjson::SUCCESS ? std::string(text) : simdjson::minify(value));
  }
  std::string attribute(const char* name) const {
    const auto place = attributes_.find(name);
    return place == attributes_.end() ? std::string() : place->second;
  }
  // Of the node, or of its attributes.
  std::optional<std::int64_t> number(const element& node, const char* name) const {
    if (element value; node[name].get(value) == simdjson::SUCCESS) return integer_in(value);
    return integer_of(attribute(name));
  }

  TextId canonical(const std::string& text) {
    canonical_json(text, buffer_);
    return trace_.texts.add(buffer_);
  }
  static std::string types_text(const array& types) {
    std::string text = "[";
    for (const element item : types) {
      std::string_view type;
      if (item.get(type) != simdjson::SUCCESS) type = {};
      if (type.starts_with("Tensor(") && type.ends_with(')')) type = type.substr(7, type.size() - 8);
      text += (text.size() > 1 ? "," : "") + json_string(type);
    }
    return text + "]";
  }

  std::uint32_t collective_of(const Operands& inputs, const Operands& outputs) {
    CollectiveRecord record;
    if (attributes_.contains("collective_name")) {
      read_attributes(record);
    } else if (!inputs.is_known || !read_inputs(record, inputs, outputs)) {
      return nothing;
    }
    trace_.collectives.push_back(record);
    return static_cast<std::uint32_t>(trace_.collectives.size() - 1);
  }

  // 1.1.0 and later.
  void read_attributes(CollectiveRecord& record) {
    const auto text = [this](const char* name) {
      const std::string value = attribute(name);
      return value.empty() ? nothing : trace_.texts.add(value);
    };
    record.name = text("collective_name");
    record.type = text("dtype");
    record.in_elements = integer_of(attribute("in_msg_nelems")).value_or(-1);
    record.out_elements = integer_of(attribute("out_msg_nelems")).value_or(-1);
    record.in_splits = text("in_split_size");
    record.out_splits = text("out_split_size");
    ProcessGroup group;
    group.name = attribute("pg_name");
    group.description = attribute("pg_desc");
    group.size = std::clamp<std::int64_t>(integer_of(attribute("pg_size")).value_or(0), 0, 1 << 22);
    const std::int64_t first = integer_of(attribute("global_rank_start")).value_or(-1);
    const std::int64_t stride = integer_of(attribute("global_rank_stride")).value_or(0);
    if (first >= 0 && first <= 1 << 22 && stride > 0 && stride <= 1 << 22) {
      for (std::int64_t i = 0; i < group.size; ++i) group.ranks.push_back(first + i * stride);
    }
    record.group = group_of(std::move(group));
  }

  // Before: [tensors, sequence, group, rank, name, in splits, out splits, size of the group], the first and the last
  // missing in some versions. The group is an address, which differs from rank to rank: of it the size alone is taken.
  bool read_inputs(CollectiveRecord& record, const Operands& inputs, const Operands& outputs) {
    std::size_t place = 0;
    for (; place < inputs.types.size(); ++place) {
      if (inputs.types.at(place).get_string().value_unsafe() == "String") break;
    }
    std::string_view name;
    if (place >= inputs.values.size() || inputs.values.at(place).get(name) != simdjson::SUCCESS) return false;
    record.name = trace_.texts.add(name);
    std::string_view type;
    if (inputs.types.at(0).get(type) == simdjson::SUCCESS && type.find("Tensor(") != std::string_view::npos) {
      record.type = trace_.texts.add(element_type(type));
      record.in_elements = elements_in(inputs.values.at(0).value_unsafe());
    }
    if (outputs.is_known && outputs.values.size() > 0) {
      record.out_elements = elements_in(outputs.values.at(0).value_unsafe());
    }
    const auto splits = [&](std::size_t at) {
      element value;
      if (inputs.values.at(at).get(value) != simdjson::SUCCESS || !value.is_array()) return nothing;
      return canonical(simdjson::minify(value));
    };
    record.in_splits = splits(place + 1);
    record.out_splits = splits(place + 2);
    element size;
    if (inputs.values.at(place + 3).get(size) == simdjson::SUCCESS) {
      ProcessGroup group;
      group.size = std::clamp<std::int64_t>(integer_in(size).value_or(0), 0, 1 << 22);
      if (group.size > 1) record.group = group_of(std::move(group));
    }
    return true;
  }

  std::uint32_t group_of(ProcessGroup group) {
    std::string key = fmt::format("{}\n{}\n{}\n{}", group.name, group.description, group.size,
                                  group.ranks.empty() ? -1 : group.ranks.back());
    const auto [place, is_new] = groups_.emplace(std::move(key), static_cast<std::uint32_t>(trace_.groups.size()));
    if (is_new) trace_.groups.push_back(std::move(group));
    return place->second;
  }

  ByteSource& source_;
  ExecutionTrace trace_;
  simdjson::dom::parser parser_;
  std::unordered_map<std::string, std::string> attributes_;
  std::unordered_map<std::string, std::uint32_t> groups_;
  std::string buffer_;
};

}  // namespace

bool is_execution_trace(std::string_view first) {
  if (first.starts_with("\xEF\xBB\xBF")) first.remove_prefix(3);
  const auto root = first.find_first_not_of(" \t\r\n");
  return root != std::string_view::npos && first[root] == '{' && first.find("\"schema\"") != std::string_view::npos &&
         first.find("\"nodes\"") != std::string_view::npos && first.find("\"traceEvents\"") == std::string_view::npos;
}

ExecutionTrace read_execution_trace(ByteSource& source, const ReadOptions& options) {
  return ExecutionReading(source, options).read();
}

}  // namespace warploom
