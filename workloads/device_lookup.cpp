// SPDX-License-Identifier: Apache-2.0
// Finding devices; aliases are read from all device files, the first time that a name is not one of the library.
#include "workloads/device_lookup.hpp"

#include <fmt/format.h>

#include "sim/core/config.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

constexpr std::string_view folder = "devices/";

bool is_path(std::string_view name) { return name.find('/') != std::string_view::npos || name.ends_with(".yaml"); }

}  // namespace

FoundDevice load_device(const std::string& path, const std::vector<std::string>& overrides, const Library& library) {
  FoundDevice found;
  found.name = path;
  found.config = load_config(path, overrides, library);
  Diagnostics diagnostics;
  found.spec = read<DeviceSpec>(found.config, diagnostics);
  if (!diagnostics.has_errors()) report_unread(found.config, diagnostics);
  diagnostics.throw_if_any();
  return found;
}

std::vector<std::string> DeviceLookup::names() const {
  std::vector<std::string> names;
  for (const LibraryEntry& entry : library_.entries()) {
    if (entry.name.starts_with(folder)) names.push_back(entry.name.substr(folder.size()));
  }
  return names;
}

void DeviceLookup::read_aliases() const {
  if (aliases_are_read_) return;
  // Names first: an alias never hides a device.
  for (const std::string& name : names()) canonical_.emplace(to_lower(name), name);
  for (const std::string& name : names()) {
    const ConfigValue config = load_config(std::string(folder) + name, {}, library_);
    const auto aliases = config.find("aliases");
    if (!aliases) continue;
    // What a file inherits by `use:` names the device that it starts from.
    if (aliases->origin().file() != config.origin().file()) continue;
    for (const ConfigValue& alias : aliases->items()) canonical_.emplace(to_lower(alias.text()), name);
  }
  aliases_are_read_ = true;
}

std::optional<std::string> DeviceLookup::canonical_name(std::string_view name) const {
  const std::scoped_lock lock(mutex_);
  read_aliases();
  const auto found = canonical_.find(to_lower(trim(name)));
  if (found == canonical_.end()) return std::nullopt;
  return found->second;
}

const FoundDevice& DeviceLookup::find(std::string_view name) const {
  const std::scoped_lock lock(mutex_);
  if (const auto known = devices_.find(name); known != devices_.end()) return known->second;
  FoundDevice found;
  if (is_path(name)) {
    found = load_device(std::string(name), {}, library_);
  } else {
    const auto canonical = canonical_name(name);
    if (!canonical) {
      std::vector<std::string> known;
      for (const auto& [alias, device] : canonical_) known.push_back(alias);
      throw UserError(fmt::format("no device is called {}", warploom::quoted(std::string(name))),
                      suggestion(name, known,
                                 "`warploom list devices` shows the library; a file of your own is "
                                 "written `./name.yaml`"));
    }
    found = load_device(std::string(folder) + *canonical, {}, library_);
    found.name = *canonical;
  }
  return devices_.emplace(std::string(name), std::move(found)).first->second;
}

}  // namespace warploom
