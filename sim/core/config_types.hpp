// SPDX-License-Identifier: Apache-2.0
// How each type of member is read, shown and described: the machinery behind config.hpp.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/core/config_value.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/units.hpp"

namespace warploom {

// The names of an enum's values in configurations:
//   template <> struct EnumNames<Recompute> {
//     static constexpr std::pair<Recompute, std::string_view> values[] = {{Recompute::none, "none"}, ...};
//   };
template <class E>
struct EnumNames;

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires { EnumNames<E>::values; };

template <NamedEnum E>
std::string enum_name(E value) {
  for (const auto& [candidate, name] : EnumNames<E>::values) {
    if (candidate == value) return std::string(name);
  }
  return "?";
}

template <NamedEnum E>
std::optional<E> enum_from_name(std::string_view text) {
  for (const auto& [candidate, name] : EnumNames<E>::values) {
    if (name == text) return candidate;
  }
  return {};
}

namespace detail {

template <class T>
concept Structure = requires { T::fields(); };

// A range; `above` excludes the lower end.
template <class T>
struct Limits {
  std::optional<T> low;
  std::optional<T> high;
  bool above = false;
};

struct StructInfo;

// The struct inside a member (of a list, map, optional), for the manual.
struct Nested {
  const StructInfo* info = nullptr;
  std::string suffix;  // `[]` for lists, `.*` for maps
  std::shared_ptr<const void> defaults;
};

// A field with the types of owner and member erased.
struct FieldInfo {
  std::string name;
  std::string meaning;
  bool is_optional = false;
  std::string type;      // "time"
  std::string expected;  // "a time such as `700 ns`"
  std::string range;     // "1 to 64"
  std::function<void(const ConfigValue&, void* owner, Diagnostics&)> read;
  std::function<std::string(const void* owner)> show;
  std::function<std::string()> schema;
  std::function<Nested(const void* owner)> nested;
};

struct StructInfo {
  std::vector<FieldInfo> fields;
  std::function<void(const void* owner, const ConfigValue&, Diagnostics&)> check;

