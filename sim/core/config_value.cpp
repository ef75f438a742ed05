// SPDX-License-Identifier: Apache-2.0
// YAML to our own tree, from yaml-cpp's parse events: the only file that sees yaml-cpp. Its document model is not used:
// it keeps repeated keys unseen, reads `010` as 8, does not merge `<<`, and aliases nodes.
#include "sim/core/config_value.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <map>
#include <streambuf>
#include <unordered_map>

#include "sim/core/config_node.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace detail {

namespace {

using Kind = ConfigValue::Kind;

// Reads from a string without copying it.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* start = const_cast<char*>(text.data());  // streambuf's interface; never written
    setg(start, start, start + text.size());
  }
};

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::shared_ptr<const std::string> name, Budget& budget, const Origin* at)
      : name_(std::move(name)), budget_(budget), at_(at) {}

  RawNode take() { return std::move(root_); }
  Origin origin(const YAML::Mark& mark) const {
    return at_ != nullptr ? *at_ : Origin(name_, mark.line + 1, mark.column + 1);
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnAnchor(const YAML::Mark&, const std::string&) override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (wants_key()) fail(mark, "a key must not be empty");
    add(make(Kind::null, mark), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    refuse_tag(mark, tag);
    if (wants_key()) {
      start_entry(mark, text);
      return;
    }
    RawNode node = make(Kind::scalar, mark);
    node.text = text;
    node.is_quoted = tag == "!";
    add(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (wants_key()) fail(mark, "a key must be a plain text, not an alias");
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) fail(mark, "this alias refers to the value that it is in");
    budget_.spend(it->second, origin(mark));
    if (frames_.size() + depth(it->second) > ConfigLimits::depth) fail_depth(mark);
    add(RawNode(it->second), YAML::NullAnchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(mark, tag, anchor, Kind::list);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    start(mark, tag, anchor, Kind::map);
  }
  void OnSequenceEnd() override { finish(); }
  void OnMapEnd() override { finish(); }

  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& message, const std::string& hint = {}) const {
    throw ConfigError(Diagnostic{origin(mark), Severity::error, {}, message, hint});
  }

 private:
  struct Frame {
    RawNode node;
    YAML::anchor_t anchor = YAML::NullAnchor;
    std::optional<RawEntry> pending;  // a map's key that waits for its value
    std::unordered_map<std::string, std::size_t> keys;
  };

  bool wants_key() const {
    return !frames_.empty() && frames_.back().node.kind == Kind::map && !frames_.back().pending;
  }

  RawNode make(Kind kind, const YAML::Mark& mark) {
    RawNode node;
    node.kind = kind;
    node.origin = origin(mark);
    return node;
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!") fail(mark, "tags are not supported, got " + warploom::quoted(tag));
  }

  [[noreturn]] void fail_depth(const YAML::Mark& mark) const {
    fail(mark, fmt::format("nested deeper than {} levels", ConfigLimits::depth));
  }

  static std::size_t depth(const RawNode& node) {
    std::size_t deepest = 0;
    for (const RawEntry& entry : node.entries) deepest = std::max(deepest, depth(entry.value));
    for (const RawNode& item : node.items) deepest = std::max(deepest, depth(item));
    return deepest + 1;
  }

  void start(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Kind kind) {
    refuse_tag(mark, tag);
    if (wants_key()) fail(mark, "a key must be a plain text, not a list or map", "is a bracket left open?");
    if (frames_.size() >= ConfigLimits::depth) fail_depth(mark);
    Frame frame;
    frame.node = make(kind, mark);
    frame.anchor = anchor;
    frames_.push_back(std::move(frame));
  }

  void start_entry(const YAML::Mark& mark, const std::string& key) {
    if (key.size() > ConfigLimits::key_bytes) {
      fail(mark, fmt::format("a key of {} bytes, at most {} are allowed", key.size(), ConfigLimits::key_bytes));
    }
    frames_.back().pending = RawEntry{key, origin(mark), {}};
  }

  void finish() {
    RawNode node = std::move(frames_.back().node);
    const YAML::anchor_t anchor = frames_.back().anchor;
    frames_.pop_back();
    add(std::move(node), anchor);
  }

  void add(RawNode node, YAML::anchor_t anchor) {
    budget_.spend(1, node.text.size(), node.origin);
    if (anchor != YAML::NullAnchor) {
      budget_.spend(node, node.origin);
      anchors_[anchor] = node;
    }
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.kind == Kind::list) {
      frame.node.items.push_back(std::move(node));
      return;
    }
    RawEntry entry = std::move(*frame.pending);
    frame.pending.reset();
    const auto [first, is_new] = frame.keys.emplace(entry.key, frame.node.entries.size());
    if (!is_new) {
      frame.node.repeats.push_back({entry.key, entry.origin, frame.node.entries[first->second].origin});
      return;
    }
    entry.value = std::move(node);
    frame.node.entries.push_back(std::move(entry));
  }

  std::shared_ptr<const std::string> name_;
  Budget& budget_;
  const Origin* at_;
  RawNode root_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, RawNode> anchors_;
};

// The place of the first byte that no text file has, or nothing.
std::optional<std::size_t> find_binary(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == 0 || (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r')) return i;
    std::size_t more = 0;
    if (byte >= 0x80) {
      more = byte >= 0xC2 && byte < 0xE0 ? 1 : byte >= 0xE0 && byte < 0xF0 ? 2 : byte >= 0xF0 && byte < 0xF5 ? 3 : 0;
      if (more == 0) return i;
    }
    if (i + more >= text.size() && more > 0) return i;
    for (std::size_t k = 1; k <= more; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return i;
    }
    i += more + 1;
  }
  return {};
}

