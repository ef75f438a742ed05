// SPDX-License-Identifier: Apache-2.0
// What predictions of table rows share: described devices and clusters, read once each, and overrides of their values.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>
#include <unordered_map>
#include <vector>

#include "hw_models/kernel_model.hpp"
#include "sim/core/config_value.hpp"
#include "sim/core/library.hpp"

namespace warploom {

class DetailedCache;  // hw_models/detailed_cache.hpp
class DeviceLookup;
struct FoundDevice;  // workloads/device_lookup.hpp: name (canonical), spec, config

// Is not shared between threads. Where what it remembers depends on overrides, set_overrides() forgets it.
class ValidationContext {
 public:
  explicit ValidationContext(Library library = Library::from_environment());
  ~ValidationContext();

  const Library& library() const { return library_; }

  // By canonical name or alias, letter case ignored. Throws UserError: "no file describes the device `foo`".
  const FoundDevice& device(std::string_view name);
  // The canonical name; empty where nobody described the device.
  std::string canonical_device(std::string_view name);
  // A device file of the user stands for the device that its `use:` starts from, or its own name. Returns the name.
  std::string use_device_file(const std::string& path);
  // What reports and records call a device: its canonical name, or that of the user's file that stands for it.
  std::string shown_device(const std::string& canonical) const;

  // A file of the library, such as `clusters/dgx_h100` or `libraries/nccl_hopper`, with the overrides that are set for
  // it. `devices/h100_sxm` may be a file of the user.
  ConfigValue config(const std::string& name);
  // The same without overrides: every value with the place that it was written in.
  ConfigValue written_config(const std::string& name);

  // `architecture.gemm.main_loop=0.9` of every device (`devices`), of one (`devices/h100_sxm`), of a cluster
  // (`clusters/dgx_h100`), ...; those of one file come after those of its folder.
  void set_overrides(const std::string& name, std::vector<std::string> overrides);
  std::vector<std::string> overrides(const std::string& name) const;

  // Where files that a table names are looked for when they do not lie beside it; empty: nowhere else.
  void set_data_folder(std::string folder) { data_folder_ = std::move(folder); }
  // A file or folder that a row of `table` names. Throws UserError where there is none.
  std::string data_path(std::string_view name, std::string_view table) const;

  // What times kernels from now on.
  void set_model(KernelModel model);
  KernelModel model() const { return model_; }
  // Where the detailed model's results are kept; none: nowhere.
  void set_cache(std::shared_ptr<DetailedCache> cache);

  // Remembers what `make` returns under the key until the overrides change: networks, planners, models.
  template <class Value>
  const Value& memo(const std::string& key, const std::function<Value()>& make) {
    return remembered(memos_, key, make);
  }
  // The same for what no override can change: indices of the library.
  template <class Value>
  const Value& lasting_memo(const std::string& key, const std::function<Value()>& make) {
    return remembered(lasting_memos_, key, make);
  }

 private:
  using Memos = std::unordered_map<std::string, std::any>;

  template <class Value>
  static const Value& remembered(Memos& memos, const std::string& key, const std::function<Value()>& make) {
    const std::string full = std::string(typeid(Value).name()) + ":" + key;
    const auto known = memos.find(full);
    if (known != memos.end()) return **std::any_cast<std::shared_ptr<const Value>>(&known->second);
    auto made = std::make_shared<const Value>(make());  // may remember something, too
    memos[full] = made;
    return *made;
  }

  std::string path_of(const std::string& name) const;

  Library library_;
  std::string data_folder_;
  KernelModel model_ = KernelModel::analytic;
  std::shared_ptr<DetailedCache> cache_;
  std::unique_ptr<DeviceLookup> lookup_;
  std::unordered_map<std::string, std::vector<std::string>> overrides_;          // by file or folder
  std::unordered_map<std::string, std::string> own_devices_;                     // canonical name -> path
  std::unordered_map<std::string, std::string> canonical_;                       // as written -> canonical
  std::unordered_map<std::string, std::shared_ptr<const FoundDevice>> devices_;  // by canonical name
  Memos memos_;
  Memos lasting_memos_;
};

}  // namespace warploom
