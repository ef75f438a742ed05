// SPDX-License-Identifier: Apache-2.0
// The keys of a model's config.json: checked as they are read, and remembered, so that what is left over can be listed.
#pragma once

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

class ModelKeys {
 public:
  using Json = nlohmann::json;

  // Both must outlive it.
  ModelKeys(const Json& json, const std::string& file) : json_(json), file_(file) {}

  [[noreturn]] void fail(std::string_view key, const std::string& message, std::string hint = {}) const {
    throw UserError(fmt::format("{}: `{}`: {}", file_, key, message), std::move(hint));
  }

  const Json* find(std::string_view key) {
    read_.emplace(key);
    const auto place = json_.find(key);
    return place == json_.end() || place->is_null() ? nullptr : &*place;
  }

  std::optional<std::int64_t> integer(std::string_view key, std::int64_t most) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number_integer()) fail(key, fmt::format("expected a whole number, got {}", shown(*value)));
    const bool fits = value->is_number_unsigned() ? value->get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                                                  : value->get<std::int64_t>() >= 1;
    if (!fits || value->get<std::int64_t>() < 1) {
      fail(key, fmt::format("expected 1 to {}, got {}", most, shown(*value)));
    }
    return value->get<std::int64_t>();
  }

  std::int64_t required(std::string_view key, std::int64_t most) {
    const auto value = integer(key, most);
    if (!value) fail(key, "is missing", "a model needs its layers, hidden size, heads, MLP width and vocabulary");
    return *value;
  }

  bool boolean(std::string_view key, bool otherwise) {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) fail(key, fmt::format("expected true or false, got {}", shown(*value)));
    return value->get<bool>();
  }

  double number(std::string_view key, double otherwise) {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_number()) fail(key, fmt::format("expected a number, got {}", shown(*value)));
    return value->get<double>();
  }

  std::string text(std::string_view key, std::string otherwise) {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_string()) fail(key, fmt::format("expected text, got {}", shown(*value)));
    return value->get<std::string>();
  }

  bool was_read(std::string_view key) const { return read_.contains(key); }

  std::vector<std::string> unread() const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : json_.items()) {
      if (!read_.contains(key)) keys.push_back(key);
    }
    return keys;
  }

  static std::string shown(const Json& value) {
    return warploom::quoted(value.dump(-1, ' ', true, Json::error_handler_t::replace));
  }

 private:
  const Json& json_;
  const std::string& file_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace warploom
