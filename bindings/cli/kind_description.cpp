// SPDX-License-Identifier: Apache-2.0
// Keys from the kind's own table of parameters; the example by its text.
#include "bindings/cli/kind_description.hpp"

#include <fmt/format.h>

#include <sstream>
#include <string_view>
#include <vector>

#include "network/topologies.hpp"
#include "sim/core/text.hpp"
#include "sim/core/whole_file.hpp"

namespace warploom {

namespace {

// Of a row of a Markdown table.
std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  std::string cell;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i] == '\\' && i + 1 < row.size() && row[i + 1] == '|') {
      cell += row[++i];
    } else if (row[i] == '|') {
      cells.emplace_back(trim(cell));
      cell.clear();
    } else {
      cell += row[i];
    }
  }
  return cells;
}

std::string without_ticks(std::string text) {
  std::erase(text, '`');
  return text;
}

// A row for each key: type, range and default in the middle.
std::vector<DerivedValue> keys_of(const std::string& table) {
  std::vector<DerivedValue> keys;
  std::istringstream lines(table);
  std::string line;
  for (int i = 0; std::getline(lines, line); ++i) {
    const auto cells = cells_of(line);
    if (i < 2 || cells.size() != 5) continue;
    std::string value = without_ticks(cells[1]);
    if (!cells[3].empty()) value += ", " + without_ticks(cells[3]);
    const std::string usual = without_ticks(cells[2]);
    // Its meaning says it better where it is not a value (`0 B/s`).
    const bool is_told = cells[4].find("default: ") != std::string::npos;
    if (!usual.empty() && !(is_told && usual != "required"))
      value += usual == "required" ? ", required" : ", default " + usual;
    keys.push_back({without_ticks(cells[0]), value, cells[4]});
  }
  return keys;
}

bool starts_with_kind(std::string_view text, const std::string& kind) {
  const std::string wanted = "kind: " + kind;
  if (!text.starts_with(wanted)) return false;
  return text.size() == wanted.size() || std::string_view("\n,} ").find(text[wanted.size()]) != std::string_view::npos;
}

bool uses(const std::string& text, const std::string& kind) {
  for (std::size_t at = text.find("kind: "); at != std::string::npos; at = text.find("kind: ", at + 1)) {
    if (starts_with_kind(std::string_view(text).substr(at), kind)) return true;
  }
  return false;
}

// As its network, not as a part of one of another kind.
bool is_of(const std::string& text, const std::string& kind) {
  for (const std::string_view before : {"\nnetwork:\n  ", "\nnetwork: {"}) {
    const std::size_t at = text.find(before);
    if (at != std::string::npos && starts_with_kind(std::string_view(text).substr(at + before.size()), kind))
      return true;
  }
  return false;
}

}  // namespace

std::optional<Description> describe_topology(const std::string& name, const Library& library) {
  const TopologyRegistry registry = topology_registry();
  const auto* kind = registry.find(name);
  if (kind == nullptr) return std::nullopt;
  Description description{name, "kind of network: " + kind->meaning, {}, keys_of(kind->reference), {}, {}};
  for (const char* folder : {"examples/", "clusters/"}) {
    for (const LibraryEntry& entry : library.entries()) {
      if (!entry.name.starts_with(folder)) continue;
      const std::string text = read_whole_file(entry.path);
      const bool is_own = is_of(text, name);
      if (!is_own && (!description.example.empty() || !uses(text, name))) continue;
      description.example = text;
      description.example_name = entry.name;
      if (is_own) return description;
    }
  }
  return description;
}

}  // namespace warploom
