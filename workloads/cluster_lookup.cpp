// SPDX-License-Identifier: Apache-2.0
// Reads the `stands_for:` of all clusters once.
#include "workloads/cluster_lookup.hpp"

#include <fmt/format.h>

#include "sim/core/config_value.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

ClusterLookup::ClusterLookup(const Library& library) {
  for (const LibraryEntry& entry : library.entries()) {
    if (!entry.name.starts_with("clusters/")) continue;
    const ConfigValue config = load_config(entry.name, {}, library);
    const auto names = config.find("stands_for");
    if (!names) continue;
    // What a file inherits by `use:` is the other cluster's.
    if (names->origin().file() != config.origin().file()) continue;
    for (const ConfigValue& name : names->items()) {
      cluster_of_.emplace(to_lower(name.text()), entry.name);
      stands_for_[entry.name].emplace_back(name.text());
    }
  }
}

const std::string* ClusterLookup::find(std::string_view name) const {
  const auto found = cluster_of_.find(to_lower(trim(name)));
  return found == cluster_of_.end() ? nullptr : &found->second;
}

const std::string& ClusterLookup::cluster_of(std::string_view device) const {
  if (const std::string* found = find(device)) return *found;
  throw UserError(fmt::format("no cluster stands for {}", quoted(device)),
                  "a file in configs/clusters says so with `stands_for: [...]`");
}

const std::vector<std::string>& ClusterLookup::stands_for(const std::string& cluster) const {
  return stands_for_.at(cluster);
}

}  // namespace warploom
