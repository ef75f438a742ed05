// SPDX-License-Identifier: Apache-2.0
// Reads the declarations; a range's unit is the constant's.
#include "workloads/calibration/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "sim/core/config.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

constexpr const char* declarations_name = "calibration/constants";

struct Declaration {
  std::string kind;
  std::string folder = "devices";
  std::string path;
  std::string low;
  std::string high;
  std::vector<double> choices;
  bool closed = false;
  bool zero_is_off = false;
  static auto fields() {
    return field_list(
        field("kind", &Declaration::kind, "kind of table that decides it, such as `gemm`"),
        field("folder", &Declaration::folder, "folder of the library that it is found from").optional(),
        field("path", &Declaration::path, "where it stands, seen from such a file"),
        field("low", &Declaration::low, "lowest value that is physical, with its unit").optional(),
        field("high", &Declaration::high, "highest value that is physical, with its unit").optional(),
        field("choices", &Declaration::choices, "the only values that make sense, in order").optional(),
        field("closed", &Declaration::closed, "its ends mean all or none, so that a fit may stay on them").optional(),
        field("zero_is_off", &Declaration::zero_is_off, "0 switches it off: such a file has nothing to fit of it")
            .optional());
  }
};

struct Declarations {
  std::vector<Declaration> constants;
  static auto fields() { return field_list(field("constants", &Declarations::constants, "what calibration may move")); }
};

struct NumberWithUnit {
  double value = 0;
  std::string unit;
};

std::optional<NumberWithUnit> number_with_unit(std::string_view text) {
  NumberWithUnit result;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result.value);
  if (error != std::errc() || !std::isfinite(result.value)) return {};
  result.unit = std::string(trim(text.substr(static_cast<std::size_t>(end - text.data()))));
  return result;
}

// Of a second or a joule.
std::optional<std::pair<double, char>> scale_of(std::string_view unit) {
  static constexpr std::pair<std::string_view, std::pair<double, char>> scales[] = {
      {"ps", {1e-12, 's'}}, {"ns", {1e-9, 's'}},  {"us", {1e-6, 's'}},
      {"ms", {1e-3, 's'}},  {"pJ", {1e-12, 'J'}}, {"nJ", {1e-9, 'J'}},
  };
  for (const auto& [name, scale] : scales) {
    if (unit == name) return scale;
  }
  return {};
}

DeclaredConstant declared(const Declaration& declaration, const ConfigValue& at, Diagnostics& diagnostics) {
  DeclaredConstant constant;
  constant.kind = declaration.kind;
  constant.folder = declaration.folder;
  constant.path = declaration.path;
  constant.choices = declaration.choices;
  constant.closed = declaration.closed || !declaration.choices.empty();
  constant.zero_is_off = declaration.zero_is_off;
  constant.origin = at.origin();
  if (!declaration.choices.empty()) {
    constant.low = declaration.choices.front();
    constant.high = declaration.choices.back();
    return constant;
  }
  const auto low = number_with_unit(declaration.low);
  const auto high = number_with_unit(declaration.high);
  if (!low || !high || low->unit != high->unit || !(low->value < high->value)) {
    diagnostics.error(at.origin(), at.path(), "expected `low` below `high` in one unit, or `choices`");
    return constant;
  }
  constant.low = low->value;
  constant.high = high->value;
  constant.unit = low->unit;
  return constant;
}

}  // namespace

std::vector<DeclaredConstant> declared_constants(const Library& library) {
  if (library.find(declarations_name).empty()) return {};
  const ConfigValue file = load_config(library.path_of(declarations_name), {}, library);
  Diagnostics diagnostics;
  const auto declarations = read<Declarations>(file, diagnostics);
  std::vector<DeclaredConstant> constants;
  if (!diagnostics.has_errors()) {
    const auto items = file.find("constants")->items();
    for (std::size_t i = 0; i < items.size(); ++i)
      constants.push_back(declared(declarations.constants[i], items[i], diagnostics));
  }
  diagnostics.throw_if_any();
  return constants;
}

std::string constant_text(double value, const DeclaredConstant& constant) {
  double rounded = value;
  if (value != 0 && constant.choices.empty()) {
    const double scale = std::pow(10.0, 2 - std::floor(std::log10(std::abs(value))));
    rounded = std::clamp(std::round(value * scale) / scale, constant.low, constant.high);
  }
  return fmt::format("{:.6g}{}{}", rounded, constant.unit.empty() ? "" : " ", constant.unit);
}

double constant_value(const std::string& text, const DeclaredConstant& constant) {
  const auto number = number_with_unit(text);
  if (number && number->unit == constant.unit) return number->value;
  // The same quantity with another prefix: `755 ns` where the range is in us.
  const auto from = number ? scale_of(number->unit) : std::nullopt;
  const auto to = scale_of(constant.unit);
  if (from && to && from->second == to->second) return number->value * (from->first / to->first);
  throw UserError(fmt::format("`{}`: expected a value{}{} as its range has it, got {}", constant.path,
                              constant.unit.empty() ? "" : " in ", constant.unit, warploom::quoted(text)));
}

}  // namespace warploom
