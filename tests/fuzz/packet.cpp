// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either the parameters of a packet fabric, by which an incast and its answers are played to
// the last byte, or a UserError (a mistake, a deadlock, a link too slow, too long a play); never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "network/packet/packet_fabric.hpp"
#include "network/topologies.hpp"
#include "sim/core/config.hpp"
#include "sim/core/config_value.hpp"
#include "sim/core/errors.hpp"

namespace {

using namespace warploom;

constexpr const char* networks[] = {
    "kind: fat_tree\nnode: {gpus: 2, nvlink: {links: 1, rate: 25 GB/s}}\n"
    "nic: {count: 2, rate: 100 Gb/s, cable: {protocol: ethernet}}\n"
    "tiers: [{name: rack, of: 1, oversubscription: 1}, {name: pod, of: 4}]\n",
    "kind: rail_fat_tree\nnode: {gpus: 2, nvlink: {links: 1, rate: 25 GB/s}}\nnic: {count: 2, rate: 100 Gb/s}\n"
    "tiers: [{name: leaf, of: 2, oversubscription: 1}, {name: spine, of: 2}]\n"};

struct Nobody : BundleListener {
  void on_bundle_done(std::uint64_t /*token*/, bool /*alike*/) override {}
};

void play(PacketSpec spec, const std::shared_ptr<const Topology>& topology) {
  spec.most_hops = 200'000;
  Engine engine;
  Nobody nobody;
  PacketFabric fabric(spec, topology, engine, nobody);
  Group group;
  group.members.digits = {{8, 1}};
  group.instances = {{0, {}}};
  Bundle bundle;
  bundle.bytes_per_flow = Bytes(200'000);
  std::vector<Traffic> traffic;
  for (const auto pattern : {FlowPattern::gather, FlowPattern::all_pairs}) {
    bundle.traffic.pattern = pattern;
    traffic.push_back(bundle.traffic);
  }
  fabric.prepare(std::span(&group, 1), traffic);
  for (const Traffic& one : traffic) {
    bundle.traffic = one;
    fabric.start(bundle, 0);
  }
  for (int step = 0; step < 5'000'000 && engine.step(); ++step) {
    if (engine.now() > Time::picoseconds(2'000'000'000'000)) return;  // 2 s: losses and long timers
  }
  const PacketStatistics statistics = fabric.statistics(3);
  if (statistics.delivered > statistics.asked) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  for (const char* text : networks) {
    try {
      const auto value = parse_config_text({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
      Diagnostics diagnostics;
      const auto spec = read<PacketSpec>(value, diagnostics);
      if (diagnostics.has_errors()) continue;
      const std::shared_ptr<const Topology> topology =
          topology_registry().make(parse_config_text(text, "network.yaml"), diagnostics, 8);
      diagnostics.throw_if_any();
      play(spec, topology);
    } catch (const UserError& error) {
      if (error.message().empty()) std::abort();
    }
  }
  return 0;
}
