// SPDX-License-Identifier: Apache-2.0
// Lists of numbers and ranges.
#include "network/placement.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "network/graph/selection.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "sim/core/whole_file.hpp"

namespace warploom {

namespace {

// Adds the numbers of an entry; `what` they are, `count` of them there are.
void add(const std::string& entry, std::string_view what, std::int64_t count, std::vector<std::int64_t>& numbers) {
  const auto range = number_range(entry);
  if (!range) throw UserError(fmt::format("expected a {} such as `3` or `0-7`, got {}", what, warploom::quoted(entry)));
  if (range->second >= count) {
    throw UserError(fmt::format("there is no {} {}", what, range->second),
                    fmt::format("the cluster has {} 0 to {}", what, count - 1));
  }
  for (std::int64_t i = range->first; i <= range->second; ++i) numbers.push_back(i);
  if (numbers.size() > static_cast<std::size_t>(count))
    throw UserError(fmt::format("more {}s than the cluster has: {}", what, count));
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> entries;
  std::istringstream text(read_whole_file(path));
  for (std::string line; std::getline(text, line);) {
    line = line.substr(0, line.find('#'));
    const auto first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos) continue;
    entries.push_back(line.substr(first, line.find_last_not_of(" \t\r") - first + 1));
  }
  return entries;
}

}  // namespace

std::vector<std::int64_t> placed(const PlacementSpec& spec, std::int64_t size, std::int64_t node,
                                 const std::string& folder) {
  const int given = (spec.hosts.empty() ? 0 : 1) + (spec.devices.empty() ? 0 : 1) + (spec.file.empty() ? 0 : 1);
  if (given != 1) throw UserError("expected one of `hosts`, `devices` and `file`");
  std::vector<std::int64_t> devices;
  if (!spec.hosts.empty()) {
    std::vector<std::int64_t> hosts;
    for (const std::string& entry : spec.hosts) add(entry, "host", size / node, hosts);
    for (const std::int64_t host : hosts) {
      for (std::int64_t i = 0; i < node; ++i) devices.push_back(host * node + i);
    }
  } else {
    const std::filesystem::path file(spec.file);
    const auto entries =
        spec.file.empty() ? spec.devices
                          : lines_of(file.is_absolute() ? spec.file : (std::filesystem::path(folder) / file).string());
    for (const std::string& entry : entries) add(entry, "device", size, devices);
  }
  std::vector<bool> used(static_cast<std::size_t>(size), false);
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    const std::int64_t device = devices[rank];
    if (used[static_cast<std::size_t>(device)])
      throw UserError(fmt::format("device {} has two ranks, the second is {}", device, rank));
    used[static_cast<std::size_t>(device)] = true;
    const auto first = static_cast<std::int64_t>(rank) / node * node;
    if (device / node != devices[static_cast<std::size_t>(first)] / node) {
      throw UserError(fmt::format("ranks {} and {} should share a node, but are devices {} and {}", first, rank,
                                  devices[static_cast<std::size_t>(first)], device),
                      fmt::format("collectives take {} consecutive ranks for a node", node));
    }
  }
  return devices;
}

}  // namespace warploom
