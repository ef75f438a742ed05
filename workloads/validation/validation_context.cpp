// SPDX-License-Identifier: Apache-2.0
// Finds devices by name, reads each once.
#include "workloads/validation/validation_context.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/device_lookup.hpp"

namespace warploom {

ValidationContext::ValidationContext(Library library)
    : library_(std::move(library)), lookup_(std::make_unique<DeviceLookup>(library_)) {}

ValidationContext::~ValidationContext() = default;

std::string ValidationContext::canonical_device(std::string_view name) {
  const auto known = canonical_.find(std::string(name));
  if (known != canonical_.end()) return known->second;
  return canonical_[std::string(name)] = lookup_->canonical_name(name).value_or("");
}

const FoundDevice& ValidationContext::device(std::string_view name) {
  const std::string canonical = canonical_device(name);
  if (canonical.empty()) throw UserError(fmt::format("no file describes the device {}", warploom::quoted(name)));
  std::shared_ptr<const FoundDevice>& device = devices_[canonical];
  if (!device) {
    const std::string name = "devices/" + canonical;
    FoundDevice found = load_device(path_of(name), overrides(name), library_);
    found.name = canonical;
    found.model = model_;
    if (model_ == KernelModel::detailed) {
      found.cache = cache_;
      if (cache_) found.key = device_key(found.spec);
    }
    device = std::make_shared<const FoundDevice>(std::move(found));
  }
  return *device;
}

std::string ValidationContext::use_device_file(const std::string& path) {
  const FoundDevice found = load_device(path, {}, library_);
  const std::string own = std::filesystem::path(path).stem().string();
  std::string name = canonical_device(own);
  // A file that starts from a device of the library shares its aliases, so that its rows are the user's.
  for (const std::string& alias : found.spec.aliases) {
    if (name.empty()) name = canonical_device(alias);
  }
  if (name.empty()) name = own;
  canonical_[own] = name;
  canonical_[name] = name;
  for (const std::string& alias : found.spec.aliases) canonical_[alias] = name;
  own_devices_[name] = path;
  devices_.erase(name);
  return name;
}

std::string ValidationContext::shown_device(const std::string& canonical) const {
  const auto own = own_devices_.find(canonical);
  return own == own_devices_.end() ? canonical : std::filesystem::path(own->second).filename().string();
}

std::string ValidationContext::path_of(const std::string& name) const {
  const auto own = own_devices_.find(name.substr(name.find('/') + 1));
  return name.starts_with("devices/") && own != own_devices_.end() ? own->second : name;
}

ConfigValue ValidationContext::config(const std::string& name) {
  return memo<ConfigValue>("config:" + name, [&] { return load_config(path_of(name), overrides(name), library_); });
}

ConfigValue ValidationContext::written_config(const std::string& name) {
  const std::string path = path_of(name);
  return lasting_memo<ConfigValue>("written:" + path, [&] { return load_config(path, {}, library_); });
}

std::string ValidationContext::data_path(std::string_view name, std::string_view table) const {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path given(name);
  if (const fs::path beside = fs::path(table).parent_path() / given; fs::exists(beside, ignored))
    return beside.string();
  if (data_folder_.empty()) {
    throw UserError(
        fmt::format("there is no {} beside the table, and no folder of data is named", warploom::quoted(name)));
  }
  if (const fs::path shared = fs::path(data_folder_) / given; fs::exists(shared, ignored)) return shared.string();
  throw UserError(fmt::format("there is no {} beside the table or in the folder of data", warploom::quoted(name)));
}

void ValidationContext::set_model(KernelModel model) {
  model_ = model;
  devices_.clear();
  memos_.clear();
}

void ValidationContext::set_cache(std::shared_ptr<DetailedCache> cache) {
  cache_ = std::move(cache);
  devices_.clear();
}

void ValidationContext::set_overrides(const std::string& name, std::vector<std::string> overrides) {
  overrides_[name] = std::move(overrides);
  devices_.clear();
  memos_.clear();
}

std::vector<std::string> ValidationContext::overrides(const std::string& name) const {
  std::vector<std::string> result;
  const auto add = [&](const std::string& key) {
    const auto found = overrides_.find(key);
    if (found != overrides_.end()) result.insert(result.end(), found->second.begin(), found->second.end());
  };
  const std::string folder = name.substr(0, name.find('/'));
  add(folder);
  if (folder != name) add(name);
  return result;
}

}  // namespace warploom
