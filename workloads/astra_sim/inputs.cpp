// SPDX-License-Identifier: Apache-2.0
// Keys, units and ranges of the input files.
#include "workloads/astra_sim/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <set>

#include "sim/core/text.hpp"

namespace warploom {

namespace fs = std::filesystem;

std::optional<AstraImplementation> astra_implementation(std::string_view text) {
  AstraImplementation result;
  std::string_view rest = text;
  if (rest.starts_with("one")) {
    result.over_all = true;
    rest.remove_prefix(3);
  }
  const std::string lower = to_lower(rest);
  // The capital belongs to "one": oneRing, ring.
  if (!rest.empty() && (rest.front() >= 'A' && rest.front() <= 'Z') != result.over_all) return std::nullopt;
  if (lower == "ring") {
    result.algorithm = AstraAlgorithm::ring;
  } else if (lower == "doublebinarytree" && !result.over_all) {
    result.algorithm = AstraAlgorithm::double_binary_tree;
    result.over_all = false;
  } else if (lower == "halvingdoubling") {
    result.algorithm = AstraAlgorithm::halving_doubling;
  } else if (lower.starts_with("direct")) {
    result.algorithm = AstraAlgorithm::direct;
    const std::string digits = lower.substr(6);
    if (digits.empty()) return result;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result.window);
    if (error != std::errc() || end != digits.data() + digits.size() || result.window < 1) return std::nullopt;
  } else {
    return std::nullopt;
  }
  return result;
}

std::int64_t AstraNetwork::npus() const {
  std::int64_t product = 1;
  for (const auto& dimension : dimensions) product *= dimension.npus;
  return product;
}

std::int64_t AstraMemory::nanoseconds(std::int64_t bytes) const {
  const double time = latency_ns + (bytes_per_ns > 0 ? std::floor(static_cast<double>(bytes) / bytes_per_ns) : 0);
  if (!(time < 1e18)) throw UserError(fmt::format("remote memory: {} bytes take longer than 30 years", bytes));
  return static_cast<std::int64_t>(time);
}

// ---- System -------------------------------------------------------------------------------------------------------

namespace {

struct SystemFile {
  std::optional<AstraPolicy> policy;
  std::optional<AstraOptimization> optimization;
  std::int64_t active_chunks = 1;
  std::int64_t splits = 1;
  std::int64_t endpoint_delay = 10;
  double local_mem_bw = 0;
  double peak_perf = 0;
  std::string roofline = "0";
  std::string replay_only = "0";
  std::vector<std::string> all_reduce, all_gather, reduce_scatter, all_to_all;
  std::vector<std::string> all_reduce_custom, all_gather_custom, reduce_scatter_custom, all_to_all_custom;
  std::optional<std::string> per_node;
  // Of no effect here.
  std::optional<ConfigValue> local_reduction_delay, trace_enabled, track_local_mem, local_mem_trace, shared_bus;
  std::optional<ConfigValue> bus_l, bus_o, bus_g, bus_big_g, boost, intra, inter;

