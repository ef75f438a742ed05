// SPDX-License-Identifier: Apache-2.0
// The kinds of one thing: a plain list that can be read, searched and tested; `kind:` in a configuration picks one.
//
//   Registry<Topology> topologies;
//   topologies.add<Torus>("torus", "k-ary n-cube with dimension-order routing");
//   std::unique_ptr<Topology> topology = topologies.make(value, diagnostics);   // value: {kind: torus, dimensions:
//   ...}
//
// An implementation with parameters names them (`using Spec = TorusSpec;`, a struct with fields()) and is constructed
// from (const Spec&, args...); one without is constructed from (args...).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/config.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace detail {
// The kind that a value names: its `kind` key, or itself when it is a plain text. Empty after an error.
std::string kind_of(const ConfigValue& value, const std::vector<std::string>& known, Diagnostics& diagnostics);
// An error unless the map (its kind already taken out) is empty.
void expect_no_keys(const ConfigValue& value, const std::string& kind, Diagnostics& diagnostics);
// For `{kind: x, ...}`: the same without the kind; for plain `x`: an empty map.
ConfigValue body_of(const ConfigValue& value);
std::string kind_schema(const std::string& kind, const std::string& meaning, const std::string& schema);
std::string one_of_schema(const std::vector<std::string>& schemas);
}  // namespace detail

template <class Base, class... Args>
class Registry {
 public:
  struct Kind {
    std::string name;
    std::string meaning;
    std::string schema;     // JSON Schema of its parameters
    std::string reference;  // Markdown table of its parameters; empty when it has none
    std::function<std::unique_ptr<Base>(const ConfigValue& body, Diagnostics&, Args...)> make;
  };

  template <class Implementation>
  void add(std::string name, std::string meaning) {
    WARPLOOM_CHECK(find(name) == nullptr, "kind `{}` is added twice", name);
    Kind kind;
    kind.schema = R"({"type": "object"})";
    if constexpr (requires { typename Implementation::Spec; }) {
      using Spec = typename Implementation::Spec;
      kind.schema = detail::ConfigType<Spec>::schema({});
      kind.reference = reference_markdown<Spec>();
      kind.make = [](const ConfigValue& body, Diagnostics& diagnostics, Args... args) -> std::unique_ptr<Base> {
        const std::size_t before = diagnostics.error_count();
        const Spec spec = read<Spec>(body, diagnostics);
        if (diagnostics.error_count() != before) return nullptr;
        return std::make_unique<Implementation>(spec, std::forward<Args>(args)...);
      };
    } else {
      kind.make = [name](const ConfigValue& body, Diagnostics& diagnostics, Args... args) -> std::unique_ptr<Base> {
        const std::size_t before = diagnostics.error_count();
        detail::expect_no_keys(body, name, diagnostics);
        if (diagnostics.error_count() != before) return nullptr;
        return std::make_unique<Implementation>(std::forward<Args>(args)...);
      };
    }
    kind.name = std::move(name);
    kind.meaning = std::move(meaning);
    kinds_.push_back(std::move(kind));
  }

  // From `{kind: torus, ...}`, or plain `torus`; null after an error.
  std::unique_ptr<Base> make(const ConfigValue& value, Diagnostics& diagnostics, Args... args) const {
    const Kind* kind = find(detail::kind_of(value, names(), diagnostics));
    if (kind == nullptr) return nullptr;
    return kind->make(detail::body_of(value), diagnostics, std::forward<Args>(args)...);
  }

  // By name, with default parameters; throws UserError for a name that is not there.
  std::unique_ptr<Base> make_named(std::string_view name, Args... args) const {
    const Kind* kind = find(name);
    if (kind == nullptr) {
      throw UserError("expected one of " + join(names()) + ", got " + warploom::quoted(name),
                      suggestion(name, names()));
    }
    Diagnostics diagnostics;
    auto made = kind->make(detail::body_of(ConfigValue()), diagnostics, std::forward<Args>(args)...);
    diagnostics.throw_if_any();
    return made;
  }

  const std::vector<Kind>& kinds() const { return kinds_; }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const Kind& kind : kinds_) result.push_back(kind.name);
    return result;
  }

  const Kind* find(std::string_view name) const {
    for (const Kind& kind : kinds_) {
      if (kind.name == name) return &kind;
    }
    return nullptr;
  }

  // JSON Schema of a value that make() accepts.
  std::string json_schema() const {
    std::vector<std::string> schemas;
    for (const Kind& kind : kinds_) schemas.push_back(detail::kind_schema(kind.name, kind.meaning, kind.schema));
    return detail::one_of_schema(schemas);
  }

 private:
  std::vector<Kind> kinds_;
};

}  // namespace warploom
