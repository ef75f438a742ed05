// SPDX-License-Identifier: Apache-2.0
// Library devices, with changes, for tests.
#pragma once

#include <string>
#include <vector>

#include "hw_models/device.hpp"

namespace warploom::testing {

inline Library library() { return Library({WARPLOOM_SOURCE_DIR "/configs"}); }

// `text` is a device file, such as "use: h100_sxm\n".
inline DeviceSpec device_from(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return read<DeviceSpec>(parse_config_text(text, "mine.yaml", overrides, library()));
}

inline DeviceSpec h100(const std::vector<std::string>& overrides = {}) {
  return device_from("use: h100_sxm\n", overrides);
}
inline DeviceSpec a100(const std::vector<std::string>& overrides = {}) {
  return device_from("use: a100_sxm\n", overrides);
}

inline DeviceSpec b200(const std::vector<std::string>& overrides = {}) {
  return device_from("use: b200_sxm\n", overrides);
}

// What the reader says of a device file; empty when it is well.
inline std::string mistakes_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    device_from(text, overrides);
    return {};
  } catch (const UserError& error) {
    return error.what();
  }
}

}  // namespace warploom::testing