  static auto fields() {
    using S = SystemFile;
    return field_list(
        field("scheduling-policy", &S::policy, "which of the collectives that wait goes first"),
        field("collective-optimization", &S::optimization, "how an all-reduce is cut over dimensions"),
        field("active-chunks-per-dimension", &S::active_chunks, "chunks in flight").optional().in(1, 1'000'000),
        field("preferred-dataset-splits", &S::splits, "chunks a collective").optional().in(1, 1'000'000'000),
        field("endpoint-delay", &S::endpoint_delay, "ns a message spends in an end").optional().in(0, 1'000'000'000),
        field("local-mem-bw", &S::local_mem_bw, "GB/s of a device's memory").optional().at_least(0),
        field("peak-perf", &S::peak_perf, "TFLOP/s of a device").optional().at_least(0),
        field("roofline-enabled", &S::roofline, "1: compute takes what num_ops and tensor_size say").optional(),
        field("replay-only", &S::replay_only, "1: everything takes its recorded duration").optional(),
        field("all-reduce-implementation", &S::all_reduce, "one a dimension").optional(),
        field("all-gather-implementation", &S::all_gather, "one a dimension").optional(),
        field("reduce-scatter-implementation", &S::reduce_scatter, "one a dimension").optional(),
        field("all-to-all-implementation", &S::all_to_all, "one a dimension").optional(),
        field("all-reduce-implementation-custom", &S::all_reduce_custom, "prefix of traces").optional(),
        field("all-gather-implementation-custom", &S::all_gather_custom, "prefix of traces").optional(),
        field("reduce-scatter-implementation-custom", &S::reduce_scatter_custom, "prefix of traces").optional(),
        field("all-to-all-implementation-custom", &S::all_to_all_custom, "prefix of traces").optional(),
        field("per-node-custom-implementation", &S::per_node, "file: node id to prefix of traces"),
        field("local-reduction-delay", &S::local_reduction_delay, "not used by ASTRA-sim"),
        field("trace-enabled", &S::trace_enabled, "logging"), field("track-local-mem", &S::track_local_mem, "a log"),
        field("local-mem-trace-filename", &S::local_mem_trace, "of that log"),
        field("model-shared-bus", &S::shared_bus, "LogGP bus"), field("L", &S::bus_l, "LogGP bus"),
        field("o", &S::bus_o, "LogGP bus"), field("g", &S::bus_g, "LogGP bus"), field("G", &S::bus_big_g, "LogGP bus"),
        field("boost-mode", &S::boost, "not read by ASTRA-sim"),
        field("intra-dimension-scheduling", &S::intra, "not read by ASTRA-sim"),
        field("inter-dimension-scheduling", &S::inter, "not read by ASTRA-sim"));
  }
};

bool is_on(const ConfigValue& root, std::string_view key, const std::string& text, Diagnostics& diagnostics) {
  if (text == "1" || text == "true") return true;
  if (text != "0" && text != "false") {
    const auto value = root.find(key);
    diagnostics.error(value ? value->origin() : root.origin(), root.path_of(key),
                      fmt::format("expected 0 or 1, got {}", warploom::quoted(text)));
  }
  return false;
}

// As given, in the folder of the file that names it, or in one above that: ASTRA-sim is run from its own root.
std::string resolve_prefix(const std::string& prefix, const std::string& from, std::string_view suffix) {
  const auto is_there = [&](const fs::path& path) {
    std::error_code error;
    return fs::exists(path.string() + std::string(suffix), error);
  };
  if (is_there(prefix) || fs::path(prefix).is_absolute()) return prefix;
  std::error_code error;
  for (fs::path folder = fs::absolute(from, error).parent_path(); !folder.empty(); folder = folder.parent_path()) {
    if (is_there(folder / prefix)) return (folder / prefix).string();
    if (folder == folder.root_path()) break;
  }
  return prefix;
}

void take_implementations(const ConfigValue& root, std::string_view key, const std::vector<std::string>& texts,
                          AstraCollective kind, AstraSystem& system, Diagnostics& diagnostics) {
  for (const auto& text : texts) {
    if (const auto implementation = astra_implementation(text)) {
      system.implementations[kind].push_back(*implementation);
    } else {
      const auto value = root.find(key);
      diagnostics.error(
          value ? value->origin() : root.origin(), root.path_of(key),
          fmt::format("there is no implementation {}", warploom::quoted(text)),
          "ring, oneRing, direct[N], oneDirect[N], doubleBinaryTree, halvingDoubling, oneHalvingDoubling");
    }
  }
}

void take_custom(const ConfigValue& root, std::string_view key, const std::vector<std::string>& prefixes,
                 AstraCollective kind, const std::string& path, AstraSystem& system, Diagnostics& diagnostics) {
  if (prefixes.empty()) return;
  if (prefixes.size() != 1) {
    const auto value = root.find(key);
    diagnostics.error(value ? value->origin() : root.origin(), root.path_of(key),
                      fmt::format("expected one prefix of traces, got {}", prefixes.size()));
    return;
  }
  system.custom[kind] = resolve_prefix(prefixes.front(), path, ".0.et");
}

void note_ignored(const SystemFile& file, std::vector<std::string>& notes) {
  std::vector<std::string> ignored;
  const auto look = [&](const std::optional<ConfigValue>& value, const char* key) {
    if (!value) return;
    value->mark_all_read();
    ignored.emplace_back(fmt::format("`{}`", key));
  };
  look(file.boost, "boost-mode");
  look(file.intra, "intra-dimension-scheduling");
  look(file.inter, "inter-dimension-scheduling");
  look(file.local_reduction_delay, "local-reduction-delay");
  look(file.trace_enabled, "trace-enabled");
  look(file.track_local_mem, "track-local-mem");
  look(file.local_mem_trace, "local-mem-trace-filename");
  look(file.shared_bus, "model-shared-bus");
  look(file.bus_l, "L");
  look(file.bus_o, "o");
  look(file.bus_g, "g");
  look(file.bus_big_g, "G");
  if (!ignored.empty()) notes.push_back(fmt::format("of the system file without effect: {}", join(ignored)));
  if (!file.policy) notes.emplace_back("the system file says no scheduling-policy: FIFO");
  if (!file.optimization) notes.emplace_back("the system file says no collective-optimization: baseline");
}

void read_per_node(const std::string& named, const std::string& from, AstraSystem& system, Diagnostics& diagnostics) {
  const std::string path = resolve_prefix(named, from, "");
  const ConfigValue root = load_config(path);
  for (const auto& [key, prefix] : warploom::read<std::map<std::string, std::string>>(root, diagnostics)) {
    std::int64_t node = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), node);
    if (error != std::errc() || end != key.data() + key.size() || node < 0) {
      diagnostics.error(root.origin(), key, fmt::format("expected the id of a node, got {}", warploom::quoted(key)));
    } else {
      system.custom_of_node[node] = resolve_prefix(prefix, path, ".0.et");
    }
  }
}

}  // namespace

