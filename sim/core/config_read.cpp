// SPDX-License-Identifier: Apache-2.0
// Reading values by their declarations, and saying what is wrong with them.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/core/config_node.hpp"
#include "sim/core/config_types.hpp"
#include "sim/core/registry.hpp"
#include "sim/core/text.hpp"

namespace warploom::detail {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view without_sign(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return text;
}

// A plain decimal number, the same form as in quantities: no hex, no leading zeros or plus, no `_`, no `.5`.
std::optional<double> plain_number(std::string_view text) {
  const std::string_view digits = without_sign(text);
  if (digits.empty() || text.front() == '+' || !is_digit(digits.front()) || !is_digit(digits.back())) return {};
  if (digits.size() > 1 && digits[0] == '0' && is_digit(digits[1])) return {};
  const std::size_t point = digits.find('.');
  if (point != std::string_view::npos && (point + 1 >= digits.size() || !is_digit(digits[point + 1]))) return {};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

// What to do about a text that was meant as a number.
std::string number_hint(const ConfigValue& value, bool is_whole) {
  const std::string& text = value.text();
  if (value.is_quoted() && (is_whole ? !text.empty() : plain_number(text).has_value())) return "remove the quotes";
  const std::string_view digits = without_sign(text);
  const bool is_all_digits = !digits.empty() && std::all_of(digits.begin(), digits.end(), is_digit);
  if (is_all_digits && digits.size() > 1 && digits.front() == '0') {
    const std::size_t first = std::min(digits.find_first_not_of('0'), digits.size() - 1);
    return fmt::format("no leading zeros (some read this as octal): write {}", digits.substr(first));
  }
  if (is_all_digits && text.front() == '+') return fmt::format("without the plus: {}", digits);
  if (is_all_digits) return "this does not fit into 64 bits";
  std::string bare;
  std::copy_if(text.begin(), text.end(), std::back_inserter(bare), [](char c) { return c != '_' && c != ','; });
  if (bare != text && plain_number(bare)) return fmt::format("no separators in numbers: write {}", bare);
  if (!is_whole) return {};
  const auto number = plain_number(text);
  if (number && std::abs(*number) < 9e15 && *number == std::round(*number)) {
    return fmt::format("write it out in decimal digits: {}", static_cast<std::int64_t>(*number));
  }
  return {};
}

// What to do about a text that was meant as a quantity.
std::string unit_hint(const std::string& text, std::string_view units) {
  if (plain_number(text)) return fmt::format("add a unit: {}", units);
  const std::size_t unit_at = std::min(text.find_last_of("0123456789 "), text.size() - 1) + 1;
  const std::string number(trim(std::string_view(text).substr(0, unit_at)));
  const std::string unit = text.substr(std::min(unit_at, text.size()));
  if (!plain_number(number)) return fmt::format("write a decimal number and a unit: {}", units);
  // "B, kB, ... (powers of 1000), KiB": the names are what is not in parentheses.
  std::vector<std::string> names;
  for (const std::string& part : split(units, ','))
    names.emplace_back(trim(std::string_view(part).substr(0, part.find('('))));
  if (const auto near = nearest_name(unit, names); near && *near != unit) {
    return fmt::format("did you mean `{} {}`? units: {}", number, *near, units);
  }
  return fmt::format("units: {}", units);
}

std::string known_keys(const std::vector<std::string>& names) {
  constexpr std::size_t most = 12;
  if (names.empty()) return "no keys are known here";
  std::vector<std::string> shown(names.begin(),
                                 names.begin() + static_cast<std::ptrdiff_t>(std::min(most, names.size())));
  return "known keys: " + join(shown) + (names.size() > most ? ", ..." : "");
}

void unknown_key(const ConfigValue& map, const ConfigEntry& entry, const std::vector<std::string>& names,
                 Diagnostics& diagnostics) {
  std::string hint = suggestion(entry.key, names, known_keys(names));
  if (entry.key == "<<") hint = "YAML's merge key is not supported: start from another file with `use:`";
  const bool is_inherited = entry.origin.file() != map.origin().file() && !entry.origin.is_command_line();
  if (is_inherited) hint += fmt::format("; it is inherited: `{}: ~` drops it", entry.key);
  diagnostics.error(entry.origin, map.path_of(entry.key), "unknown key", hint);
  entry.value.mark_all_read();  // one complaint is enough
}

void repeated_keys(const ConfigValue& map, Diagnostics& diagnostics) {
  for (const ConfigValue::Repeat& repeat : map.repeats()) {
    if (is_annotation(repeat.key)) continue;
    diagnostics.error(repeat.origin, map.path_of(repeat.key),
                      fmt::format("repeated key, first set at {}", repeat.first.to_string()), "remove one of the two");
  }
}

std::string missing_hint(const FieldInfo& field) {
  return field.meaning.empty() ? std::string() : field.name + ": " + field.meaning;
}

}  // namespace

std::vector<std::string> StructInfo::names() const {
  std::vector<std::string> result;
  for (const FieldInfo& field : fields) result.push_back(field.name);
  return result;
}

void wrong_type(const ConfigValue& value, const std::string& expected, Diagnostics& diagnostics, std::string hint) {
  diagnostics.error(value.origin(), value.path(), fmt::format("expected {}, got {}", expected, value.description()),
                    std::move(hint));
  value.mark_all_read();
}

std::optional<bool> read_bool(const ConfigValue& value, Diagnostics& diagnostics) {
  const std::string& text = value.text();
  if (value.is_scalar() && !value.is_quoted() && (text == "true" || text == "false")) return text == "true";
  std::string hint;
  if (value.is_scalar()) {
    const std::string lower = to_lower(text);
    if (value.is_quoted() && (text == "true" || text == "false")) {
      hint = "remove the quotes";
    } else if (lower == "true" || lower == "yes" || lower == "on" || lower == "y" || lower == "1") {
      hint = "write true";
    } else if (lower == "false" || lower == "no" || lower == "off" || lower == "n" || lower == "0") {
      hint = "write false";
    }
  }
  wrong_type(value, ConfigType<bool>::expected(), diagnostics, hint);
  return {};
}

std::optional<std::int64_t> read_integer(const ConfigValue& value, Diagnostics& diagnostics) {
  const std::string& text = value.text();
  const std::string_view digits = without_sign(text);
  const bool is_plain = value.is_scalar() && !value.is_quoted() && !digits.empty() && text.front() != '+' &&
                        std::all_of(digits.begin(), digits.end(), is_digit) &&
                        (digits.size() == 1 || digits.front() != '0');
  std::int64_t result = 0;
  if (is_plain) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (error == std::errc()) return result;
  }
  wrong_type(value, ConfigType<std::int64_t>::expected(), diagnostics,
             value.is_scalar() ? number_hint(value, true) : std::string());
  return {};
}

