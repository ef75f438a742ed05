// SPDX-License-Identifier: Apache-2.0
// Where a captured run comes from and where it is to run: clusters and devices of the library.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/library.hpp"
#include "workloads/cluster.hpp"
#include "workloads/network_lookup.hpp"
#include "workloads/replay/retime.hpp"

namespace warploom {

struct FoundCluster {
  std::string path;  // of its file
  std::string name;
  std::string device_name;
  DeviceSpec device;
  Cluster cluster;
};

// `name`: a cluster, a file of one, or a device whose node the library has. Throws ConfigError, UserError.
FoundCluster load_cluster(const std::string& name, std::int64_t devices, const std::vector<std::string>& overrides,
                          const Library& library);

// The device of the captures, by the name that the driver gives it; empty where none is named.
std::string captured_device(const CapturedRun& run);

struct FoundSource {
  std::string cluster;                             // empty: nothing is known of its network
  std::vector<std::string> device_names;           // by capture: of the library, else as the driver calls it
  std::map<std::string, DeviceSpec> descriptions;  // of those that are known
  std::optional<FoundNetwork> network;

  std::vector<std::string> distinct_names() const;
  ReplaySource known() const;    // refers to this one
  std::string in_words() const;  // "2 captures on h100_sxm, 1 capture on a100_sxm"
};

// Where it was captured: the cluster `named`, else the node of the device's name. How captures of several devices are
// connected is not known. `devices`: how many the run uses.
FoundSource find_source(const CapturedRun& run, const std::string& named, std::int64_t devices, const Library& library);

// Throws UserError that says why the cluster is not known.
[[noreturn]] void refuse_unknown_source(const FoundSource& source);

}  // namespace warploom