AstraSystem read_astra_system(const std::string& path, std::vector<std::string>& notes) {
  const ConfigValue root = load_config(path);
  Diagnostics diagnostics;
  const auto file = read<SystemFile>(root, diagnostics);
  AstraSystem system;
  system.scheduling_policy = file.policy.value_or(system.scheduling_policy);
  system.optimization = file.optimization.value_or(system.optimization);
  system.active_chunks = file.active_chunks;
  system.splits = file.splits;
  system.endpoint_delay_ns = file.endpoint_delay;
  system.memory_gb_per_s = file.local_mem_bw;
  system.peak_tflops = file.peak_perf;
  system.roofline = is_on(root, "roofline-enabled", file.roofline, diagnostics);
  system.replay_only = is_on(root, "replay-only", file.replay_only, diagnostics);
  using C = AstraCollective;
  take_implementations(root, "all-reduce-implementation", file.all_reduce, C::all_reduce, system, diagnostics);
  take_implementations(root, "all-gather-implementation", file.all_gather, C::all_gather, system, diagnostics);
  take_implementations(root, "reduce-scatter-implementation", file.reduce_scatter, C::reduce_scatter, system,
                       diagnostics);
  take_implementations(root, "all-to-all-implementation", file.all_to_all, C::all_to_all, system, diagnostics);
  take_custom(root, "all-reduce-implementation-custom", file.all_reduce_custom, C::all_reduce, path, system,
              diagnostics);
  take_custom(root, "all-gather-implementation-custom", file.all_gather_custom, C::all_gather, path, system,
              diagnostics);
  take_custom(root, "reduce-scatter-implementation-custom", file.reduce_scatter_custom, C::reduce_scatter, path, system,
              diagnostics);
  take_custom(root, "all-to-all-implementation-custom", file.all_to_all_custom, C::all_to_all, path, system,
              diagnostics);
  if (file.per_node) read_per_node(*file.per_node, path, system, diagnostics);
  note_ignored(file, notes);
  if (system.roofline && (system.peak_tflops <= 0 || system.memory_gb_per_s <= 0)) {
    diagnostics.error(root.origin(), "roofline-enabled", "needs `peak-perf` and `local-mem-bw` above 0");
  }
  report_unread(root, diagnostics);
  diagnostics.throw_if_any();
  return system;
}

// ---- The others ---------------------------------------------------------------------------------------------------

namespace {

struct NetworkFile {
  std::vector<AstraBlock> topology;
  std::vector<std::int64_t> npus_count;
  std::vector<double> bandwidth;
  std::vector<double> latency;

  static auto fields() {
    using N = NetworkFile;
    return field_list(field("topology", &N::topology, "a building block a dimension"),
                      field("npus_count", &N::npus_count, "NPUs along each").in(1, 1'000'000),
                      field("bandwidth", &N::bandwidth, "GiB/s of a link, one way").in(1e-9, 1e9),
                      field("latency", &N::latency, "ns of a link").in(0, 1e12));
  }
  static void check(const NetworkFile& file, const ConfigValue& at, Diagnostics& diagnostics) {
    const std::size_t size = file.topology.size();
    if (size == 0 || size > 6) {
      diagnostics.error(at.origin(), at.path_of("topology"), fmt::format("expected 1 to 6 dimensions, got {}", size));
    }
    for (const auto& [key, count] :
         {std::pair("npus_count", file.npus_count.size()), std::pair("bandwidth", file.bandwidth.size()),
          std::pair("latency", file.latency.size())}) {
      if (count != size) {
        diagnostics.error(at.origin(), at.path_of(key), fmt::format("{} values for {} dimensions", count, size));
      }
    }
    double npus = 1;
    for (const auto count : file.npus_count) npus *= static_cast<double>(count);
    if (npus > 1e6) diagnostics.error(at.origin(), at.path_of("npus_count"), "more than 1,000,000 NPUs in all");
  }
};

enum class MemoryType : std::uint8_t { none, per_node, per_npu, pool };

struct MemoryFile {
  MemoryType type = MemoryType::none;
  double latency = 0;
  double bandwidth = 0;
  std::int64_t nodes = 1;
  std::int64_t npus_per_node = 1;

