// SPDX-License-Identifier: Apache-2.0
// `.et`: metadata, then node after node, each field where it stands.
#include "traces/chakra_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "sim/core/errors.hpp"
#include "traces/chakra_attributes.hpp"
#include "traces/chakra_wire.hpp"

namespace warploom {

namespace {

std::int64_t zigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1U) ^ -static_cast<std::int64_t>(value & 1U);
}

AttributeValue whole(double value) {
  AttributeValue result;
  constexpr double most = 9007199254740992.0;  // 2^53: beyond it a double is no count
  if (value >= -most && value <= most && value == static_cast<double>(static_cast<std::int64_t>(value))) {
    result.kind = AttributeValue::Kind::integer;
    result.integer = static_cast<std::int64_t>(value);
  }
  return result;
}

// A list of booleans or whole numbers, packed or not; `type` of the elements: 0 varint, 1 and 5 fixed.
void add_bits(const WireField& field, AttributeValue& value) {
  const auto add = [&value](bool bit) {
    if (bit && value.count < 32) value.bits |= 1U << value.count;
    ++value.count;
  };
  if (field.type != 2) return add(field.value != 0);
  const char* at = field.bytes.data();
  const char* const end = at + field.bytes.size();
  std::uint64_t element = 0;
  while (at != end && read_varint(at, end, element)) add(element != 0);
}

// The oneof `value` of an AttributeProto. Scalars have odd numbers, their lists the next even one.
AttributeValue value_of(const WireField& field) {
  AttributeValue value;
  if (field.number % 2 == 0) {  // a list
    if (field.number < 8 || field.number > 28) return value;
    value.kind = AttributeValue::Kind::bits;
    WireMessage list(field.bytes);
    WireField element;
    while (list.next(element)) {
      if (element.number == 1) add_bits(element, value);
    }
    return value;
  }
  value.kind = AttributeValue::Kind::integer;
  switch (field.number) {
    case 3:
      return whole(std::bit_cast<double>(field.value));
    case 5:
      return whole(std::bit_cast<float>(static_cast<std::uint32_t>(field.value)));
    case 7:  // int32, int64: negative ones take ten bytes
    case 9:
    case 25:  // sfixed64
      value.integer = static_cast<std::int64_t>(field.value);
      return value;
    case 15:
    case 17:
      value.integer = zigzag(field.value);
      return value;
    case 23:
      value.integer = static_cast<std::int32_t>(static_cast<std::uint32_t>(field.value));
      return value;
    case 29:
    case 31:
      value.kind = AttributeValue::Kind::text;
      value.text = field.bytes;
      return value;
    default:  // 11, 13, 19, 21, 27
      value.integer = static_cast<std::int64_t>(field.value);
      if (field.value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        value.kind = AttributeValue::Kind::too_large;
      }
      return value;
  }
}

struct Attribute {
  std::string_view name;
  AttributeValue value;
};

const char* read_attribute(std::string_view bytes, Attribute& attribute) {
  attribute = {};
  WireMessage message(bytes);
  WireField field;
  while (message.next(field)) {
    if (field.number == 1 && field.type == 2) attribute.name = field.bytes;
    if (field.number >= 3 && field.number <= 32) attribute.value = value_of(field);
  }
  return message.broken();
}

class Reading {
 public:
  Reading(ByteSource& source, const ReadOptions& options, ExecutionGraph& graph)
      : source_(source), options_(options), messages_(source), graph_(graph), builder_(graph) {}

