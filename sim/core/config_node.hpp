// SPDX-License-Identifier: Apache-2.0
// Internal to sim/core: the mutable tree that a configuration is built in, and the frozen one behind ConfigValue.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/config_value.hpp"

namespace warploom::detail {

struct RawEntry;

// While it is built; a copy is deep.
struct RawNode {
  ConfigValue::Kind kind = ConfigValue::Kind::null;
  std::string text;
  bool is_quoted = false;
  bool drops = false;  // a null that has covered an inherited key: removed when frozen
  Origin origin;
  std::vector<RawEntry> entries;
  std::vector<RawNode> items;
  std::vector<ConfigValue::Repeat> repeats;

  RawNode* find(std::string_view key);
};

struct RawEntry {
  std::string key;
  Origin origin;
  RawNode value;
};

// Frozen.
struct ConfigNode {
  ConfigValue::Kind kind = ConfigValue::Kind::null;
  std::string text;
  bool is_quoted = false;
  Origin origin;
  std::string path;
  std::vector<ConfigEntry> entries;
  std::vector<ConfigValue> items;
  std::vector<ConfigValue::Repeat> repeats;
  mutable std::atomic<bool> is_read = false;  // bookkeeping, not content

  static const ConfigNode& of(const ConfigValue& value) { return *value.node_; }
};

struct ConfigLimits {
  static constexpr std::size_t file_bytes = std::size_t{16} << 20;
  static constexpr std::size_t depth = 64;
  static constexpr std::size_t key_bytes = 200;  // YAML itself allows 1024 characters, escapes included
  static constexpr std::size_t nodes = 1'000'000;
  static constexpr std::size_t text_bytes = std::size_t{64} << 20;
};

// Thrown by Budget: no use in going on.
class TooLarge : public ConfigError {
 public:
  using ConfigError::ConfigError;
};

// What has been built so far in one load; aliases and `use:` copy, so that small files can ask for huge trees.
class Budget {
 public:
  void spend(std::size_t nodes, std::size_t text_bytes, const Origin& origin);
  void spend(const RawNode& copied, const Origin& origin);

 private:
  std::size_t nodes_ = 0;
  std::size_t text_bytes_ = 0;
};

// YAML to tree (the only user of yaml-cpp). With `at`, every value gets that origin (the command line).
RawNode parse_yaml(std::string_view text, const std::string& name, Budget& budget, const Origin* at = nullptr);

// `a.b`, with keys quoted that would not read back.
std::string child_path(const std::string& path, std::string_view key);
std::string child_path(const std::string& path, std::size_t index);

}  // namespace warploom::detail
