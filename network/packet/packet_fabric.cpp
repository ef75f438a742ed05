// SPDX-License-Identifier: Apache-2.0
// Bundles as transfers.
#include "network/packet/packet_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "network/fabrics/axis.hpp"
#include "network/graph/background.hpp"
#include "network/graph/routing.hpp"
#include "network/packet/reduction_tree.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr bool goes_in_turn(FlowPattern pattern) {
  return pattern == FlowPattern::ring || pattern == FlowPattern::chain || pattern == FlowPattern::rails;
}

// floor(bytes x units / units_per_flow), without overflow.
std::int64_t part(std::int64_t bytes, std::int64_t units) {
  return bytes / units_per_flow * units + bytes % units_per_flow * units / units_per_flow;
}

// The topology's own ways; its routing policy's (tables, longer ways) only where the packet fabric asks for no other.
std::unique_ptr<Router> router_for(const Topology& topology, const NetworkGraph& graph, const PacketSpec& spec) {
  const RoutingPolicy policy = topology.routing().policy;
  const bool is_own = policy != RoutingPolicy::spray && policy != RoutingPolicy::ecmp;
  if (is_own && spec.routing) return std::make_unique<Router>(graph);
  return topology.router(graph);
}

// What others take of a link's rate is not there for packets.
NetworkGraph graph_left_by_others(const Topology& topology) {
  NetworkGraph graph = topology.graph();
  const std::vector<double> taken = topology.background();
  for (LinkIndex i = 0; i < graph.links().size(); ++i)
    graph.set_health(i, static_cast<double>(graph.links()[i].health) * (1 - taken_of(taken, i)));
  return graph;
}

}  // namespace

PacketFabric::PacketFabric(const PacketSpec& spec, std::shared_ptr<const Topology> topology, Engine& engine,
                           BundleListener& listener)
    : topology_(std::move(topology)),
      listener_(listener),
      graph_(graph_left_by_others(*topology_)),
      network_(graph_, spec, engine, *this, router_for(*topology_, graph_, spec), topology_->routing()) {}

void PacketFabric::prepare(std::span<const Group> groups, std::span<const Traffic> traffic) {
  groups_.assign(groups.begin(), groups.end());
  for (const Traffic& one : traffic) traffic_[one];
  counters_.link_classes = graph_.edge_count();
}

// ---- Writing out ----------------------------------------------------------------------------------------------------

void PacketFabric::write(Written& written, const Traffic& traffic) const {
  const Group group = require_lines(traffic.axis, groups_[traffic.group]);
  std::map<std::tuple<std::uint32_t, Rank, SwitchEnd>, std::int64_t> given;
  const bool splits = traffic.pattern == FlowPattern::ring || traffic.pattern == FlowPattern::chain;
  for (const ExplicitFlow& flow : explicit_flows(traffic, groups_[traffic.group], topology_->node_size())) {
    Flow made{flow, 0, nothing, nothing, 0};
    if (splits) {
      std::int64_t& units = given[{flow.instance, flow.from, flow.at_switch}];
      made.before = units;
      units += flow.units;
    }
    written.flows.push_back(made);
  }
  written.is_single = group.instance_count() == 1;
  if (goes_in_turn(traffic.pattern)) join_in_turn(written);
  if (traffic.pattern == FlowPattern::ports) join_at_switches(written);
  if (traffic.pattern == FlowPattern::tree) join_trees(written, group, topology_->node_size());
  written.is_made = true;
}

// A gate at every rank that receives.
void PacketFabric::join_in_turn(Written& written) const {
  std::map<std::pair<std::uint32_t, Rank>, std::uint32_t> gate_of;
  for (Flow& flow : written.flows) {
    const auto [known, is_new] =
        gate_of.try_emplace({flow.flow.instance, flow.flow.to}, static_cast<std::uint32_t>(written.gates.size()));
    if (is_new) {
      written.gates.push_back(1);
      written.units.push_back(0);
    }
    written.units[known->second] += flow.flow.units;
    flow.in = known->second;
  }
  for (Flow& flow : written.flows) {
    if (const auto at = gate_of.find({flow.flow.instance, flow.flow.from}); at != gate_of.end()) flow.out = at->second;
  }
}