  void run() {
    const auto metadata = messages_.next();
    if (!metadata) {
      throw UserError(
          fmt::format("{}: {}", graph_.file,
                      messages_.is_truncated() ? "the file ends within its first message" : "the file is empty"));
    }
    read_metadata(*metadata);
    require_known_schema(graph_);
    while (const auto message = messages_.next()) {
      ++record_;
      read_node(*message);
      builder_.add(node_);
      if (record_ == 65536) expect_as_many();
      if (record_ % 65536 == 0 && options_.progress) options_.progress(source_.bytes_taken(), source_.bytes_in_all());
    }
    if (messages_.is_truncated()) {
      graph_.is_truncated = true;
      graph_.repairs.note("truncated_last_node", "the file ends within a node, which was dropped",
                          fmt::format("record {} at byte {}", record_ + 1, messages_.offset()));
    }
    builder_.finish();
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw UserError(fmt::format("{}: record {} at byte {}: {}", graph_.file, record_, messages_.offset(), why),
                    "the file is damaged here, or is no Chakra trace");
  }

  // As the file goes on so: columns then do not move as they grow.
  void expect_as_many() {
    const auto taken = static_cast<double>(source_.bytes_taken());
    const auto all = static_cast<double>(source_.bytes_in_all());
    if (taken <= 0 || all <= taken) return;
    // A start of tiny nodes says nothing of gigabytes: at most a node each 8 bytes of the file.
    const double nodes = std::min(1.05 * static_cast<double>(record_) * all / taken, all / 8 + 65536);
    builder_.expect(static_cast<std::size_t>(nodes));
  }

  void read_metadata(std::string_view bytes) {
    WireMessage message(bytes);
    WireField field;
    Attribute attribute;
    while (message.next(field)) {
      if (field.type != 2) refuse("this is no metadata of a Chakra trace");
      if (field.number == 1) graph_.version = field.bytes;
      if (field.number != 2) continue;
      if (const char* why = read_attribute(field.bytes, attribute)) refuse(fmt::format("metadata: {}", why));
      const auto& value = attribute.value;
      if (attribute.name == "schema") graph_.schema = value.text;
      if (value.kind == AttributeValue::Kind::text) {
        graph_.facts.emplace(attribute.name, value.text.substr(0, 1000));
      } else if (value.kind == AttributeValue::Kind::integer) {
        graph_.facts.emplace(attribute.name, std::to_string(value.integer));
      }
    }
    if (message.broken() != nullptr) refuse(fmt::format("metadata: {}", message.broken()));
    const auto fact = graph_.facts.find("duration_micros");
    is_folded_ = fact != graph_.facts.end() && fact->second == "folded";
  }

  void read_ids(const WireField& field, std::vector<std::uint64_t>& into) {
    if (field.type == 0) return into.push_back(field.value);
    if (field.type != 2) refuse("a dependency is no id");
    const char* at = field.bytes.data();
    const char* const end = at + field.bytes.size();
    while (at != end) {
      std::uint64_t id = 0;
      if (!read_varint(at, end, id)) refuse("an id is cut off");
      into.push_back(id);
    }
  }

  Nanoseconds micros(const WireField& field, const char* what) const {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / 1000;
    if (field.type != 0 || field.value > most) refuse(fmt::format("its {} is no time that fits", what));
    return static_cast<Nanoseconds>(field.value) * 1000;
  }

  void reset() {
    auto data = std::move(node_.data);
    auto control = std::move(node_.control);
    data.clear();
    control.clear();
    node_ = {};
    node_.data = std::move(data);
    node_.control = std::move(control);
  }

  void read_node(std::string_view bytes) {
    reset();
    micros_ = 0;
    WireMessage message(bytes);
    WireField field;
    std::string_view inputs;
    while (message.next(field)) read_field(field, inputs);
    if (is_folded_) node_.folded = micros_;
    if (message.broken() != nullptr) refuse(message.broken());
    if (node_.type >= NodeType::send) node_.has_comm = true;
    if (node_.type < NodeType::send) node_.has_comm = false;
    if (node_.type == NodeType::metadata && !inputs.empty()) read_groups(inputs);
  }