  static auto fields();
  static void check(const MemoryFile& file, const ConfigValue& at, Diagnostics& diagnostics) {
    if (file.type != MemoryType::none && file.bandwidth <= 0) {
      diagnostics.error(at.origin(), at.path_of("remote-mem-bw"), "must be above 0 (bytes per ns)");
    }
  }
};

}  // namespace

template <>
struct EnumNames<MemoryType> {
  static constexpr std::pair<MemoryType, std::string_view> values[] = {
      {MemoryType::none, "NO_MEMORY_EXPANSION"},
      {MemoryType::per_node, "PER_NODE_MEMORY_EXPANSION"},
      {MemoryType::per_npu, "PER_NPU_MEMORY_EXPANSION"},
      {MemoryType::pool, "MEMORY_POOL"}};
};

namespace {

auto MemoryFile::fields() {
  using M = MemoryFile;
  return field_list(field("memory-type", &M::type, "where memory beyond the device's is"),
                    field("remote-mem-latency", &M::latency, "ns").optional().in(0, 1e12),
                    field("remote-mem-bw", &M::bandwidth, "bytes per ns").optional().at_least(0),
                    field("num-nodes", &M::nodes, "of PER_NODE").optional().at_least(1),
                    field("num-npus-per-node", &M::npus_per_node, "of PER_NODE").optional().at_least(1));
}

}  // namespace

AstraNetwork read_astra_network(const std::string& path) {
  const ConfigValue root = load_config(path);
  Diagnostics diagnostics;
  const auto file = read<NetworkFile>(root, diagnostics);
  report_unread(root, diagnostics);
  diagnostics.throw_if_any();
  AstraNetwork network;
  for (std::size_t i = 0; i < file.topology.size(); ++i) {
    network.dimensions.push_back({file.topology[i], file.npus_count[i], file.bandwidth[i], file.latency[i]});
  }
  return network;
}

AstraMemory read_astra_memory(const std::string& path) {
  const ConfigValue root = load_config(path);
  Diagnostics diagnostics;
  const auto file = read<MemoryFile>(root, diagnostics);
  report_unread(root, diagnostics);
  diagnostics.throw_if_any();
  return {static_cast<AstraMemory::Kind>(file.type), file.latency, file.bandwidth, file.npus_per_node};
}

AstraGroups read_astra_groups(const std::string& path) {
  const ConfigValue root = load_config(path);
  Diagnostics diagnostics;
  auto groups = read<std::map<std::string, std::vector<std::int64_t>>>(root, diagnostics);
  AstraGroups result;
  for (auto& [name, ranks] : groups) {
    std::sort(ranks.begin(), ranks.end());
    if (ranks.empty() || ranks.front() < 0) {
      diagnostics.error(root.origin(), name, "expected ranks, each 0 or more");
    } else if (std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end()) {
      diagnostics.error(root.origin(), name, "names a rank twice");
    } else {
      result.emplace(name, std::move(ranks));
    }
  }
  report_unread(root, diagnostics);
  diagnostics.throw_if_any();
  return result;
}

std::vector<std::string> astra_workload_files(const std::string& prefix) {
  const fs::path path(prefix);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string start = path.filename().string() + ".";
  std::map<std::int64_t, std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(start)) continue;
    std::int64_t rank = 0;
    const char* const end = name.data() + name.size();
    const auto [rest, wrong] = std::from_chars(name.data() + start.size(), end, rank);
    const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
    if (wrong != std::errc() || rank < 0 || (suffix != ".et" && suffix != ".et.gz")) continue;
    if (!files.emplace(rank, entry.path().string()).second) {
      throw UserError(fmt::format("{}: two files of rank {}", prefix, rank));
    }
  }
  if (files.empty()) {
    throw UserError(fmt::format("there is no `{}.0.et`", prefix),
                    "give the workload as ASTRA-sim takes it: folder/name of the files folder/name.RANK.et");
  }
  std::vector<std::string> result;
  for (auto& [rank, file] : files) {
    if (rank != static_cast<std::int64_t>(result.size())) {
      throw UserError(fmt::format("`{}.{}.et` is missing: there are files of {} ranks, the last is {}", prefix,
                                  result.size(), files.size(), files.rbegin()->first));
    }
    result.push_back(std::move(file));
  }
  return result;
}

}  // namespace warploom
