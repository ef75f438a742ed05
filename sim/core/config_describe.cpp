// SPDX-License-Identifier: Apache-2.0
// JSON Schema and manual from the same declarations that the reader uses.
#include <fmt/format.h>

#include <algorithm>

#include "sim/core/config_types.hpp"
#include "sim/core/registry.hpp"
#include "sim/core/text.hpp"

namespace warploom::detail {

namespace {

// A Markdown table cell on one line.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

void add_rows(const StructInfo& info, const void* defaults, const std::string& prefix, int depth, std::string& text) {
  constexpr int deepest = 8;
  for (const FieldInfo& field : info.fields) {
    const std::string shown = field.is_optional ? field.show(defaults) : "required";
    const bool is_code = field.is_optional && !shown.empty() && shown != "none";
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", prefix + field.name, cell(field.type),
                        is_code ? "`" + cell(shown) + "`" : cell(shown), cell(field.range), cell(field.meaning));
    const Nested nested = field.nested(defaults);
    if (nested.info == nullptr || depth >= deepest) continue;
    add_rows(*nested.info, nested.defaults.get(), prefix + field.name + nested.suffix + ".", depth + 1, text);
  }
}

// {"a": 1} and a description: {"description": ..., "a": 1}
std::string with_description(const std::string& schema, const std::string& description) {
  const std::string start = "{\"description\": " + json_string(description);
  return schema == "{}" ? start + "}" : start + ", " + schema.substr(1);
}

}  // namespace

std::string without_article(std::string_view noun) {
  for (const std::string_view article : {"a ", "an "}) {
    if (noun.starts_with(article)) return std::string(noun.substr(article.size()));
  }
  return std::string(noun);
}

std::string show_text(const std::string& text) { return text.empty() ? "\"\"" : text; }

std::string number_schema(const char* type, const std::string& low, const std::string& high, bool above) {
  std::string schema = fmt::format(R"({{"type": "{}")", type);
  if (!low.empty()) schema += fmt::format(R"(, "{}": {})", above ? "exclusiveMinimum" : "minimum", low);
  if (!high.empty()) schema += fmt::format(R"(, "maximum": {})", high);
  return schema + "}";
}

std::string quantity_schema(const std::string& pattern, std::string_view name, std::string_view example,
                            const std::string& range) {
  const std::string comment = range.empty() ? std::string(name) : fmt::format("{} {}", name, range);
  return fmt::format(R"({{"type": "string", "pattern": {}, "examples": [{}], "$comment": {}}})", json_string(pattern),
                     json_string(example), json_string(comment));
}

std::string choice_schema(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + json_string(name);
  return "{\"enum\": [" + text + "]}";
}

// A map that starts from another with `use:` need not say what is required itself; `key: ~` drops or defaults a key.
std::string struct_schema(const StructInfo& info) {
  std::string properties = R"("use": {"type": ["string", "null"]})";
  std::string required;
  for (const FieldInfo& field : info.fields) {
    std::string schema = field.schema();
    if (field.is_optional) schema = fmt::format(R"({{"anyOf": [{}, {{"type": "null"}}]}})", schema);
    properties += fmt::format(", {}: {}", json_string(field.name), with_description(schema, field.meaning));
    if (!field.is_optional) required += (required.empty() ? "" : ", ") + json_string(field.name);
  }
  std::string text = R"({"type": "object", "properties": {)" + properties +
                     R"(}, "patternProperties": {"^x-": true}, "additionalProperties": false)";
  if (!required.empty()) text += R"(, "anyOf": [{"required": ["use"]}, {"required": [)" + required + "]}]";
  return text + "}";
}

std::string document_schema(const std::string& schema, const std::string& title) {
  std::string start = R"({"$schema": "https://json-schema.org/draft/2020-12/schema", )";
  if (!title.empty()) start += "\"title\": " + json_string(title) + ", ";
  return start + schema.substr(1);
}

std::string reference_table(const StructInfo& info, const void* defaults) {
  std::string text = "| key | type | default | range | meaning |\n|---|---|---|---|---|\n";
  add_rows(info, defaults, "", 0, text);
  return text;
}

std::string kind_schema(const std::string& kind, const std::string& meaning, const std::string& schema) {
  const std::string head =
      fmt::format(R"("kind": {{"const": {}, "description": {}}})", json_string(kind), json_string(meaning));
  constexpr std::string_view properties = R"("properties": {)";
  const std::size_t at = schema.find(properties);
  if (at == std::string::npos) {
    return R"({"type": "object", "properties": {)" + head +
           R"(}, "patternProperties": {"^x-": true}, "additionalProperties": false, "required": ["kind"]})";
  }
  std::string text = schema;
  text.insert(at + properties.size(), head + ", ");
  text.pop_back();
  return text + R"(, "required": ["kind"]})";
}

std::string one_of_schema(const std::vector<std::string>& schemas) { return "{\"oneOf\": [" + join(schemas) + "]}"; }

}  // namespace warploom::detail
