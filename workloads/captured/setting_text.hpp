// SPDX-License-Identifier: Apache-2.0
// Settings as they stand in a text: key, value, line; the format found by the text itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace warploom {

struct Setting {
  std::string key;    // in snake case, without dashes in front; of TOML and JSON `table.key`
  std::string value;  // empty: a flag without one
  int line = 0;
};

struct SettingText {
  std::string format;
  std::vector<Setting> settings;  // in the order of the text
};

// Throws UserError for JSON that is none.
SettingText read_setting_text(std::string_view text, const std::string& file);

}  // namespace warploom
