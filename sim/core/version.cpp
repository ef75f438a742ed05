// SPDX-License-Identifier: Apache-2.0
// What this build is called and where its library of configurations lies; the paths are compiled in by CMake.
#include "sim/core/version.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "sim/core/text.hpp"

#ifndef WARPLOOM_VERSION
#define WARPLOOM_VERSION "0.1.0"
#endif
#ifndef WARPLOOM_SOURCE_CONFIGS
#define WARPLOOM_SOURCE_CONFIGS ""
#endif
#ifndef WARPLOOM_INSTALL_CONFIGS
#define WARPLOOM_INSTALL_CONFIGS "share/warploom/configs"
#endif

namespace warploom {

namespace {

namespace fs = std::filesystem;

// `below` in the nearest folder above this code (program or Python module) that has it: installed trees may move.
std::string above_this_code(const char* below) {
  std::error_code ignored;
  std::vector<fs::path> starts = {fs::read_symlink("/proc/self/exe", ignored)};
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&version), &info) != 0 && info.dli_fname != nullptr) {
    starts.insert(starts.begin(), fs::absolute(info.dli_fname, ignored));
  }
  for (const fs::path& start : starts) {
    for (fs::path folder = start.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
      if (fs::is_directory(folder / below, ignored)) return (folder / below).string();
    }
  }
  return {};
}

}  // namespace

std::string version() { return WARPLOOM_VERSION; }

std::vector<std::string> library_roots() {
  std::vector<std::string> roots;
  if (const char* listed = std::getenv("WARPLOOM_CONFIGS"); listed != nullptr && *listed != '\0') {
    for (std::string& root : split(listed, ':')) {
      if (!root.empty()) roots.push_back(std::move(root));
    }
    return roots;
  }
  std::error_code ignored;
  if (fs::is_directory(WARPLOOM_SOURCE_CONFIGS, ignored)) return {WARPLOOM_SOURCE_CONFIGS};
  if (std::string installed = above_this_code(WARPLOOM_INSTALL_CONFIGS); !installed.empty()) {
    roots.push_back(std::move(installed));
  }
  return roots;
}

}  // namespace warploom