std::optional<double> read_number(const ConfigValue& value, Diagnostics& diagnostics) {
  if (value.is_scalar() && !value.is_quoted()) {
    if (const auto number = plain_number(value.text())) return number;
  }
  wrong_type(value, ConfigType<double>::expected(), diagnostics,
             value.is_scalar() ? number_hint(value, false) : std::string());
  return {};
}

std::optional<std::string> read_text(const ConfigValue& value, Diagnostics& diagnostics) {
  if (value.is_scalar()) return value.text();
  wrong_type(value, ConfigType<std::string>::expected(), diagnostics);
  return {};
}

std::optional<std::size_t> read_choice(const ConfigValue& value, const std::vector<std::string>& names,
                                       Diagnostics& diagnostics) {
  if (value.is_scalar()) {
    const auto it = std::find(names.begin(), names.end(), value.text());
    if (it != names.end()) return static_cast<std::size_t>(it - names.begin());
  }
  std::vector<std::string> shown;
  for (const std::string& name : names) shown.push_back("`" + name + "`");
  wrong_type(value, "one of " + join(shown), diagnostics,
             value.is_scalar() ? suggestion(value.text(), names) : std::string());
  return {};
}

template <Quantity Q>
std::optional<Q> read_quantity(const ConfigValue& value, Diagnostics& diagnostics) {
  if (value.is_scalar()) {
    if (const auto quantity = parse_quantity<Q>(value.text())) return quantity;
  }
  std::string hint;
  if (value.is_scalar() && !value.text().empty()) {
    hint = unit_hint(value.text(), quantity_units<Q>());
    // The form is right, so it is the size that does not fit.
    if (looks_like_quantity<Q>(value.text())) hint = "this does not fit: too large, or too small to be told from 0";
  }
  wrong_type(value, ConfigType<Q>::expected(), diagnostics, hint);
  return {};
}
template std::optional<Time> read_quantity<Time>(const ConfigValue&, Diagnostics&);
template std::optional<Bytes> read_quantity<Bytes>(const ConfigValue&, Diagnostics&);
template std::optional<Flops> read_quantity<Flops>(const ConfigValue&, Diagnostics&);
template std::optional<Bandwidth> read_quantity<Bandwidth>(const ConfigValue&, Diagnostics&);
template std::optional<FlopRate> read_quantity<FlopRate>(const ConfigValue&, Diagnostics&);
template std::optional<Frequency> read_quantity<Frequency>(const ConfigValue&, Diagnostics&);
template std::optional<Power> read_quantity<Power>(const ConfigValue&, Diagnostics&);
template std::optional<Energy> read_quantity<Energy>(const ConfigValue&, Diagnostics&);
template std::optional<Cycles> read_quantity<Cycles>(const ConfigValue&, Diagnostics&);

