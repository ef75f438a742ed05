// SPDX-License-Identifier: Apache-2.0
// Networks of the repository's clusters, and topologies from text with what befalls them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "network/conditions.hpp"
#include "network/network.hpp"
#include "sim/core/config.hpp"
#include "sim/core/library.hpp"

namespace warploom::test {

// Such as `dgx_h100`.
inline Network cluster(const std::string& name, std::int64_t devices, const std::vector<std::string>& overrides = {}) {
  const Library library({WARPLOOM_SOURCE_DIR "/configs"});
  const auto value = load_config(WARPLOOM_SOURCE_DIR "/configs/clusters/" + name + ".yaml", overrides, library);
  Diagnostics diagnostics;
  auto made = make_network(*value.find("network"), *value.find("library"), devices, diagnostics);
  diagnostics.throw_if_any();
  return made;
}

inline std::shared_ptr<const Topology> with_conditions(const std::string& text, std::int64_t devices) {
  const auto value = parse_config_text(text, "test.yaml");
  Diagnostics diagnostics;
  auto made = make_topology(value, devices, diagnostics);
  diagnostics.throw_if_any();
  return made;
}

}  // namespace warploom::test
