// SPDX-License-Identifier: Apache-2.0
// Devices by any name that they go by: the library's name, an alias, or a file.
//
// Measured tables and users write `H100-80GB` or `NVIDIA H100 80GB HBM3` for what the library calls `h100_sxm`.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw_models/detailed_cache.hpp"
#include "hw_models/device.hpp"
#include "hw_models/kernel_model.hpp"
#include "sim/core/config_value.hpp"
#include "sim/core/library.hpp"

namespace warploom {

struct FoundDevice {
  std::string name;  // `h100_sxm`, or the path of a file
  DeviceSpec spec;
  ConfigValue config;                         // as resolved, every value with its origin
  KernelModel model = KernelModel::analytic;  // that times its kernels
  std::shared_ptr<DetailedCache> cache;       // of the detailed one
  DetailedKey key;                            // of the device in it
};

// Reads a device file or a library entry; unread keys are mistakes. Throws ConfigError or UserError.
FoundDevice load_device(const std::string& path, const std::vector<std::string>& overrides = {},
                        const Library& library = Library::from_environment());

// Reads device files when they are first needed, and once. Safe to share between threads.
class DeviceLookup {
 public:
  explicit DeviceLookup(Library library = Library::from_environment()) : library_(std::move(library)) {}
  DeviceLookup(const DeviceLookup&) = delete;
  DeviceLookup& operator=(const DeviceLookup&) = delete;

  const Library& library() const { return library_; }

  // `h100_sxm` for itself and all its aliases, letters compared without case; nothing for what nobody described.
  std::optional<std::string> canonical_name(std::string_view name) const;
  // Library names of all devices.
  std::vector<std::string> names() const;

  // By library name, alias, or the path of a file (it has a `/` or ends in `.yaml`). Throws UserError with suggestions.
  const FoundDevice& find(std::string_view name) const;

 private:
  void read_aliases() const;

  Library library_;
  mutable std::recursive_mutex mutex_;
  mutable bool aliases_are_read_ = false;
  mutable std::map<std::string, std::string> canonical_;  // lower-case name or alias -> library name
  mutable std::map<std::string, FoundDevice, std::less<>> devices_;
};

}  // namespace warploom
