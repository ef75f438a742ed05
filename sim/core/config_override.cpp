// SPDX-License-Identifier: Apache-2.0
// Overrides: parsing `a.b[2].c=value` and applying it to a tree.
#include "sim/core/config_override.hpp"

#include <charconv>

#include "sim/core/text.hpp"

namespace warploom::detail {

namespace {

constexpr const char* form =
    "an override is written `key.path=value`, for example `cluster.nodes=2` or `links[0].lanes=4`";

[[noreturn]] void fail(const std::string& text, const std::string& message) {
  throw ConfigError(Diagnostic{
      Origin::command_line(), Severity::error, {}, "override " + warploom::quoted(text) + ": " + message, form});
}

class PathParser {
 public:
  PathParser(std::string_view text, const std::string& whole) : text_(text), whole_(whole) {}

  // Up to and including the `=`; what follows it stays in rest().
  std::vector<Step> parse() {
    std::vector<Step> steps;
    do {
      steps.push_back({key(), {}});
      while (take('[')) steps.push_back({{}, index()});
    } while (take('.'));
    if (!take('=')) fail(whole_, at_end() ? "there is no `=`" : "unexpected " + warploom::quoted(text_.substr(at_, 1)));
    if (steps.size() > ConfigLimits::depth) fail(whole_, "the path is too deep");
    for (const Step& step : steps) {
      if (step.key.size() > ConfigLimits::key_bytes) fail(whole_, "a key is too long");
    }
    return steps;
  }
  std::string_view rest() const { return text_.substr(at_); }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string key() {
    if (take('"')) {
      const std::size_t end = text_.find('"', at_);
      if (end == std::string_view::npos) fail(whole_, "a quote is not closed");
      std::string key(text_.substr(at_, end - at_));
      at_ = end + 1;
      return key;
    }
    const std::size_t end = std::min(text_.find_first_of(".[]=\"", at_), text_.size());
    std::string key(trim(text_.substr(at_, end - at_)));
    if (key.empty()) fail(whole_, at_end() ? "there is no `=`" : "a key is missing");
    at_ = end;
    return key;
  }

  std::size_t index() {
    std::size_t value = 0;
    const char* start = text_.data() + at_;
    const auto [end, error] = std::from_chars(start, text_.data() + text_.size(), value);
    if (error != std::errc()) fail(whole_, "an index must be a whole number");
    at_ += static_cast<std::size_t>(end - start);
    if (!take(']')) fail(whole_, "a `]` is missing");
    return value;
  }

  std::string_view text_;
  const std::string& whole_;
  std::size_t at_ = 0;
};

RawNode empty_map() {
  RawNode node;
  node.kind = ConfigValue::Kind::map;
  node.origin = Origin::command_line();
  return node;
}

const char* kind_name(const RawNode& node) {
  switch (node.kind) {
    case ConfigValue::Kind::null:
      return "empty";
    case ConfigValue::Kind::scalar:
      return "a plain value";
    case ConfigValue::Kind::list:
      return "a list";
    case ConfigValue::Kind::map:
      return "a map";
  }
  return "";
}

std::string shown(const std::string& path) { return path.empty() ? "the configuration" : "`" + path + "`"; }

// The value that a step leads to; made when a map lacks it; null after an error.
RawNode* step_into(RawNode& node, const std::string& path, const Pending& pending, Diagnostics& diagnostics) {
  const Step& step = pending.step();
  const auto fail_here = [&](const std::string& message, const std::string& hint) {
    diagnostics.error(Origin::command_line(), {}, "override " + warploom::quoted(pending.what->text) + ": " + message,
                      hint);
    return nullptr;
  };
  if (step.index) {
    if (node.kind != ConfigValue::Kind::list) {
      return fail_here(shown(path) + " is " + kind_name(node) + ", not a list", "without an index: `a.b=value`");
    }
    if (*step.index >= node.items.size()) {
      return fail_here(fmt::format("{} has {} {}, there is no [{}]", shown(path), node.items.size(),
                                   node.items.size() == 1 ? "entry" : "entries", *step.index),
                       "entries are counted from 0");
    }
    return &node.items[*step.index];
  }
  if (node.kind != ConfigValue::Kind::map) {
    return fail_here(shown(path) + " is " + kind_name(node) + ", not a map with a key " + warploom::quoted(step.key),
                     node.kind == ConfigValue::Kind::list ? "say which entry: `a[0].b=value`" : "");
  }
  if (RawNode* found = node.find(step.key)) return found;
  node.entries.push_back({step.key, Origin::command_line(), {}});
  return &node.entries.back().value;
}

}  // namespace

Override parse_override(const std::string& text, Budget& budget) {
  PathParser parser(text, text);
  Override result{text, parser.parse(), {}};
  const Origin origin = Origin::command_line();
  budget.spend(1, text.size(), origin);
  try {
    result.value = parse_yaml(parser.rest(), origin.file(), budget, &origin);
  } catch (const UserError& error) {
    fail(text, error.message());
  }
  result.value.origin = origin;  // also of an empty value
  return result;
}

void apply_overrides(RawNode& node, const std::string& path, std::vector<Pending>& pending, Diagnostics& diagnostics) {
  std::vector<Pending> going_on;
  for (const Pending& p : pending) {
    RawNode* target = step_into(node, path, p, diagnostics);
    if (target == nullptr) continue;
    if (p.is_last()) {
      // A null removes the key, as `key: ~` beside a `use:` does.
      const bool was_there = target->kind != ConfigValue::Kind::null;
      *target = p.what->value;
      target->drops = was_there && target->kind == ConfigValue::Kind::null;
      for (RawEntry& entry : node.entries) {
        if (&entry.value == target) entry.origin = Origin::command_line();
      }
      // What was said before about the inside of this value is replaced with it.
      std::erase_if(going_on, [&](const Pending& earlier) {
        return earlier.step().key == p.step().key && earlier.step().index == p.step().index;
      });
      continue;
    }
    const bool wants_map = !p.what->steps[p.at + 1].index;
    if (target->kind == ConfigValue::Kind::null && wants_map) *target = empty_map();
    going_on.push_back(p);
  }
  pending = std::move(going_on);
}

std::vector<Pending> for_child(const std::vector<Pending>& pending, std::string_view key) {
  std::vector<Pending> result;
  for (const Pending& p : pending) {
    if (!p.step().index && p.step().key == key) result.push_back({p.what, p.at + 1});
  }
  return result;
}

std::vector<Pending> for_child(const std::vector<Pending>& pending, std::size_t index) {
  std::vector<Pending> result;
  for (const Pending& p : pending) {
    if (p.step().index == index) result.push_back({p.what, p.at + 1});
  }
  return result;
}

std::string child_path(const std::string& path, std::string_view key) {
  const bool is_plain = !key.empty() && key.find_first_of(".[]=\"` ") == std::string_view::npos;
  std::string name = is_plain ? std::string(key) : "\"" + std::string(key) + "\"";
  return path.empty() ? name : path + "." + name;
}

std::string child_path(const std::string& path, std::size_t index) { return fmt::format("{}[{}]", path, index); }

}  // namespace warploom::detail
