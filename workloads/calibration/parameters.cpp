// SPDX-License-Identifier: Apache-2.0
// A constant's place is the origin of its value once `use:` has been followed.
#include "workloads/calibration/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

std::optional<ConfigValue> value_at(const ConfigValue& root, const std::string& path) {
  std::optional<ConfigValue> value = root;
  for (const std::string& key : split(path, '.')) {
    if (!value->is_map()) return {};
    value = value->find(key);
    if (!value) return {};
  }
  return value->is_scalar() ? value : std::nullopt;
}

// Where a file of the library has the constant if it uses it; empty: it is no user. An implementation's file
// (`moe/triton`) is used by the devices that run it, not by itself.
std::string path_of_user(const DeclaredConstant& constant, const std::string& file) {
  const bool is_implementation = constant.folder == "attention" || constant.folder == "moe";
  if (!is_implementation) return file.starts_with(constant.folder + "/") ? constant.path : "";
  return file.starts_with("devices/") ? fmt::format("architecture.{}.{}", constant.folder, constant.path) : "";
}

struct Place {
  const DeclaredConstant* declared;
  ConfigValue value;
};

std::vector<Place> places(ValidationContext& context, std::span<const DeclaredConstant> declared,
                          const std::string& kind, const std::string& file) {
  std::vector<Place> result;
  std::optional<ConfigValue> root;
  for (const DeclaredConstant& constant : declared) {
    if (constant.kind != kind || !file.starts_with(constant.folder + "/")) continue;
    if (!root) root = context.written_config(file);
    const auto value = value_at(*root, constant.path);
    if (!value || (constant.zero_is_off && constant_value(value->text(), constant) == 0)) continue;
    result.push_back({&constant, *value});
  }
  return result;
}

std::size_t root_of(std::vector<std::size_t>& parents, std::size_t i) {
  while (parents[i] != i) i = parents[i] = parents[parents[i]];
  return i;
}

}  // namespace

std::vector<std::vector<std::string>> files_that_share(ValidationContext& context,
                                                       std::span<const DeclaredConstant> declared,
                                                       const std::string& kind, const std::vector<std::string>& files) {
  std::vector<std::size_t> parents(files.size());
  std::iota(parents.begin(), parents.end(), 0);
  std::map<std::string, std::size_t> first;
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const Place& place : places(context, declared, kind, files[i])) {
      const auto [known, is_new] = first.emplace(place.value.origin().to_string(), i);
      if (!is_new) parents[root_of(parents, i)] = root_of(parents, known->second);
    }
  }
  std::map<std::size_t, std::vector<std::string>> parts;
  for (std::size_t i = 0; i < files.size(); ++i) parts[root_of(parents, i)].push_back(files[i]);
  std::vector<std::vector<std::string>> result;
  for (auto& [root, part] : parts) result.push_back(std::move(part));
  return result;
}

ParameterSet::ParameterSet(ValidationContext& context, std::span<const DeclaredConstant> declared,
                           const std::string& kind, const std::vector<std::string>& files)
    : context_(context), files_(files) {
  std::map<std::string, std::size_t> known;
  for (const std::string& file : files) {
    settled_.push_back(context.overrides(file));
    for (const Place& place : places(context, declared, kind, file)) {
      const auto [at, is_new] = known.emplace(place.value.origin().to_string(), parameters_.size());
      if (is_new) {
        const DeclaredConstant& constant = *place.declared;
        const double value = constant_value(place.value.text(), constant);
        if (value < constant.low || value > constant.high) {
          throw UserError(
              place.value.origin(),
              fmt::format("`{}` is {}, outside its physical range, {} to {}", constant.path, place.value.text(),
                          constant_text(constant.low, constant), constant_text(constant.high, constant)),
              "the range stands in " + constant.origin.to_string());
        }
        parameters_.push_back({&constant, place.value.origin(), place.value.text(), {}});
        ranges_.push_back({constant.low, constant.high, constant.choices});
        start_.push_back(value);
      }
      parameters_[at->second].files.push_back(file);
    }
  }
}