  std::vector<std::string> names() const;
};

template <class T>
const StructInfo& struct_info();

// The parts that need no templates (config_read.cpp, config_describe.cpp).
void wrong_type(const ConfigValue& value, const std::string& expected, Diagnostics& diagnostics, std::string hint = {});
std::optional<bool> read_bool(const ConfigValue& value, Diagnostics& diagnostics);
std::optional<std::int64_t> read_integer(const ConfigValue& value, Diagnostics& diagnostics);
std::optional<double> read_number(const ConfigValue& value, Diagnostics& diagnostics);
std::optional<std::string> read_text(const ConfigValue& value, Diagnostics& diagnostics);
std::optional<std::size_t> read_choice(const ConfigValue& value, const std::vector<std::string>& names,
                                       Diagnostics& diagnostics);
template <Quantity Q>
std::optional<Q> read_quantity(const ConfigValue& value, Diagnostics& diagnostics);
void read_struct(const ConfigValue& value, const StructInfo& info, void* owner, Diagnostics& diagnostics);
bool expect_list(const ConfigValue& value, const std::string& elements, Diagnostics& diagnostics);
bool expect_map(const ConfigValue& value, const std::string& elements, Diagnostics& diagnostics);
void out_of_range(const ConfigValue& value, const std::string& noun, const std::string& range,
                  Diagnostics& diagnostics);
std::string range_in_words(const std::string& low, const std::string& high, bool above);  // "from 1 to 64"

std::string struct_schema(const StructInfo& info);
std::string number_schema(const char* type, const std::string& low, const std::string& high, bool above);
std::string quantity_schema(const std::string& pattern, std::string_view name, std::string_view example,
                            const std::string& range);
std::string choice_schema(const std::vector<std::string>& names);
std::string document_schema(const std::string& schema, const std::string& title);
std::string reference_table(const StructInfo& info, const void* defaults);
std::string show_text(const std::string& text);
std::string without_article(std::string_view noun);

// What a range is about: the element of lists, maps and optionals.
template <class T>
struct BaseOfType {
  using type = T;
};
template <class T>
struct BaseOfType<std::optional<T>> : BaseOfType<T> {};
template <class T>
struct BaseOfType<std::vector<T>> : BaseOfType<T> {};
template <class T>
struct BaseOfType<std::map<std::string, T>> : BaseOfType<T> {};
template <class T>
using BaseOf = typename BaseOfType<T>::type;

template <class T>
inline constexpr bool has_limits = Number<T> || Quantity<T>;
template <class T>
inline constexpr bool is_optional_type = false;
template <class T>
inline constexpr bool is_optional_type<std::optional<T>> = true;

template <class T>
struct ConfigType;

template <class T>
std::string range_text(const Limits<T>& limits) {
  if constexpr (has_limits<T>) {
    const auto show = [](const std::optional<T>& end) { return end ? ConfigType<T>::show(*end) : std::string(); };
    return range_in_words(show(limits.low), show(limits.high), limits.above);
  } else {
    return {};
  }
}

// Stores a value that lies in its range; reports one that does not.
template <class T>
void store(const ConfigValue& value, const std::optional<T>& got, T& out, Limits<T> limits, std::string_view noun,
           Diagnostics& diagnostics) {
  if (!got) return;
  if (Quantity<T> && !limits.low) limits.low = T{};
  const bool is_low = limits.low && (limits.above ? *got <= *limits.low : *got < *limits.low);
  const bool is_high = limits.high && *got > *limits.high;
  if (is_low || is_high) {
    out_of_range(value, std::string(noun), range_text(limits), diagnostics);
  } else {
    out = *got;
  }
}

// What the simple types have in common: no struct inside.
struct Plain {
  template <class T>
  static Nested nested(const T&) {
    return {};
  }
};

template <>
struct ConfigType<bool> : Plain {
  static std::string name() { return "boolean"; }
  static std::string expected() { return "`true` or `false`"; }
  static void read(const ConfigValue& value, bool& out, const Limits<bool>&, Diagnostics& diagnostics) {
    if (const auto got = read_bool(value, diagnostics)) out = *got;
  }
  static std::string show(bool b) { return b ? "true" : "false"; }
  static std::string schema(const Limits<bool>&) { return R"({"type": "boolean"})"; }
};

template <Integer N>
struct ConfigType<N> : Plain {
  static std::string name() { return "whole number"; }
  static std::string expected() { return "a whole number such as `8`"; }
  static void read(const ConfigValue& value, N& out, Limits<N> limits, Diagnostics& diagnostics) {
    const auto got = read_integer(value, diagnostics);
    if (!got) return;
    if (!std::in_range<N>(*got)) {
      if (!limits.low) limits.low = std::numeric_limits<N>::min();
      if (!limits.high) limits.high = std::numeric_limits<N>::max();
      out_of_range(value, "a whole number", range_text(limits), diagnostics);
      return;
    }
    store<N>(value, static_cast<N>(*got), out, limits, "a whole number", diagnostics);
  }
  static std::string show(N n) { return std::to_string(n); }
  static std::string schema(const Limits<N>& limits) {
    return number_schema("integer", limits.low ? show(*limits.low) : "", limits.high ? show(*limits.high) : "",
                         limits.above);
  }
};

template <>
struct ConfigType<double> : Plain {
  static std::string name() { return "number"; }
  static std::string expected() { return "a number such as `0.85`"; }
  static void read(const ConfigValue& value, double& out, const Limits<double>& limits, Diagnostics& diagnostics) {
    store<double>(value, read_number(value, diagnostics), out, limits, "a number", diagnostics);
  }
  static std::string show(double x) { return fmt::format("{}", x); }
  static std::string schema(const Limits<double>& limits) {
    return number_schema("number", limits.low ? show(*limits.low) : "", limits.high ? show(*limits.high) : "",
                         limits.above);
  }
};

template <>
struct ConfigType<std::string> : Plain {
  static std::string name() { return "text"; }
  static std::string expected() { return "a text"; }
  static void read(const ConfigValue& value, std::string& out, const Limits<std::string>&, Diagnostics& diagnostics) {
    if (auto got = read_text(value, diagnostics)) out = std::move(*got);
  }
  static std::string show(const std::string& text) { return show_text(text); }
  static std::string schema(const Limits<std::string>&) { return R"({"type": ["string", "number", "boolean"]})"; }
};

template <Quantity Q>
struct ConfigType<Q> : Plain {
  static std::string name() { return without_article(quantity_name<Q>()); }
  static std::string expected() { return fmt::format("{} such as `{}`", quantity_name<Q>(), quantity_example<Q>()); }
  static void read(const ConfigValue& value, Q& out, const Limits<Q>& limits, Diagnostics& diagnostics) {
    store<Q>(value, read_quantity<Q>(value, diagnostics), out, limits, quantity_name<Q>(), diagnostics);
  }
  static std::string show(Q quantity) { return exact_string(quantity); }
  static std::string schema(const Limits<Q>& limits) {
    return quantity_schema(quantity_pattern<Q>(), quantity_name<Q>(), quantity_example<Q>(), range_text(limits));
  }
};

template <NamedEnum E>
struct ConfigType<E> : Plain {
  static std::vector<std::string> names() {
    std::vector<std::string> result;
    for (const auto& [value, name] : EnumNames<E>::values) result.emplace_back(name);
    return result;
  }
  static std::string name() {
    std::string text;
    for (const std::string& name : names()) text += (text.empty() ? "`" : ", `") + name + "`";
    return text;
  }
  static std::string expected() { return "one of " + name(); }
  static void read(const ConfigValue& value, E& out, const Limits<E>&, Diagnostics& diagnostics) {
    if (const auto index = read_choice(value, names(), diagnostics))
      out = std::begin(EnumNames<E>::values)[*index].first;
  }
  static std::string show(E value) { return enum_name(value); }
  static std::string schema(const Limits<E>&) { return choice_schema(names()); }
};

template <Structure T>
struct ConfigType<T> {
  static std::string name() { return "map"; }
  static std::string expected() { return "a map"; }
  static void read(const ConfigValue& value, T& out, const Limits<T>&, Diagnostics& diagnostics) {
    read_struct(value, struct_info<T>(), &out, diagnostics);
  }
  static std::string show(const T&) { return {}; }
  static std::string schema(const Limits<T>&) { return struct_schema(struct_info<T>()); }
  static Nested nested(const T& value) { return {&struct_info<T>(), "", std::make_shared<const T>(value)}; }
};

// Left for whoever dispatches on it; not marked as read.
template <>
struct ConfigType<ConfigValue> : Plain {
  static std::string name() { return "any"; }
  static std::string expected() { return "a value"; }
  static void read(const ConfigValue& value, ConfigValue& out, const Limits<ConfigValue>&, Diagnostics&) {
    out = value;
  }
  static std::string show(const ConfigValue&) { return {}; }
  static std::string schema(const Limits<ConfigValue>&) { return "{}"; }
};

template <class T>
struct ConfigType<std::optional<T>> {
  using Element = ConfigType<T>;
  static std::string name() { return Element::name(); }
  static std::string expected() { return Element::expected(); }
  static void read(const ConfigValue& value, std::optional<T>& out, const Limits<BaseOf<T>>& limits,
                   Diagnostics& diagnostics) {
    T element{};
    const std::size_t before = diagnostics.error_count();
    Element::read(value, element, limits, diagnostics);
    if (diagnostics.error_count() == before) out = std::move(element);
  }
  static std::string show(const std::optional<T>& value) { return value ? Element::show(*value) : "none"; }
  static std::string schema(const Limits<BaseOf<T>>& limits) { return Element::schema(limits); }
  static Nested nested(const std::optional<T>& value) { return Element::nested(value ? *value : T{}); }
};

template <class T>
struct ConfigType<std::vector<T>> {
  using Element = ConfigType<T>;
  static std::string name() { return "list of " + Element::name(); }
  static std::string expected() { return "a list, each " + Element::expected(); }
  static void read(const ConfigValue& value, std::vector<T>& out, const Limits<BaseOf<T>>& limits,
                   Diagnostics& diagnostics) {
    if (!expect_list(value, Element::expected(), diagnostics)) return;
    out.clear();
    for (const ConfigValue& item : value.items()) {
      T element{};
      Element::read(item, element, limits, diagnostics);
      out.push_back(std::move(element));
    }
  }
  static std::string show(const std::vector<T>& values) {
    std::string text;
    for (const auto& value : values) text += (text.empty() ? "" : ", ") + Element::show(value);
    return "[" + text + "]";
  }
  static std::string schema(const Limits<BaseOf<T>>& limits) {
    return R"({"type": "array", "items": )" + Element::schema(limits) + "}";
  }
  static Nested nested(const std::vector<T>&) {
    Nested inner = Element::nested(T{});
    inner.suffix = "[]" + inner.suffix;
    return inner;
  }
};

template <class T>
struct ConfigType<std::map<std::string, T>> {
  using Element = ConfigType<T>;
  static std::string name() { return "map of " + Element::name(); }
  static std::string expected() { return "a map, each " + Element::expected(); }
  static void read(const ConfigValue& value, std::map<std::string, T>& out, const Limits<BaseOf<T>>& limits,
                   Diagnostics& diagnostics) {
    if (!expect_map(value, Element::expected(), diagnostics)) return;
    out.clear();
    for (const ConfigEntry& entry : value.entries()) {
      if (is_annotation(entry.key)) continue;
      Element::read(entry.value, out[entry.key], limits, diagnostics);
    }
  }
  static std::string show(const std::map<std::string, T>& values) {
    std::string text;
    for (const auto& [key, value] : values) text += (text.empty() ? "" : ", ") + key + ": " + Element::show(value);
    return "{" + text + "}";
  }
  static std::string schema(const Limits<BaseOf<T>>& limits) {
    return R"({"type": "object", "additionalProperties": )" + Element::schema(limits) + "}";
  }
  static Nested nested(const std::map<std::string, T>&) {
    Nested inner = Element::nested(T{});
    inner.suffix = ".*" + inner.suffix;
    return inner;
  }
};

}  // namespace detail

}  // namespace warploom
