// SPDX-License-Identifier: Apache-2.0
// A cluster as a configuration: one kind of device, the network between them, the collective library, the hosts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/device.hpp"
#include "hw_models/ideal_device.hpp"
#include "hw_models/kernel_model.hpp"
#include "network/network.hpp"
#include "sim/core/config.hpp"
#include "sim/core/config_instance.hpp"
#include "sim/play/ports.hpp"

namespace warploom {

struct HostSpec {
  Time launch;
  LaunchMode launch_mode = LaunchMode::stream;
  std::string source;

  static auto fields() {
    return field_list(
        field("launch", &HostSpec::launch, "host time to launch one operation")
            .at_most(Time::picoseconds(1'000'000'000'000)),
        field("launch_mode", &HostSpec::launch_mode, "kernels launched one by one, or as captured graphs").optional(),
        field("source", &HostSpec::source, "where its numbers come from").optional());
  }
};

// Kernels that the user measured, in place of the model where the table knows them; or which model.
struct TimerSpec {
  std::string table;
  KernelModel model = KernelModel::analytic;

  static auto fields() {
    return field_list(
        field("table", &TimerSpec::table,
              "a CSV table of measured kernels (hw_models/kernel_table.hpp), its path relative to the file "
              "that names it")
            .optional(),
        field("model", &TimerSpec::model, "what times the kernels that the table does not know").optional());
  }
};

struct ClusterSpec {
  std::string name;
  std::string source;
  std::vector<std::string> stands_for;
  DeviceSpec device;
  ConfigValue network;
  ConfigValue library;
  HostSpec host;
  ConfigValue timer;

  static auto fields() {
    return field_list(field("name", &ClusterSpec::name, "what reports call it"),
                      field("source", &ClusterSpec::source, "where its numbers come from").optional(),
                      field("stands_for", &ClusterSpec::stands_for,
                            "devices whose node this cluster's is, and names by which tables call it")
                          .optional(),
                      field("device", &ClusterSpec::device, "what computes"),
                      field("network", &ClusterSpec::network, "what connects the devices"),
                      field("library", &ClusterSpec::library, "how collectives are done"),
                      field("host", &ClusterSpec::host, "what launches the work"),
                      field("timer", &ClusterSpec::timer,
                            "where the times of kernels come from: {table: FILE}, `detailed` or {model: detailed}; "
                            "without: the analytic model")
                          .optional());
  }
};

WARPLOOM_DECLARE_CONFIG(HostSpec);
WARPLOOM_DECLARE_CONFIG(ClusterSpec);

struct Cluster {
  Machine machine;
  std::shared_ptr<const Topology> topology;
  std::vector<std::string> assumptions;
};

// How it is asked for, beside what the file says.
struct ClusterOptions {
  DataType mfu_type = DataType::bf16;  // whose peak MFU is counted against
  std::vector<Ideal> ideals = {};      // what is free
  bool uses_cache = true;              // of the detailed model (hw_models/detailed_cache.hpp)
};

// `devices` of the cluster; mistakes go to the diagnostics, and then `topology` is null.
Cluster make_cluster(const ClusterSpec& spec, std::int64_t devices, const ClusterOptions& options,
                     Diagnostics& diagnostics);

}  // namespace warploom
