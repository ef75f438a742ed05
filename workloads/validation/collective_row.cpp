// SPDX-License-Identifier: Apache-2.0
// Networks by cluster, cards and library version; the call alone on them.
#include "workloads/validation/collective_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "network/collectives/moe/moe_reach.hpp"
#include "network/conditions.hpp"
#include "network/network.hpp"
#include "sim/core/config.hpp"
#include "sim/core/text.hpp"
#include "workloads/cluster_lookup.hpp"
#include "workloads/device_lookup.hpp"
#include "workloads/validation/validation_context.hpp"

namespace warploom {

namespace {

// A node's cards in words such as "EFA 32x100G" or "RoCE 8x400G (3200G)".
struct Cards {
  std::int64_t count = 0;
  std::int64_t gigabits = 0;  // of one
};

// Of digits; beyond what any card is, too large.
std::int64_t number_of(std::string_view digits) {
  std::int64_t number = 0;
  for (const char digit : digits.substr(0, 9)) number = number * 10 + (digit - '0');
  return number;
}

std::optional<Cards> cards_of(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t at = text.find('x'); at != std::string_view::npos; at = text.find('x', at + 1)) {
    std::size_t first = at;
    while (first > 0 && is_digit(text[first - 1])) --first;
    std::size_t last = at + 1;
    while (last < text.size() && is_digit(text[last])) ++last;
    if (first == at || last == at + 1 || last == text.size() || text[last] != 'G') continue;
    const Cards cards{number_of(text.substr(first, at - first)), number_of(text.substr(at + 1, last - at - 1))};
    if (cards.count > 0 && cards.count <= 1024 && cards.gigabits > 0 && cards.gigabits <= 100'000) return cards;
  }
  return std::nullopt;
}

// Cards beyond one a device are bonded.
std::vector<std::string> card_overrides(const Cards& cards, std::int64_t devices) {
  const std::int64_t count = std::min(cards.count, devices);
  return {fmt::format("network.nic.count={}", count),
          fmt::format("network.nic.rate={} Gb/s", cards.gigabits * cards.count / count)};
}

using NetworkPointer = std::shared_ptr<const Network>;

NetworkPointer network_of(const std::string& cluster, const std::vector<std::string>& more, std::int64_t nodes,
                          ValidationContext& context) {
  const std::string key = fmt::format("{} {} {}", cluster, nodes, join(more, " "));
  return context.memo<NetworkPointer>(key, [&] {
    std::vector<std::string> overrides = context.overrides(cluster);
    overrides.insert(overrides.end(), more.begin(), more.end());
    const ConfigValue config = load_config(cluster, overrides, context.library());
    Diagnostics diagnostics;
    const auto one = make_topology(config.find("network")->without("fabric"), 1, diagnostics);
    diagnostics.throw_if_any();
    const std::int64_t gpus = one->node_size();
    auto network = std::make_shared<Network>(
        make_network(*config.find("network"), *config.find("library"), gpus * nodes, diagnostics));
    diagnostics.throw_if_any();
    return NetworkPointer(std::move(network));
  });
}

// A thread that launches on one device after the other can be what a train of calls waits for: of eight H100s 35 to 38
// us whatever the algorithm, 4.4 to 4.8 a launch. That is the library's own launch, from C, which is all that is left
// of a call of few bytes over LL (`ll.base`, 4.6 us on Hopper); a cluster's `host.launch` is PyTorch's (5 us), which a
// benchmark of the library does without.
Time launch_of(const Network& network) { return network.planner->library().ll.base; }

const ClusterLookup& clusters(ValidationContext& context) {
  return *context.lasting_memo<std::shared_ptr<const ClusterLookup>>(
      "clusters", [&] { return std::make_shared<const ClusterLookup>(context.library()); });
}

// That which the words on the network between nodes name, such as "p5.48xlarge; EFA 32x100G".
const std::string* cluster_named_in(std::string_view fabric, const ClusterLookup& lookup) {
  for (std::size_t at = 0; at < fabric.size();) {
    const std::size_t end = std::min(fabric.find_first_of(" ;,()", at), fabric.size());
    if (const std::string* found = lookup.find(fabric.substr(at, end - at))) return found;
    at = end + 1;
  }
  return nullptr;
}

}  // namespace

std::string size_class_of(std::int64_t bytes) {
  if (bytes >= 64 << 20) return "64 MiB and more";
  return bytes >= 1 << 20 ? "1 to 64 MiB" : "under 1 MiB";
}

std::string library_version(std::string_view text) {
  const auto words = split(trim(text), ' ');
  if (words.empty() || to_lower(words[0]) != "nccl") throw UserError("a collective library that is not modelled");
  // RCCL's versions are not NCCL's.
  if (words.size() < 2 || words[1] == "unknown" || words[1] == "RCCL") return {};
  if (words[1].empty() || words[1][0] < '0' || words[1][0] > '9')
    throw UserError("a collective library that is not modelled");
  return words[1];
}

CollectiveKind collective_kind_of(std::string_view operation) {
  if (const auto kind = collective_kind(operation)) return *kind;
  throw UserError(fmt::format("the operation {} is not modelled", quoted(operation)));
}

void predict_collective(const CollectiveRow& row, ValidationContext& context, Predicted& result) {
  const ClusterLookup& lookup = clusters(context);
  const std::string device = context.canonical_device(row.machine);
  const std::string* named = row.nodes > 1 ? cluster_named_in(row.fabric, lookup) : nullptr;
  const std::string& cluster = named ? *named : lookup.cluster_of(device.empty() ? row.machine : device);
  result.device = device.empty() ? context.canonical_device(lookup.stands_for(cluster)[0]) : device;
  std::vector<std::string> more;
  if (!row.version.empty()) more.push_back("library.version=" + row.version);
  const NetworkPointer alone = network_of(cluster, more, 1, context);
  // The cluster's own nodes may be smaller than the table's (pairs behind a host bridge).
  const bool is_one_machine = row.nodes == 1;
  const std::int64_t node = alone->topology->node_size();
  const std::int64_t nodes = is_one_machine ? (row.in_node + node - 1) / node : row.nodes;
  if (row.in_node > node && !is_one_machine) throw UserError("more ranks in a node than the cluster's nodes have");
  if (!is_one_machine && alone->topology->cluster_size() < nodes * node) {
    throw UserError("the cluster that stands for the device has fewer nodes");
  }
  if (!is_one_machine) {
    if (const auto cards = cards_of(row.fabric)) {
      const auto added = card_overrides(*cards, node);
      more.insert(more.end(), added.begin(), added.end());
    }
  }
  const NetworkPointer network = nodes == 1 ? alone : network_of(cluster, more, nodes, context);
  Group group = first_ranks(row.in_node);
  if (!is_one_machine) group.members.digits = {{row.in_node, 1}, {row.nodes, node}};
  Call call{row.kind, Bytes(row.bytes), DataType::bf16, 0};
  if (row.moe) {
    const DeviceSpec& device_spec = context.device(result.device).spec;
    call.moe = row.moe;
    call.moe->device_sms = device_spec.sm.count;
    call.moe->memory = device_spec.reached_bandwidth();
    call.bytes = moe_bytes(*call.moe, row.kind, group.member_count(), nodes);
  }
  const CollectiveEstimate estimate = estimate_chosen(*network, call, group, row.choice);
  const std::int64_t ranks = group.member_count();
  result.predicted_us = estimate.duration.microseconds();
  if (row.is_one_process) {
    const double launches = launch_of(*network).microseconds() * static_cast<double>(row.in_node);
    result.predicted_us = std::max(result.predicted_us, launches);
  }
  result.tuned_by = cluster;
  result.size_class = size_class_of(call.bytes.count());
  result.group = {{"op", std::string(name(row.kind))},
                  {"nodes", is_one_machine ? "one" : "several"},
                  {"ranks", std::to_string(ranks)}};
  result.labels = {{"algorithm", estimate.algorithm}, {"protocol", estimate.protocol}};
  result.baseline.bytes = static_cast<double>(call.bytes.count()) * bus_factor(row.kind, ranks);
  const Bandwidth links = is_one_machine ? alone->topology->port() : network->topology->card();
  if (links > Bandwidth{0}) result.baseline.ideal_us = result.baseline.bytes / links.value() * 1e6;
}

}  // namespace warploom