void read_struct(const ConfigValue& value, const StructInfo& info, void* owner, Diagnostics& diagnostics) {
  const std::vector<std::string> names = info.names();
  if (!value.is_map()) {
    wrong_type(value, "a map", diagnostics, known_keys(names));
    return;
  }
  const std::size_t before = diagnostics.error_count();
  repeated_keys(value, diagnostics);
  for (const ConfigEntry& entry : value.entries()) {
    if (is_annotation(entry.key)) continue;
    if (std::find(names.begin(), names.end(), entry.key) == names.end()) unknown_key(value, entry, names, diagnostics);
  }
  for (const FieldInfo& field : info.fields) {
    const std::optional<ConfigValue> found = value.find(field.name);
    if (found && !found->is_null()) {
      field.read(*found, owner, diagnostics);
      continue;
    }
    if (found) found->mark_read();
    if (field.is_optional) continue;
    diagnostics.error(found ? found->origin() : value.origin(), value.path_of(field.name),
                      fmt::format("missing, expected {}", field.expected), missing_hint(field));
  }
  if (info.check && diagnostics.error_count() == before) info.check(owner, value, diagnostics);
}

bool expect_list(const ConfigValue& value, const std::string& elements, Diagnostics& diagnostics) {
  if (value.is_list()) return true;
  wrong_type(value, "a list, each " + elements, diagnostics, value.is_scalar() ? "write [" + value.text() + "]" : "");
  return false;
}

bool expect_map(const ConfigValue& value, const std::string& elements, Diagnostics& diagnostics) {
  if (value.is_map()) {
    repeated_keys(value, diagnostics);
    return true;
  }
  wrong_type(value, "a map, each " + elements, diagnostics);
  return false;
}

void out_of_range(const ConfigValue& value, const std::string& noun, const std::string& range,
                  Diagnostics& diagnostics) {
  diagnostics.error(value.origin(), value.path(),
                    fmt::format("expected {} {}, got {}", noun, range, value.description()));
}

std::string range_in_words(const std::string& low, const std::string& high, bool above) {
  if (low.empty() && high.empty()) return {};
  if (high.empty()) return (above ? "above " : "of at least ") + low;
  if (low.empty()) return "of at most " + high;
  return above ? "above " + low + " and at most " + high : "from " + low + " to " + high;
}

std::string kind_of(const ConfigValue& value, const std::vector<std::string>& known, Diagnostics& diagnostics) {
  ConfigValue kind = value;
  if (value.is_map()) {
    const auto found = value.find("kind");
    if (!found || found->is_null()) {
      std::vector<std::string> shown;
      for (const std::string& name : known) shown.push_back("`" + name + "`");
      diagnostics.error(value.origin(), value.path_of("kind"), "missing, expected one of " + join(shown));
      value.mark_all_read();
      return {};
    }
    kind = *found;
  }
  const auto index = read_choice(kind, known, diagnostics);
  if (index) return known[*index];
  value.mark_all_read();
  return {};
}

void expect_no_keys(const ConfigValue& value, const std::string& kind, Diagnostics& diagnostics) {
  repeated_keys(value, diagnostics);
  for (const ConfigEntry& entry : value.entries()) {
    if (is_annotation(entry.key)) continue;
    diagnostics.error(entry.origin, value.path_of(entry.key), "unknown key", "`" + kind + "` has no parameters");
    entry.value.mark_all_read();
  }
}

ConfigValue body_of(const ConfigValue& value) {
  if (value.is_map()) return value.without("kind");
  auto body = std::make_shared<ConfigNode>();
  body->kind = ConfigValue::Kind::map;
  body->origin = value.origin();
  body->path = value.path();
  return ConfigValue(std::move(body));
}

}  // namespace warploom::detail
