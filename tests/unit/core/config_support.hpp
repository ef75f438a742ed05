// SPDX-License-Identifier: Apache-2.0
// For configuration tests: a folder of files that is the working directory while a test runs, and error texts.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/core/config.hpp"

namespace warploom {

class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "warploom-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(folder_);
  }
  void TearDown() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }

  void write(const std::string& path, std::string_view text) const {
    const auto parent = std::filesystem::path(path).parent_path();
    if (!parent.empty()) std::filesystem::create_directories(parent);
    std::ofstream(path, std::ios::binary) << text;
  }

  const std::filesystem::path& folder() const { return folder_; }
  Library library() const { return Library({"lib"}); }
  ConfigValue load(const std::string& path, const std::vector<std::string>& overrides = {}) const {
    return load_config(path, overrides, library());
  }

 private:
  std::filesystem::path folder_;
  std::filesystem::path before_;
};

// The text of the UserError that a call throws; fails the test when it throws none.
template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

// A tree on one line: {a: 1, b: [2, ~]}, without origins.
inline std::string compact(const ConfigValue& value) {
  std::string text;
  switch (value.kind()) {
    case ConfigValue::Kind::null:
      return "~";
    case ConfigValue::Kind::scalar:
      return value.text();
    case ConfigValue::Kind::list:
      for (const ConfigValue& item : value.items()) text += (text.empty() ? "" : ", ") + compact(item);
      return "[" + text + "]";
    case ConfigValue::Kind::map:
      for (const ConfigEntry& entry : value.entries()) {
        text += (text.empty() ? "" : ", ") + entry.key + ": " + compact(entry.value);
      }
      return "{" + text + "}";
  }
  return text;
}

}  // namespace warploom