void ParameterSet::apply(const std::vector<double>& values) {
  for (std::size_t f = 0; f < files_.size(); ++f) {
    std::vector<std::string> overrides = settled_[f];
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Parameter& parameter = parameters_[i];
      if (std::find(parameter.files.begin(), parameter.files.end(), files_[f]) == parameter.files.end()) continue;
      const DeclaredConstant& constant = *parameter.declared;
      overrides.push_back(
          fmt::format("{}={:.9g}{}{}", constant.path, values[i], constant.unit.empty() ? "" : " ", constant.unit));
    }
    context_.set_overrides(files_[f], std::move(overrides));
  }
}

std::vector<double> ParameterSet::rounded(const std::vector<double>& values) const {
  std::vector<double> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    // What has not moved keeps the digits that it was written with.
    const bool has_moved = values[i] != start_[i];
    result.push_back(has_moved ? constant_value(constant_text(values[i], declared(i)), declared(i)) : values[i]);
  }
  return result;
}

std::vector<FittedConstant> ParameterSet::fitted(const std::vector<double>& values,
                                                 const std::vector<std::string>& sources) {
  // Who else of the library reaches the same places: siblings that were not measured.
  std::map<std::string, std::vector<std::string>> users;
  for (const LibraryEntry& entry : context_.library().entries()) {
    for (const Parameter& parameter : parameters_) {
      const std::string path = path_of_user(*parameter.declared, entry.name);
      if (path.empty()) continue;
      const auto value = value_at(context_.written_config(entry.name), path);
      if (value && value->origin() == parameter.written)
        users[parameter.written.to_string()].push_back(entry.name.substr(entry.name.find('/') + 1));
    }
  }
  std::vector<FittedConstant> result;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    FittedConstant constant;
    constant.declared = *parameters_[i].declared;
    constant.written = parameters_[i].written;
    constant.files = parameters_[i].files;
    constant.users = users[constant.written.to_string()];
    constant.sources = sources;
    constant.before = parameters_[i].before;
    constant.after = constant_text(values[i], constant.declared);
    if (values[i] == start_[i]) constant.after = constant.before;
    constant.value = values[i];
    constant.is_at_bound = constant.declared.choices.empty() &&
                           (constant.declared.is_at_low(values[i]) || constant.declared.is_at_high(values[i]));
    result.push_back(std::move(constant));
  }
  return result;
}

std::vector<FittedConstant> constants_in_library(ValidationContext& context) {
  const auto declared = declared_constants(context.library());
  const auto entries = context.library().entries();
  std::vector<FittedConstant> result;
  std::map<std::string, std::size_t> known;
  for (const DeclaredConstant& constant : declared) {
    for (const LibraryEntry& entry : entries) {
      if (!entry.name.starts_with(constant.folder + "/")) continue;
      const auto value = value_at(context.written_config(entry.name), constant.path);
      if (!value) continue;
      const auto [at, is_new] = known.emplace(constant.kind + value->origin().to_string(), result.size());
      if (is_new) {
        FittedConstant found;
        found.declared = constant;
        found.written = value->origin();
        found.before = found.after = value->text();
        found.value = constant_value(value->text(), constant);
        result.push_back(std::move(found));
      }
      result[at->second].files.push_back(entry.name);
    }
    for (const LibraryEntry& entry : entries) {
      const std::string path = path_of_user(constant, entry.name);
      const auto value = path.empty() ? std::nullopt : value_at(context.written_config(entry.name), path);
      if (!value) continue;
      const auto at = known.find(constant.kind + value->origin().to_string());
      if (at != known.end()) result[at->second].users.push_back(entry.name.substr(entry.name.find('/') + 1));
    }
  }
  return result;
}

}  // namespace warploom
