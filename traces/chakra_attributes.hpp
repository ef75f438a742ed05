// SPDX-License-Identifier: Apache-2.0
// What the attributes of a Chakra node mean, whatever form and type they are written in.
#pragma once

#include <cstdint>
#include <string_view>

#include "traces/execution_graph.hpp"

namespace warploom {

// A value as a producer wrote it.
struct AttributeValue {
  enum class Kind : std::uint8_t { none, integer, too_large, text, bits };
  Kind kind = Kind::none;
  std::int64_t integer = 0;
  std::string_view text = {};
  std::uint32_t bits = 0;  // of a list of booleans: element d is bit d
  std::uint32_t count = 0;
};

// Decimal text to a whole number; `none` where it is not one.
AttributeValue integer_of_text(std::string_view text);

// Sets what the attribute says; returns why it cannot be (null: it was taken, or is none that is read).
const char* set_attribute(std::string_view name, const AttributeValue& value, GraphNode& node, StringTable& texts);

// Microseconds as decimal text, exactly ("12.345"); false where it is no number, negative or too long for nanoseconds.
bool nanoseconds_of_micros(std::string_view text, Nanoseconds& out);

// Throws UserError that names the known schemas. Known: none, "1.0.x" and "1.1.x" with or without "-chakra.x.y.z",
// "symbolic_tensor_network" (ASTRA-sim's STAGE).
void require_known_schema(const ExecutionGraph& graph);

// [{"pg_name": "1", "ranks": [0, 1], ...}, ...], as PyTorch writes it into a metadata node.
void add_groups(std::string_view json, ExecutionGraph& graph);

}  // namespace warploom
