// SPDX-License-Identifier: Apache-2.0
// What the packet fabric's parameters must be to each other.
#include "network/packet/spec.hpp"

#include <fmt/format.h>

namespace warploom {

namespace {

void smaller_than_packet(const ConfigValue& at, const char* key, Bytes buffer, Bytes packet, Diagnostics& diagnostics) {
  const auto found = at.find(key);
  diagnostics.error(found ? found->origin() : at.origin(), at.path_of(key),
                    fmt::format("a buffer of {} does not hold a packet of {}", to_string(buffer), to_string(packet)),
                    "a packet is `mtu` (times `train`) plus `header`");
}

}  // namespace

PacketRouting packet_routing(const PacketSpec& spec, const RoutingSpec& network) {
  PacketRouting routing;
  routing.policy = network.policy;
  routing.seed = network.seed;
  routing.queue_pairs = spec.queue_pairs.value_or(network.queue_pairs);
  routing.most_paths = spec.spray_paths;
  switch (network.policy) {
    case RoutingPolicy::spray:
    case RoutingPolicy::all_paths:
      routing.paths = PacketPaths::spray;
      break;
    case RoutingPolicy::ecmp:
    case RoutingPolicy::static_tables:
      routing.paths = PacketPaths::ecmp;
      break;
    case RoutingPolicy::adaptive:
      routing.paths = PacketPaths::adaptive;
      break;
  }
  if (!spec.routing) return routing;
  routing.paths = *spec.routing;
  routing.policy = routing.paths == PacketPaths::adaptive ? RoutingPolicy::adaptive
                   : routing.paths == PacketPaths::spray  ? RoutingPolicy::spray
                                                          : RoutingPolicy::ecmp;
  return routing;
}

std::string PacketRouting::in_words() const {
  switch (policy) {
    case RoutingPolicy::spray:
      return fmt::format("packets take turns among up to {} ways of equal cost (spray)", most_paths);
    case RoutingPolicy::all_paths:
      return fmt::format("packets take turns among up to {} ways, longer ones too (all_paths)", most_paths);
    case RoutingPolicy::adaptive:
      return fmt::format("packets take the emptiest of up to {} ways of equal cost (adaptive)", most_paths);
    case RoutingPolicy::static_tables:
      return "one way to each device (static tables)";
    case RoutingPolicy::ecmp:
      break;
  }
  return fmt::format("{} queue pair{} a flow, each on one way by its hash (ecmp)", queue_pairs,
                     queue_pairs == 1 ? "" : "s");
}

void EcnSpec::check(const EcnSpec& ecn, const ConfigValue& at, Diagnostics& diagnostics) {
  if (ecn.kmin <= ecn.kmax) return;
  const auto found = at.find("kmin");
  diagnostics.error(found ? found->origin() : at.origin(), at.path_of("kmin"),
                    fmt::format("expected at most kmax = {}, got {}", to_string(ecn.kmax), to_string(ecn.kmin)),
                    "marking starts at kmin and is certain from kmax");
}

void SwiftSpec::check(const SwiftSpec& swift, const ConfigValue& at, Diagnostics& diagnostics) {
  if (swift.flow_scaling_least < swift.flow_scaling_most) return;
  diagnostics.error(at.origin(), at.path_of("flow_scaling_least"),
                    fmt::format("expected less than flow_scaling_most = {}, got {}", swift.flow_scaling_most,
                                swift.flow_scaling_least));
}

void EthernetSpec::check(const EthernetSpec& ethernet, const ConfigValue& at, Diagnostics& diagnostics) {
  const Bytes packet = ethernet.mtu + ethernet.header;
  if (ethernet.buffer < packet) smaller_than_packet(at, "buffer", ethernet.buffer, packet, diagnostics);
}

void InfinibandSpec::check(const InfinibandSpec& infiniband, const ConfigValue& at, Diagnostics& diagnostics) {
  const Bytes packet = infiniband.mtu + infiniband.header;
  if (infiniband.buffer > Bytes::zero() && infiniband.buffer < packet) {
    smaller_than_packet(at, "buffer", infiniband.buffer, packet, diagnostics);
  }
}

void PacketSpec::check(const PacketSpec& spec, const ConfigValue& at, Diagnostics& diagnostics) {
  const Bytes train = (spec.infiniband.mtu + spec.infiniband.header) * spec.train;
  if (spec.infiniband.buffer > Bytes::zero() && spec.infiniband.buffer < train) {
    diagnostics.error(
        at.origin(), at.path_of("infiniband.buffer"),
        fmt::format("a buffer of {} does not hold a train of {}", to_string(spec.infiniband.buffer), to_string(train)),
        "a train is `train` packets");
  }
  const NvlinkSizeSpec& nvlink = spec.nvlink;
  const Bytes links = nvlink.flit * ((nvlink.data_flits + nvlink.header_flits) * nvlink.train);
  if (nvlink.buffer > Bytes::zero() && nvlink.buffer < links) {
    diagnostics.error(
        at.origin(), at.path_of("nvlink.buffer"),
        fmt::format("a buffer of {} does not hold a train of {}", to_string(nvlink.buffer), to_string(links)),
        "a train is `train` packets of `data_flits` and `header_flits`");
  }
}

}  // namespace warploom
