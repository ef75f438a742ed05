// SPDX-License-Identifier: Apache-2.0
// Results of the detailed model that outlive the process: one file that processes share.
//
// A result is known by the model (a hash of its sources, taken when it is built), all numbers of the device, the
// kernel, what stands before it and the options. The file is lines of text with a checksum each. Records are appended
// with one write; a file that is of another model, too large or no such file at all is ignored with a note and replaced
// (written beside its place and renamed) when there is something to keep. A line that does not hold what it says is
// passed over. Nothing that is wrong with the file or its folder ever stops a prediction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hw_models/detailed_key.hpp"
#include "hw_models/detailed_timer.hpp"

namespace warploom {

// Of the sources that decide a detailed result.
std::string_view detailed_model_sources();

// All numbers of a device as text, each exactly: what decides a result beside the kernel. Its name, source and checks
// are left out.
std::string device_numbers(const DeviceSpec& device);

// A hash of them and of the model.
DetailedKey device_key(const DeviceSpec& device);

DetailedKey detailed_key(const Kernel& kernel, const DetailedKey& device, LaunchMode launch,
                         const DetailedOptions& options);

class DetailedCache {
 public:
  // Without a folder it remembers for itself alone.
  explicit DetailedCache(std::string folder, std::string model = std::string(detailed_model_sources()));
  ~DetailedCache();
  DetailedCache(const DetailedCache&) = delete;
  DetailedCache& operator=(const DetailedCache&) = delete;

  // WARPLOOM_CACHE (empty: none), else `warploom` in XDG_CACHE_HOME or in ~/.cache; empty where there is no home.
  static std::string usual_folder();

  std::optional<DetailedKernel> find(const DetailedKey& key);
  void add(const DetailedKey& key, const DetailedKernel& result);
  // What was added so far, into the file; also done now and then and at the end.
  void flush();

  // What was wrong with the file, each once.
  std::vector<std::string> notes() const;
  std::string path() const;  // of the file; empty without a folder

 private:
  void load();
  void flush_locked();
  bool replace(std::string_view lines);
  void note(const std::string& what);

  std::string folder_;
  std::string model_;
  mutable std::mutex mutex_;
  std::unordered_map<DetailedKey, DetailedKernel, DetailedKeyHash> known_;
  std::unordered_map<DetailedKey, std::string, DetailedKeyHash> stored_;  // lines of the file, not looked into yet
  std::string pending_;                                                   // lines for it
  std::size_t pending_lines_ = 0;
  std::size_t file_bytes_ = 0;
  bool is_usable_ = false;      // the file is there, and of this model
  bool is_in_the_way_ = false;  // what stands in its place is no file
  std::vector<std::string> notes_;
};

// play_kernel(), or what it came to before; pictures are always played. `cache` may be none. Who asks for many kernels
// of a device gives its key, too.
DetailedKernel play_cached(const Kernel& kernel, const DeviceSpec& device, LaunchMode launch,
                           const DetailedOptions& options, DetailedCache* cache,
                           const std::optional<DetailedKey>& device_key = {});

// A result as text and back: nothing where the text is no result.
std::string encoded(const DetailedKernel& result);
std::optional<DetailedKernel> decoded(std::string_view text);

}  // namespace warploom
