// SPDX-License-Identifier: Apache-2.0
// Values in a column, then what kind of number each is and what its file says of it.
#include "bindings/report/description.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/play/text_table.hpp"

namespace warploom {

namespace {

using Json = nlohmann::ordered_json;

constexpr int schema = 1;

// A name or a sentence is not a number with a source.
bool is_text(const ValueNote& note) {
  return note.path == "name" || note.path == "source" || note.path.ends_with(".name") ||
         note.path.ends_with(".source") || note.path.starts_with("aliases");
}

std::string joined_aliases(const Description& description) {
  std::string text;
  for (const ValueNote& note : description.notes) {
    if (note.path.starts_with("aliases")) text += (text.empty() ? "" : ", ") + note.value;
  }
  return text;
}

}  // namespace

std::string to_text(const Description& description) {
  std::string text = description.name;
  if (!description.meaning.empty()) text += ": " + description.meaning;
  text += "\n";
  if (const std::string aliases = joined_aliases(description); !aliases.empty()) text += "  also: " + aliases + "\n";
  if (!description.derived.empty()) {
    TextTable table({"", "", ""});
    table.align_left(2);
    for (const DerivedValue& value : description.derived) table.add({value.name, value.value, value.how});
    text += "\n" + table.lines();
  }
  TextTable table({"", "value", "kind", "what its file says"});
  table.align_left(2);
  table.align_left(3);
  bool any = false;
  for (const ValueNote& note : description.notes) {
    if (is_text(note)) continue;
    any = true;
    const std::string kind(note.kind ? name(*note.kind) : "");
    table.add({note.path, note.value, kind,
               note.comment.empty() ? note.origin.line_to_string()
                                    : fmt::format("{}   ({})", note.comment, note.origin.line_to_string())});
  }
  if (any) text += "\n" + table.to_string();
  if (!description.example.empty()) {
    text += fmt::format("\n  An example, `{}`:\n\n", description.example_name);
    std::istringstream lines(description.example);
    for (std::string line; std::getline(lines, line);) text += line.empty() ? "\n" : "    " + line + "\n";
  }
  return text;
}

std::string to_json(const Description& description) {
  Json json;
  json["schema"] = schema;
  json["name"] = description.name;
  json["meaning"] = description.meaning;
  json["derived"] = Json::array();
  for (const DerivedValue& value : description.derived) {
    json["derived"].push_back({{"name", value.name}, {"value", value.value}, {"how", value.how}});
  }
  json["values"] = Json::array();
  for (const ValueNote& note : description.notes) {
    Json kind = nullptr;
    if (note.kind) kind = name(*note.kind);
    json["values"].push_back({{"path", note.path},
                              {"value", note.value},
                              {"kind", std::move(kind)},
                              {"source", note.comment},
                              {"origin", note.origin.to_string()}});
  }
  if (!description.example.empty())
    json["example"] = {{"name", description.example_name}, {"text", description.example}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace warploom
