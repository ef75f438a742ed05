// SPDX-License-Identifier: Apache-2.0
// ASTRA-sim's input files: system JSON, network YAML, remote memory JSON, communicator groups JSON, workload files.
//
// Read strictly, where ASTRA-sim reads past whatever it does not know: a key that is none is an error with the nearest
// that is; keys that its own examples carry and nothing of it reads are accepted with a note. Units are its own: GiB/s
// for network bandwidth, GB/s for memory, TFLOP/s, ns. Source: astra-sim/astra-sim 518bd51, astra-sim/system/Sys.cc and
// the analytical back end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/config.hpp"
#include "sim/core/units.hpp"
#include "sim/work/group.hpp"

namespace warploom {

enum class AstraPolicy : std::uint8_t { lifo, fifo, by_priority };
template <>
struct EnumNames<AstraPolicy> {
  static constexpr std::pair<AstraPolicy, std::string_view> values[] = {
      {AstraPolicy::lifo, "LIFO"}, {AstraPolicy::fifo, "FIFO"}, {AstraPolicy::by_priority, "EXPLICIT"}};
};

enum class AstraOptimization : std::uint8_t { baseline, local_bandwidth_aware };
template <>
struct EnumNames<AstraOptimization> {
  static constexpr std::pair<AstraOptimization, std::string_view> values[] = {
      {AstraOptimization::baseline, "baseline"}, {AstraOptimization::local_bandwidth_aware, "localBWAware"}};
};

enum class AstraAlgorithm : std::uint8_t { ring, direct, halving_doubling, double_binary_tree };
struct AstraImplementation {
  AstraAlgorithm algorithm = AstraAlgorithm::ring;
  bool over_all = false;  // "one...": all members as one dimension
  int window = 0;         // direct: peers at once; 0: all
};
// "ring", "oneDirect4", ...; nothing where it is none.
std::optional<AstraImplementation> astra_implementation(std::string_view text);

// What can be told apart where an implementation is chosen.
enum class AstraCollective : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all };

struct AstraSystem {
  AstraPolicy scheduling_policy = AstraPolicy::fifo;
  AstraOptimization optimization = AstraOptimization::baseline;
  std::int64_t active_chunks = 1;
  std::int64_t splits = 1;
  std::int64_t endpoint_delay_ns = 10;
  double memory_gb_per_s = 0;
  double peak_tflops = 0;
  bool roofline = false;
  bool replay_only = false;
  std::map<AstraCollective, std::vector<AstraImplementation>> implementations;
  std::map<AstraCollective, std::string> custom;  // prefix of traces
  std::map<std::int64_t, std::string> custom_of_node;
};

enum class AstraBlock : std::uint8_t { ring, fully_connected, switched };
template <>
struct EnumNames<AstraBlock> {
  static constexpr std::pair<AstraBlock, std::string_view> values[] = {
      {AstraBlock::ring, "Ring"}, {AstraBlock::fully_connected, "FullyConnected"}, {AstraBlock::switched, "Switch"}};
};

struct AstraDimension {
  AstraBlock block = AstraBlock::ring;
  std::int64_t npus = 1;
  double gib_per_s = 0;
  double latency_ns = 0;

  double bytes_per_ns() const { return gib_per_s * 1073741824.0 / 1e9; }
};
struct AstraNetwork {
  std::vector<AstraDimension> dimensions;  // the first varies fastest
  std::int64_t npus() const;
};

struct AstraMemory {
  enum class Kind : std::uint8_t { none, per_node, per_npu, pool };
  Kind kind = Kind::none;
  double latency_ns = 0;
  double bytes_per_ns = 0;
  std::int64_t npus_per_node = 1;

  // latency + floor(bytes / bandwidth)
  std::int64_t nanoseconds(std::int64_t bytes) const;
};

using AstraGroups = std::map<std::string, std::vector<Rank>>;  // by pg_name; ranks ascending

// Each throws ConfigError with all mistakes of a file; what is worth saying goes to `notes`. `resolve` finds files that
// the system file names: as given, or in its folder, or in one above it.
AstraSystem read_astra_system(const std::string& path, std::vector<std::string>& notes);
AstraNetwork read_astra_network(const std::string& path);
AstraMemory read_astra_memory(const std::string& path);
AstraGroups read_astra_groups(const std::string& path);

// The files PREFIX.0.et, PREFIX.1.et, ... in the order of their ranks. Throws UserError that names what is missing.
std::vector<std::string> astra_workload_files(const std::string& prefix);

}  // namespace warploom