void refuse_binary(std::string_view text, const std::string& name) {
  const auto at = find_binary(text);
  if (!at) return;
  const std::string_view before = text.substr(0, *at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const Origin origin(name, static_cast<int>(line), static_cast<int>(*at - start + 1));
  throw ConfigError(Diagnostic{
      origin,
      Severity::error,
      {},
      fmt::format("not a YAML text: byte 0x{:02x} is neither text nor UTF-8", static_cast<unsigned char>(text[*at])),
      "is this a binary file?"});
}

std::string line_of(std::string_view text, int line) {
  for (int i = 0; i < line; ++i) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return std::string(text.substr(0, text.find('\n')));
}

std::string syntax_hint(std::string_view text, int line) {
  const std::string bad = line_of(text, line);
  const std::size_t first = bad.find_first_not_of(' ');
  if (first != std::string::npos && bad[first] == '\t') return "indent with spaces, not tabs";
  return {};
}

}  // namespace

RawNode parse_yaml(std::string_view text, const std::string& name, Budget& budget, const Origin* at) {
  if (text.size() > ConfigLimits::file_bytes) {
    throw UserError(Origin(name, 0, 0),
                    fmt::format("larger than {} MiB: not a configuration", ConfigLimits::file_bytes >> 20));
  }
  refuse_binary(text, name);
  ViewBuffer buffer(text);
  std::istream stream(&buffer);
  TreeBuilder builder(std::make_shared<const std::string>(name), budget, at);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return {};
    TreeBuilder second(std::make_shared<const std::string>(name), budget, at);
    if (parser.HandleNextDocument(second)) {
      throw ConfigError(Diagnostic{second.take().origin,
                                   Severity::error,
                                   {},
                                   "a second YAML document begins here",
                                   "one configuration a file: remove the `---`"});
    }
  } catch (const YAML::Exception& error) {
    builder.fail(error.mark, "not valid YAML: " + error.msg, syntax_hint(text, error.mark.line));
  }
  return builder.take();
}

void Budget::spend(std::size_t nodes, std::size_t text_bytes, const Origin& origin) {
  nodes_ += nodes;
  text_bytes_ += text_bytes;
  if (nodes_ <= ConfigLimits::nodes && text_bytes_ <= ConfigLimits::text_bytes) return;
  throw TooLarge(Diagnostic{origin,
                            Severity::error,
                            {},
                            fmt::format("the configuration grows beyond {} values or {} MiB of text",
                                        ConfigLimits::nodes, ConfigLimits::text_bytes >> 20),
                            "aliases and `use:` copy what they name"});
}

void Budget::spend(const RawNode& copied, const Origin& origin) {
  spend(1, copied.text.size(), origin);
  for (const RawEntry& entry : copied.entries) spend(entry.value, origin);
  for (const RawNode& item : copied.items) spend(item, origin);
}

RawNode* RawNode::find(std::string_view key) {
  for (RawEntry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

}  // namespace detail

using detail::ConfigNode;

ConfigValue::ConfigValue() : node_(std::make_shared<const ConfigNode>()) {}
ConfigValue::ConfigValue(std::shared_ptr<const ConfigNode> node) : node_(std::move(node)) {}

ConfigValue::Kind ConfigValue::kind() const { return node_->kind; }
const Origin& ConfigValue::origin() const { return node_->origin; }
const std::string& ConfigValue::path() const { return node_->path; }
std::string ConfigValue::path_of(std::string_view key) const { return detail::child_path(node_->path, key); }
bool ConfigValue::is_quoted() const { return node_->is_quoted; }
std::span<const ConfigValue::Repeat> ConfigValue::repeats() const { return node_->repeats; }
bool ConfigValue::is_read() const { return node_->is_read.load(std::memory_order_relaxed); }
void ConfigValue::mark_read() const { node_->is_read.store(true, std::memory_order_relaxed); }

const std::string& ConfigValue::text() const {
  mark_read();
  return node_->text;
}

std::span<const ConfigValue> ConfigValue::items() const {
  mark_read();
  return node_->items;
}

std::span<const ConfigEntry> ConfigValue::entries() const {
  mark_read();
  return node_->entries;
}

std::optional<ConfigValue> ConfigValue::find(std::string_view key) const {
  mark_read();
  for (const ConfigEntry& entry : node_->entries) {
    if (entry.key == key) return entry.value;
  }
  return {};
}

ConfigValue ConfigValue::without(std::string_view key) const {
  mark_read();
  auto copy = std::make_shared<ConfigNode>();
  copy->kind = node_->kind;
  copy->text = node_->text;
  copy->is_quoted = node_->is_quoted;
  copy->origin = node_->origin;
  copy->path = node_->path;
  copy->items = node_->items;
  for (const ConfigEntry& entry : node_->entries) {
    if (entry.key != key) copy->entries.push_back(entry);
  }
  for (const Repeat& repeat : node_->repeats) copy->repeats.push_back(repeat);
  return ConfigValue(std::move(copy));
}

void ConfigValue::mark_all_read() const {
  mark_read();
  for (const ConfigEntry& entry : node_->entries) entry.value.mark_all_read();
  for (const ConfigValue& item : node_->items) item.mark_all_read();
}

std::string ConfigValue::description() const {
  switch (kind()) {
    case Kind::null:
      return "nothing";
    case Kind::scalar:
      return warploom::quoted(node_->text);
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a map";
  }
  return {};
}

}  // namespace warploom