// A gate at every switch that reduces, with an input for every member.
void PacketFabric::join_at_switches(Written& written) const {
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> gate_of;
  const auto key = [this](const Flow& flow) {
    return std::pair(flow.flow.instance, flow.flow.from / topology_->node_size());
  };
  for (Flow& flow : written.flows) {
    if (flow.flow.at_switch != SwitchEnd::receives) continue;
    const auto [known, is_new] = gate_of.try_emplace(key(flow), static_cast<std::uint32_t>(written.gates.size()));
    if (is_new) {
      written.gates.push_back(0);
      written.units.push_back(flow.flow.units);
    }
    flow.in = known->second;
    flow.input = written.gates[known->second]++;
  }
  for (Flow& flow : written.flows) {
    if (flow.flow.at_switch != SwitchEnd::sends) continue;
    if (const auto at = gate_of.find(key(flow)); at != gate_of.end()) flow.out = at->second;
  }
}

VertexId PacketFabric::switch_of(Rank rank) const {
  const VertexId device = graph_.device(rank);
  if (const VertexId found = graph_.nvlink_switch(device); found != no_vertex) return found;
  throw UserError(fmt::format("`{}` hangs on no switch that could add up what it sends", graph_.name(device)),
                  "in-switch reduction needs an NVLink switch in the node");
}

// Of the way between the first and the one farthest from it.
VertexId PacketFabric::middle_of(const std::vector<VertexId>& members) {
  Router& router = network_.router();
  const auto distance = [&](VertexId to) { return router.distance(members.front(), to); };
  const VertexId far = *std::ranges::max_element(members, {}, distance);
  std::vector<EdgeId> links;
  VertexId at = members.front();
  while (2 * router.distance(at, far) > router.distance(members.front(), far)) {
    router.next(at, far, links);
    at = graph_.to(links.front());
  }
  if (graph_.group_of(at).kind == VertexKind::network_switch) return at;
  throw UserError(fmt::format("no switch stands between `{}` and `{}`", graph_.name(members.front()), graph_.name(far)),
                  "reduction in the network needs switches; choose another `--algo`");
}

void PacketFabric::add_switch_trees(TransferId transfer, const Bundle& bundle) {
  const Group group = require_lines(bundle.traffic.axis, groups_[bundle.traffic.group]);
  for (const RankBox& box : group.instances) {
    for (std::int64_t i = 0; i < box.size(); ++i) {
      std::map<std::int64_t, std::vector<VertexId>> nodes;
      for (std::int64_t m = 0; m < group.member_count(); ++m) {
        const Rank rank = group.rank(box.at(i), m);
        nodes[rank / topology_->node_size()].push_back(graph_.device(rank));
      }
      if (nodes.size() < 2) continue;
      std::size_t rails = SIZE_MAX;
      for (const auto& [node, devices] : nodes) rails = std::min(rails, devices.size());
      const std::int64_t bytes = bundle.bytes_per_flow.count();
      for (std::size_t rail = 0; rail < rails; ++rail) {
        std::vector<VertexId> members;
        for (const auto& [node, devices] : nodes) members.push_back(devices[rail]);
        const auto count = static_cast<std::int64_t>(rails);
        const auto before = static_cast<std::int64_t>(rail);
        const Bytes part(bytes * (before + 1) / count - bytes * before / count);
        add_reduction(network_, transfer, reduction_tree(network_.router(), members, middle_of(members)), part,
                      bundle.flow_limit / static_cast<double>(rails));
      }
    }
  }
}

// ---- Playing --------------------------------------------------------------------------------------------------------

