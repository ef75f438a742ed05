// SPDX-License-Identifier: Apache-2.0
// A parameter is declared once: reader, checks, error texts, JSON Schema and manual come from a struct's fields().
//
//   struct LinkSpec {
//     Time latency;
//     int lanes = 1;
//     static auto fields() {
//       return field_list(field("latency", &LinkSpec::latency, "time from first bit sent to first bit received"),
//                         field("lanes", &LinkSpec::lanes, "parallel lanes bonded into one link").optional().in(1,
//                         64));
//     }
//     static void check(const LinkSpec& link, const ConfigValue& at, Diagnostics& diagnostics);  // if wanted
//   };
//   const auto link = read<LinkSpec>(value, diagnostics);
//
// Members may be bool, integers, double, std::string, every quantity, enums with an EnumNames specialisation, structs
// with fields(), std::vector, std::optional and std::map<std::string, ...> of these, and ConfigValue for what a
// `kind:` decides later (report_unread finds what nobody then reads). Quantities are not negative unless a range says
// so. The default of an optional field is the member's initial value.
#pragma once

#include <tuple>

#include "sim/core/config_types.hpp"

namespace warploom {

// One declared field; ranges apply to the elements of lists, maps and optionals.
template <class Owner, class Member>
class Field {
 public:
  using Base = detail::BaseOf<Member>;
  using Value = std::conditional_t<detail::has_limits<Base>, Base, int>;

  Field(std::string name, Member Owner::* member, std::string meaning)
      : name_(std::move(name)), member_(member), meaning_(std::move(meaning)) {}

  Field optional() && { return is_optional_ = true, std::move(*this); }
  Field in(Value low, Value high) &&
    requires detail::has_limits<Base>
  {
    return limits_ = {low, high, false}, std::move(*this);
  }
  Field at_least(Value low) &&
    requires detail::has_limits<Base>
  {
    return limits_ = {low, limits_.high, false}, std::move(*this);
  }
  Field at_most(Value high) &&
    requires detail::has_limits<Base>
  {
    return limits_.high = high, std::move(*this);
  }
  Field positive() &&
    requires detail::has_limits<Base>
  {
    return limits_ = {Value{}, limits_.high, true}, std::move(*this);
  }

  detail::FieldInfo info() const {
    using Type = detail::ConfigType<Member>;
    detail::FieldInfo info;
    info.name = name_;
    info.meaning = meaning_;
    info.is_optional = is_optional_;
    info.type = Type::name();
    info.expected = Type::expected();
    info.range = detail::range_text<Base>(limits_);
    info.read = [member = member_, limits = limits_](const ConfigValue& value, void* owner, Diagnostics& diagnostics) {
      Type::read(value, static_cast<Owner*>(owner)->*member, limits, diagnostics);
    };
    info.show = [member = member_](const void* owner) { return Type::show(static_cast<const Owner*>(owner)->*member); };
    info.schema = [limits = limits_] { return Type::schema(limits); };
    info.nested = [member = member_](const void* owner) {
      return Type::nested(static_cast<const Owner*>(owner)->*member);
    };
    return info;
  }

 private:
  std::string name_;
  Member Owner::* member_;
  std::string meaning_;
  bool is_optional_ = detail::is_optional_type<Member>;
  detail::Limits<Base> limits_;
};

template <class Owner, class Member>
Field<Owner, Member> field(std::string name, Member Owner::* member, std::string meaning) {
  return {std::move(name), member, std::move(meaning)};
}

template <class... Fields>
auto field_list(Fields... fields) {
  return std::tuple<Fields...>(std::move(fields)...);
}

namespace detail {

template <class T>
const StructInfo& struct_info() {
  static const StructInfo info = [] {
    StructInfo made;
    std::apply([&](const auto&... fields) { (made.fields.push_back(fields.info()), ...); }, T::fields());
    if constexpr (requires(const T& t, const ConfigValue& v, Diagnostics& d) { T::check(t, v, d); }) {
      made.check = [](const void* owner, const ConfigValue& value, Diagnostics& diagnostics) {
        T::check(*static_cast<const T*>(owner), value, diagnostics);
      };
    }
    return made;
  }();
  return info;
}

}  // namespace detail

// Reads a whole value; every mistake in it goes to the diagnostics, and what is wrong keeps its default.
template <class T>
T read(const ConfigValue& value, Diagnostics& diagnostics) {
  T result{};
  detail::ConfigType<T>::read(value, result, {}, diagnostics);
  return result;
}

// The same for a value that is alone: throws ConfigError with all its mistakes.
template <class T>
T read(const ConfigValue& value) {
  Diagnostics diagnostics;
  T result = read<T>(value, diagnostics);
  diagnostics.throw_if_any();
  return result;
}

// JSON Schema (draft 2020-12) of a struct with fields(), for editors.
template <detail::Structure T>
std::string json_schema(const std::string& title = {}) {
  return detail::document_schema(detail::ConfigType<T>::schema({}), title);
}

// The fields as a Markdown table: name, type, default, range, meaning.
template <detail::Structure T>
std::string reference_markdown() {
  const T defaults{};
  return detail::reference_table(detail::struct_info<T>(), &defaults);
}

}  // namespace warploom
