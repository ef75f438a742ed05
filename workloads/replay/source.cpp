// SPDX-License-Identifier: Apache-2.0
// Names looked up, clusters loaded.
#include "workloads/replay/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/cluster_lookup.hpp"
#include "workloads/device_lookup.hpp"

namespace warploom {

namespace {

// A cluster, or the node of a device; what is neither as it is: its error says what there is.
std::string node_path(const std::string& name, const Library& library) {
  std::string path = cluster_path(name, library);
  std::error_code ignored;
  if (path != name || std::filesystem::is_regular_file(path, ignored)) return path;
  const DeviceLookup devices(library);
  const auto device = devices.canonical_name(name);
  return device ? ClusterLookup(library).cluster_of(*device) : name;
}

// Of the library, by one of its aliases; else what reports call it.
std::string device_name(const DeviceSpec& device, const Library& library) {
  const DeviceLookup lookup(library);
  std::string name = device.name;
  for (const auto& alias : device.aliases) {
    if (const auto canonical = lookup.canonical_name(alias)) name = *canonical;
  }
  return name;
}

// The device that did a capture's work, by the name that the driver gives it.
std::string captured_device(const Capture& capture) {
  const CapturedDevice* found = nullptr;
  for (const auto& device : capture.devices) {
    if (device.name.empty()) continue;
    const bool works =
        !capture.device_ops.empty() && capture.streams[capture.device_ops.front().stream].device == device.id;
    if (found == nullptr || works) found = &device;
    if (works) break;
  }
  return found == nullptr ? std::string() : found->name;
}

}  // namespace

FoundCluster load_cluster(const std::string& name, std::int64_t devices, const std::vector<std::string>& overrides,
                          const Library& library) {
  FoundCluster found;
  found.path = node_path(name, library);
  const ConfigValue config = load_config(found.path, overrides, library);
  Diagnostics diagnostics;
  const auto spec = read<ClusterSpec>(config, diagnostics);
  found.name = spec.name;
  found.device = spec.device;
  if (!diagnostics.has_errors()) {
    ClusterOptions options;
    if (!spec.device.has(options.mfu_type)) options.mfu_type = DataType::fp16;  // before Ampere
    found.cluster = make_cluster(spec, devices, options, diagnostics);
  }
  if (!diagnostics.has_errors()) report_unread(config, diagnostics);
  diagnostics.throw_if_any();
  found.device_name = device_name(spec.device, library);
  return found;
}

std::string captured_device(const CapturedRun& run) {
  for (const auto& capture : run.captures) {
    if (auto name = captured_device(capture); !name.empty()) return name;
  }
  return {};
}

std::vector<std::string> FoundSource::distinct_names() const {
  const std::set<std::string> names(device_names.begin(), device_names.end());
  return {names.begin(), names.end()};
}

ReplaySource FoundSource::known() const {
  ReplaySource source;
  for (const auto& name : device_names) {
    const auto place = descriptions.find(name);
    source.devices.push_back(place == descriptions.end() ? nullptr : &place->second);
  }
  source.network = network ? &network->network : nullptr;
  return source;
}

std::string FoundSource::in_words() const {
  std::vector<std::string> parts;
  for (const auto& name : distinct_names()) {
    const auto captures = std::count(device_names.begin(), device_names.end(), name);
    parts.push_back(fmt::format("{} capture{} on {}", captures, captures == 1 ? "" : "s",
                                name.empty() ? "a device without a name" : name));
  }
  return join(parts);
}

FoundSource find_source(const CapturedRun& run, const std::string& named, std::int64_t devices,
                        const Library& library) {
  FoundSource source;
  if (!named.empty()) {
    source.cluster = node_path(named, library);
    source.network = load_network(source.cluster, devices, {}, library);
    const std::string name = device_name(source.network->device, library);
    source.device_names.assign(run.captures.size(), name);
    source.descriptions.emplace(name, source.network->device);
    return source;
  }
  const DeviceLookup lookup(library);
  for (const auto& capture : run.captures) {
    const std::string name = captured_device(capture);
    const auto known = lookup.canonical_name(name);
    source.device_names.push_back(known.value_or(name));
    if (known) source.descriptions.try_emplace(*known, lookup.find(*known).spec);
  }
  const auto names = source.distinct_names();
  if (names.size() != 1 || source.descriptions.empty()) return source;
  const ClusterLookup clusters(library);
  const std::string* cluster = clusters.find(names.front());
  if (cluster == nullptr) return source;
  source.cluster = *cluster;
  try {
    source.network = load_network(source.cluster, devices, {}, library);
  } catch (const UserError&) {
    source.network.reset();  // a node that is too small for the run: how it was connected is not known
  }
  return source;
}

[[noreturn]] void refuse_unknown_source(const FoundSource& source) {
  const auto names = source.distinct_names();
  std::string problem;
  if (names.size() > 1) {
    problem = fmt::format("captured on several devices ({}): how they were connected is not known", join(names));
  } else if (names.front().empty()) {
    problem = "the traces name no device: nothing is known of where they were captured";
  } else if (source.descriptions.empty()) {
    problem = fmt::format("{} is no device of the library: nothing is known of where the trace was captured",
                          warploom::quoted(names.front()));
  } else {
    problem = fmt::format("no cluster of the library is made of {}: nothing is known of where the trace was captured",
                          warploom::quoted(names.front()));
  }
  throw UserError(problem, "name a cluster: `--source CLUSTER`, or `--on CLUSTER`");
}

}  // namespace warploom