  void read_field(const WireField& field, std::string_view& inputs) {
    const bool is_number = field.type == 0;
    switch (field.number) {
      case 1:
        if (!is_number) refuse("its id is no number");
        node_.id = field.value;
        return;
      case 2:
        node_.name = field.bytes;
        return;
      case 3:
        if (!is_number || field.value > 7) refuse(fmt::format("there is no type of node {}", field.value));
        node_.type = static_cast<NodeType>(field.value);
        return;
      case 4:
        return read_ids(field, node_.control);
      case 5:
        return read_ids(field, node_.data);
      case 6:
        node_.start = micros(field, "start time");
        return;
      case 7:
        micros_ = micros(field, "duration");
        node_.duration = micros_;
        return;
      case 8:
        inputs = field.bytes;
        return;
      case 10:
        return read_node_attribute(field);
      default:
        return;
    }
  }

  void read_node_attribute(const WireField& field) {
    Attribute attribute;
    if (const char* why = read_attribute(field.bytes, attribute)) refuse(fmt::format("an attribute: {}", why));
    if (attribute.value.kind == AttributeValue::Kind::none) return;
    if (const char* why = set_attribute(attribute.name, attribute.value, node_, graph_.texts)) {
      refuse(fmt::format("its attribute `{}` {}", attribute.name, why));
    }
  }

  // IOInfo.values; the list itself is in quotes within brackets: ["[{...}]"].
  void read_groups(std::string_view inputs) {
    WireMessage message(inputs);
    WireField field;
    while (message.next(field)) {
      if (field.number != 1 || field.type != 2) continue;
      const auto first = field.bytes.find("[{");
      const auto last = field.bytes.rfind("}]");
      if (first == std::string_view::npos || last == std::string_view::npos || last < first) continue;
      add_groups(field.bytes.substr(first, last + 2 - first), graph_);
    }
  }

  ByteSource& source_;
  const ReadOptions& options_;
  DelimitedMessages messages_;
  ExecutionGraph& graph_;
  GraphBuilder builder_;
  GraphNode node_;
  Nanoseconds micros_ = 0;
  bool is_folded_ = false;
  std::uint64_t record_ = 0;
};

// Whether a message reads as GlobalMetadata to its end.
bool is_metadata(std::string_view bytes) {
  WireMessage message(bytes);
  WireField field;
  while (message.next(field)) {
    if (field.type != 2 || field.number > 2) return false;
    if (field.number == 1 && field.bytes.size() > 64) return false;
    Attribute attribute;
    if (field.number == 2 && (read_attribute(field.bytes, attribute) != nullptr || attribute.name.empty()))
      return false;
  }
  return message.broken() == nullptr;
}

}  // namespace

bool is_chakra(std::string_view first_bytes) {
  const char* at = first_bytes.data();
  const char* const end = at + first_bytes.size();
  std::uint64_t length = 0;
  if (!read_varint(at, end, length) || length > static_cast<std::uint64_t>(end - at)) return false;
  if (!is_metadata({at, static_cast<std::size_t>(length)})) return false;
  at += length;
  if (at == end) return length > 0;
  // The first node: its fields have numbers up to 10 and wire types that fit them.
  if (!read_varint(at, end, length) || length == 0) return false;
  const auto rest = static_cast<std::uint64_t>(end - at);
  WireMessage message({at, static_cast<std::size_t>(std::min(rest, length))});
  WireField field;
  int fields = 0;
  while (message.next(field)) {
    const bool is_number = field.number == 1 || field.number == 3 || field.number == 6 || field.number == 7;
    const bool is_list = field.number == 4 || field.number == 5;
    if (field.number > 10 || !(is_number ? field.type == 0 : field.type == 2 || (is_list && field.type == 0))) {
      return false;
    }
    ++fields;
  }
  return fields > 0 && (message.broken() == nullptr || length > rest);
}

ExecutionGraph read_chakra(ByteSource& source, const ReadOptions& options) {
  ExecutionGraph graph;
  graph.file = source.name();
  graph.repairs = Repairs(graph.file, options.strict);
  Reading(source, options, graph).run();
  return graph;
}

ExecutionGraph read_execution_graph(ByteSource& source, const ReadOptions& options) {
  return is_chakra_json(source.peek()) ? read_chakra_json(source, options) : read_chakra(source, options);
}

}  // namespace warploom
