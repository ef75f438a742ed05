// SPDX-License-Identifier: Apache-2.0
// A configuration as a read-only tree: null, scalar text, list or map in file order; every value knows where it was
// written and its key path.
//
// `use:` in any map starts from a library entry (`clusters/dgx_h100`, `dgx_h100`) or a file (`./pod.yaml`, relative
// to the file that says so); the keys beside it override: maps merge, everything else is replaced, `key: ~` drops an
// inherited key. Overrides (`a.b[2].c=value`) come last; one of a `use` is applied before that `use` is followed.
// Keys that start with `x-` are the user's own notes: ignored everywhere, any content.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.hpp"
#include "sim/core/library.hpp"

namespace warploom {

struct ConfigEntry;

namespace detail {
struct ConfigNode;
}

class ConfigValue {
 public:
  enum class Kind { null, scalar, list, map };

  // A key that a map sets twice; the first one counts until the mistake is reported.
  struct Repeat {
    std::string key;
    Origin origin;
    Origin first;
  };

  ConfigValue();  // null, from nowhere
  explicit ConfigValue(std::shared_ptr<const detail::ConfigNode> node);

  Kind kind() const;
  bool is_null() const { return kind() == Kind::null; }
  bool is_scalar() const { return kind() == Kind::scalar; }
  bool is_list() const { return kind() == Kind::list; }
  bool is_map() const { return kind() == Kind::map; }

  const Origin& origin() const;
  const std::string& path() const;                  // `links[2].latency`; empty for the root
  std::string path_of(std::string_view key) const;  // the path that a key of this map has

  // The accessors of content mark the value as read, so that report_unread() finds what nobody asked for.
  const std::string& text() const;  // of a scalar, quotes removed; else empty
  bool is_quoted() const;
  std::span<const ConfigValue> items() const;                   // of a list; else empty
  std::span<const ConfigEntry> entries() const;                 // of a map; else empty
  std::span<const Repeat> repeats() const;                      // of a map
  std::optional<ConfigValue> find(std::string_view key) const;  // of a map; null values are found too
  ConfigValue without(std::string_view key) const;  // the same map without one key; paths and read marks are shared

  void mark_read() const;
  void mark_all_read() const;
  bool is_read() const;

  // "`700`", "a list", "a map", "nothing": for "expected X, got Y".
  std::string description() const;

 private:
  friend struct detail::ConfigNode;
  std::shared_ptr<const detail::ConfigNode> node_;
};

struct ConfigEntry {
  std::string key;
  Origin origin;  // of the key
  ConfigValue value;
};

// Reads a file (or, where there is no such file, the library entry of that name), follows `use:`, applies overrides.
// Throws ConfigError or UserError.
ConfigValue load_config(const std::string& path, const std::vector<std::string>& overrides = {},
                        const Library& library = Library::from_environment());

// The same for text in memory; `name` stands for the file in messages and for relative `use:`.
ConfigValue parse_config_text(std::string_view text, const std::string& name,
                              const std::vector<std::string>& overrides = {}, const Library& library = Library());

// 16 hex digits that change when a value does, and not with comments, key order, quotes, origins or `x-` keys.
std::string config_hash(const ConfigValue& resolved);

// The tree as YAML; each line ends with where it came from: `latency: 700 ns   # configs/pod.yaml:7`.
std::string explain(const ConfigValue& resolved);

// An error for every value that nothing has read.
void report_unread(const ConfigValue& root, Diagnostics& diagnostics);

// `x-...`: the user's own notes.
inline bool is_annotation(std::string_view key) { return key.starts_with("x-"); }

}  // namespace warploom
