// SPDX-License-Identifier: Apache-2.0
// Which cluster of the library stands for a node of a device: the one that says so (`stands_for:`).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/library.hpp"

namespace warploom {

class ClusterLookup {
 public:
  // Reads what every cluster of the library stands for.
  explicit ClusterLookup(const Library& library);

  // `clusters/dgx_h100` for `h100_sxm`; letters compared without case. Throws UserError where there is none.
  const std::string& cluster_of(std::string_view device) const;
  // The same, or null.
  const std::string* find(std::string_view name) const;
  // What the cluster stands for, as it says; the first is a device.
  const std::vector<std::string>& stands_for(const std::string& cluster) const;

 private:
  std::map<std::string, std::string, std::less<>> cluster_of_;  // by lower-case name
  std::map<std::string, std::vector<std::string>> stands_for_;
};

}  // namespace warploom
