// SPDX-License-Identifier: Apache-2.0
// What a resolved configuration says: its hash, its text with origins, and what of it nobody read.
#include <fmt/format.h>

#include <algorithm>

#include "sim/core/config_node.hpp"
#include "sim/core/config_value.hpp"
#include "sim/core/random.hpp"
#include "sim/core/text.hpp"

namespace warploom {

using detail::ConfigNode;
using Kind = ConfigValue::Kind;

namespace {

// FNV-1a over a canonical form: a letter for the kind, lengths before texts, keys sorted.
class Hasher {
 public:
  void add(std::string_view text) {
    add(text.size());
    for (const char c : text) byte(static_cast<unsigned char>(c));
  }
  void add(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) byte(static_cast<unsigned char>(number >> shift));
  }
  void add(const ConfigValue& value) {
    const ConfigNode& node = ConfigNode::of(value);
    byte(static_cast<unsigned char>("nslm"[static_cast<int>(node.kind)]));
    if (node.kind == Kind::scalar) add(std::string_view(node.text));
    if (node.kind == Kind::list) {
      add(node.items.size());
      for (const ConfigValue& item : node.items) add(item);
    }
    if (node.kind != Kind::map) return;
    std::vector<const ConfigEntry*> sorted;
    for (const ConfigEntry& entry : node.entries) {
      if (!is_annotation(entry.key)) sorted.push_back(&entry);
    }
    std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->key < b->key; });
    add(sorted.size());
    for (const ConfigEntry* entry : sorted) {
      add(std::string_view(entry->key));
      add(entry->value);
    }
  }
  std::string hex() const {
    std::uint64_t state = hash_;
    return fmt::format("{:016x}", splitmix64(state));
  }

 private:
  void byte(unsigned char b) { hash_ = (hash_ ^ b) * 0x100000001b3ULL; }
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

// Whether YAML reads the bare text back as this very text.
bool is_plain(std::string_view text) {
  if (text.empty() || text == "~" || to_lower(text) == "null") return false;
  if (text.front() == ' ' || text.back() == ' ') return false;
  if (text == "---" || text == "..." || text == "<<") return false;
  const auto is_safe = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == '/' || c == '+' || c == ' ' || c == '(' || c == ')' || c == ';' || c == '=' || c == '^';
  };
  if (!std::all_of(text.begin(), text.end(), is_safe)) return false;
  const char first = text.front();
  return first != '-' || (text.size() > 1 && text[1] != ' ' && text[1] != '-');
}

std::string yaml_scalar(const ConfigNode& node) {
  if (node.kind == Kind::null) return "~";
  if (!node.is_quoted && is_plain(node.text)) return node.text;
  std::string text = "\"";
  for (const char c : node.text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '\n') {
      text += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
  return text + "\"";
}

std::string yaml_key(const std::string& key) {
  ConfigNode node;
  node.kind = Kind::scalar;
  node.text = key;
  return yaml_scalar(node);
}

class Explainer {
 public:
  void add(const ConfigValue& value, int indent, const std::string& lead, const Origin& origin) {
    const ConfigNode& node = ConfigNode::of(value);
    if (node.kind == Kind::map && !node.entries.empty()) {
      if (!lead.empty()) line(lead, origin);
      for (const ConfigEntry& entry : node.entries) {
        add(entry.value, indent + 2, spaces(indent) + yaml_key(entry.key) + ":", entry.origin);
      }
    } else if (node.kind == Kind::list && !is_flat(node)) {
      if (!lead.empty()) line(lead, origin);
      for (const ConfigValue& item : node.items) add_item(item, indent);
    } else {
      line((lead.empty() ? "" : lead + " ") + inline_text(node), origin.is_known() ? origin : node.origin);
    }
  }

  std::string text() const {
    constexpr std::size_t widest = 60;
    std::size_t column = 0;
    for (const auto& [left, right] : lines_) {
      if (left.size() <= widest) column = std::max(column, left.size());
    }
    std::string result;
    for (const auto& [left, right] : lines_) {
      result += left;
      if (!right.empty()) {
        result += std::string(left.size() < column ? column - left.size() : 0, ' ') + "  # " + right;
      }
      result += '\n';
    }
    return result;
  }

 private:
  static std::string spaces(int count) { return std::string(static_cast<std::size_t>(count), ' '); }

  // `- ` takes the place of the first two columns of the item's own lines.
  void add_item(const ConfigValue& item, int indent) {
    const std::size_t first = lines_.size();
    add(item, indent + 2, {}, item.origin());
    std::string& left = lines_[first].first;
    const std::size_t at = static_cast<std::size_t>(indent);
    if (left.size() >= at + 2 && left.compare(0, at + 2, spaces(indent + 2)) == 0) {
      left[at] = '-';
    } else {
      left = spaces(indent) + "- " + left;
    }
  }

  // A list of plain values from one line is shown on one line.
  static bool is_flat(const ConfigNode& node) {
    return std::all_of(node.items.begin(), node.items.end(), [&](const ConfigValue& item) {
      const ConfigNode& inner = ConfigNode::of(item);
      return (inner.kind == Kind::scalar || inner.kind == Kind::null) &&
             inner.origin.line_to_string() == node.origin.line_to_string();
    });
  }

  static std::string inline_text(const ConfigNode& node) {
    if (node.kind == Kind::map) return "{}";
    if (node.kind != Kind::list) return yaml_scalar(node);
    std::string text;
    for (const ConfigValue& item : node.items) text += (text.empty() ? "" : ", ") + yaml_scalar(ConfigNode::of(item));
    return "[" + text + "]";
  }

  void line(std::string left, const Origin& origin) { lines_.emplace_back(std::move(left), origin.line_to_string()); }

  std::vector<std::pair<std::string, std::string>> lines_;
};

void report_unread_below(const ConfigValue& value, const Origin& origin, Diagnostics& diagnostics) {
  if (!value.is_read()) {
    diagnostics.error(origin, value.path(), "nothing reads this key",
                      "remove it; notes of your own go under keys that start with `x-`");
    return;
  }
  const ConfigNode& node = ConfigNode::of(value);
  for (const ConfigEntry& entry : node.entries) {
    if (!is_annotation(entry.key)) report_unread_below(entry.value, entry.origin, diagnostics);
  }
  for (const ConfigValue& item : node.items) report_unread_below(item, item.origin(), diagnostics);
}

}  // namespace

std::string config_hash(const ConfigValue& resolved) {
  Hasher hasher;
  hasher.add(resolved);
  return hasher.hex();
}

std::string explain(const ConfigValue& resolved) {
  Explainer explainer;
  explainer.add(resolved, 0, {}, Origin());
  return explainer.text();
}

void report_unread(const ConfigValue& root, Diagnostics& diagnostics) {
  report_unread_below(root, root.origin(), diagnostics);
}

}  // namespace warploom