BundleId PacketFabric::start(const Bundle& bundle, std::uint64_t token) {
  const auto known = traffic_.find(bundle.traffic);
  WARPLOOM_CHECK(known != traffic_.end(), "traffic of group {} was not announced", bundle.traffic.group);
  WARPLOOM_CHECK(bundle.bytes_per_flow >= Bytes::zero(), "a bundle of {} bytes", bundle.bytes_per_flow.count());
  Written& written = known->second;
  if (!written.is_made) write(written, bundle.traffic);
  ++counters_.bundles;
  counters_.variables = std::max(counters_.variables, written.flows.size());

  const std::int64_t bytes = bundle.bytes_per_flow.count();
  const bool at_switches = bundle.traffic.pattern == FlowPattern::ports;
  const bool is_gated = !written.gates.empty() && (bundle.first > Bytes::zero() || at_switches);
  const bool has_own = bundle.traffic.pattern == FlowPattern::ring || bundle.traffic.pattern == FlowPattern::rails;
  // What a device reaches for all its messages together; one that is done or slowed down leaves the rest more.
  const bool sends_several =
      bundle.traffic.pattern == FlowPattern::all_pairs || bundle.traffic.pattern == FlowPattern::scatter;
  const TransferId transfer = network_.open();
  const bool by_switches = bundle.traffic.pattern == FlowPattern::rails && bundle.traffic.distance == rails_by_switches;
  if (by_switches) add_switch_trees(transfer, bundle);
  std::vector<GateId> gates;
  if (is_gated) {
    for (std::size_t i = 0; i < written.gates.size(); ++i) {
      gates.push_back(network_.add_gate(transfer, has_own ? bundle.first.count() : 0, written.gates[i],
                                        part(bytes, written.units[i])));
    }
  }
  for (const Flow& one : by_switches ? std::span<const Flow>() : std::span<const Flow>(written.flows)) {
    const ExplicitFlow& explicit_flow = one.flow;
    PacketFlow flow;
    flow.from =
        explicit_flow.at_switch == SwitchEnd::sends ? switch_of(explicit_flow.from) : graph_.device(explicit_flow.from);
    flow.to =
        explicit_flow.at_switch == SwitchEnd::receives ? switch_of(explicit_flow.to) : graph_.device(explicit_flow.to);
    flow.bytes = Bytes(part(bytes, one.before + explicit_flow.units) - part(bytes, one.before));
    flow.weight = explicit_flow.share();
    // Of a tree or a switch each flow passes all that its gate lets through, else the flows of a rank share it.
    flow.share = goes_in_turn(bundle.traffic.pattern) ? flow.weight : 1.0;
    flow.limit = bundle.flow_limit * flow.weight;
    flow.shares_limit = sends_several;
    flow.channel = bundle.traffic.group;
    flow.lane = static_cast<std::uint8_t>(bundle.traffic.group % static_cast<GroupId>(network_.spec().lanes));
    if (is_gated && one.out != nothing) flow.gate = gates[one.out];
    const ConnectionRange connections = network_.add(transfer, flow);
    if (is_gated && one.in != nothing) network_.feed(transfer, connections, gates[one.in], one.input);
  }
  if (running_.size() <= transfer) running_.resize(transfer + 1);
  running_[transfer] = {token, written.is_single};
  network_.start(transfer);
  return transfer;
}

void PacketFabric::limit(BundleId bundle, Bandwidth rate) { network_.limit(bundle, rate); }

BusiestLink PacketFabric::busiest_link(Time duration) const {
  BusiestLink busiest;
  if (duration <= Time::zero()) return busiest;
  for (EdgeId edge = 0; edge < graph_.edge_count(); ++edge) {
    const double bytes = static_cast<double>(network_.carried(edge).count());
    if (bytes <= 0) continue;
    const double load = bytes / (graph_.payload(edge).value() * duration.seconds());
    if (load <= busiest.load) continue;
    busiest = {graph_.kind(edge).name, load};
  }
  return busiest;
}

// Of the kinds of link that have any.
std::string PacketFabric::control_in_words() const {
  const auto has = [this](LinkProtocol protocol) {
    for (EdgeId edge = 0; edge < graph_.edge_count(); ++edge) {
      if (graph_.kind(edge).protocol == protocol) return true;
    }
    return false;
  };
  const PacketSpec& spec = network_.spec();
  std::string words;
  if (has(LinkProtocol::ethernet)) {
    words = fmt::format("{} over Ethernet, {} pauses", enum_name(spec.ethernet.congestion_control),
                        spec.ethernet.pause.enabled ? "with" : "without");
  }
  if (has(LinkProtocol::infiniband)) {
    words += fmt::format("{}{} over InfiniBand", words.empty() ? "" : "; ",
                         spec.infiniband.congestion_control.enabled ? "table of delays" : "credits alone");
  }
  return words.empty() ? "credits alone" : words;
}

PacketStatistics PacketFabric::statistics(std::size_t most) const {
  PacketStatistics all = network_.statistics(most);
  all.routing = network_.routing().in_words();
  all.congestion_control = control_in_words();
  return all;
}

void PacketFabric::on_transfer_done(TransferId id) {
  const Running running = running_[id];
  listener_.on_bundle_done(running.token, running.alike);
}

}  // namespace warploom
