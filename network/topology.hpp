// SPDX-License-Identifier: Apache-2.0
// What connects the devices: what planners ask of any network, and the tiers of links of those that are trees.
//
// A rank is a device: rank r is device r of the cluster, device r lies in node r / node_size(). Every topology can be
// written out (graph()). Of the tiered ones links are addressed by arithmetic, so that they fold: tier 0 is the
// device's port into its node's switch (NVLink), tier 1 its network card, tier 2 the uplinks of the first switches, and
// so on to the roots, which have none. A link is full duplex: `up` leads to the roots, `down` from them. Tiers assume
// that an even split over equal-cost paths makes the uplinks of one switch act as one link, and that switches do not
// block inside. Not modelled by tiers: PXN (NVLink to the device on the destination's rail first) and PCIe between card
// and device.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "network/graph/graph.hpp"
#include "network/graph/routing_policy.hpp"
#include "sim/core/units.hpp"
#include "sim/work/group.hpp"

namespace warploom {

enum class Direction : std::uint8_t { up, down };

struct LinkId {
  int tier = 0;
  Direction direction = Direction::up;
  std::int64_t index = 0;
  friend auto operator<=>(const LinkId&, const LinkId&) = default;
};

// All links of one kind.
struct LinkTier {
  std::string name;         // "nvlink", "nic", then the switches whose uplinks these are: "leaf", "spine"
  std::int64_t count = 0;   // links in use, a direction
  Bandwidth rate{0};        // of one link, one way, as the data sheet says it
  double efficiency = 1.0;  // of which payload gets at best: headers, flow control
  Time latency;             // to cross the link and the switch behind it
  // Units of `span` devices, aligned to their size, hold `lanes` links each; a device uses the one of its rail.
  std::int64_t span = 1;
  std::int64_t lanes = 1;
  // False where the links below are too thin to fill one: such links never shape a rate.
  bool can_bind = true;

  Bandwidth payload() const { return rate * efficiency; }
};

// The links that a flow crosses, in order.
class Route {
 public:
  static constexpr std::size_t max_links = 16;
  void add(LinkId link);
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  const LinkId& operator[](std::size_t index) const { return links_[index]; }
  const LinkId* begin() const { return links_.data(); }
  const LinkId* end() const { return links_.data() + count_; }

 private:
  std::array<LinkId, max_links> links_{};
  std::size_t count_ = 0;
};

// What a topology of switches is made of, for `describe` and for tests against published figures.
struct TierSummary {
  std::string name;
  std::int64_t switches = 0;    // in the whole cluster
  std::int64_t ports_down = 0;  // a switch: links to the tier below
  Bandwidth up{0};              // a switch: payload rate is up * efficiency; 0 at the roots
  double oversubscription = 0;  // down rate over up rate; 0 at the roots
};

class Router;
class TieredTopology;

class Topology {
 public:
  virtual ~Topology() = default;

  virtual std::string_view kind() const = 0;
  virtual std::int64_t cluster_size() const = 0;  // devices that there are
  virtual std::int64_t device_count() const = 0;  // devices that the job uses: 0 .. device_count() - 1
  virtual std::int64_t node_size() const = 0;     // devices of a node: those that reach each other without a card

  // What a device gets into its node at most, one way, all its links together: payload.
  virtual Bandwidth port() const = 0;
  // What a card gets out of the node, one way: payload. Zero where nothing is outside.
  virtual Bandwidth card() const = 0;
  // Cards of a node as its devices see them: those beyond one a device are bonded.
  virtual double cards_of_node() const = 0;

  // The devices of a node hang on a switch that adds up and multicasts (NVLink's), or on one that stands for it.
  virtual bool reduces_in_node() const { return true; }

  // Of the links on the shortest way. Throws UserError for a rank outside the job.
  virtual Time latency(Rank from, Rank to) const = 0;
  // Moving both ends by a multiple of it changes no latency.
  virtual std::int64_t period() const = 0;

  // The devices in use and what joins them, written out. Throws UserError where that is too much.
  virtual NetworkGraph graph() const = 0;
  // Ways through graph(), as this topology routes; keeps a reference to it.
  virtual std::unique_ptr<Router> router(const NetworkGraph& graph) const;
  // How flows choose among its ways, and what others take of each edge of graph() (empty: nothing).
  virtual RoutingSpec routing() const { return {}; }
  virtual std::vector<double> background() const { return {}; }
  // The tiers of its links; null where they form no tree.
  virtual const TieredTopology* tiered() const { return nullptr; }

  bool same_node(Rank a, Rank b) const { return a / node_size() == b / node_size(); }
  // Throws UserError that says which ranks there are.
  void require_rank(Rank rank) const;

  // Data-sheet rates of the whole cluster.
  virtual Bandwidth injection() const = 0;  // all devices' network cards, one way
  virtual Bandwidth bisection() const = 0;  // between two halves, one way
  virtual int diameter() const = 0;         // links on the longest shortest way, from device to device
};

class TieredTopology : public Topology {
 public:
  const TieredTopology* tiered() const override { return this; }
  virtual std::span<const LinkTier> tiers() const = 0;

  // Empty from a device to itself. Throws UserError for a rank outside the job.
  virtual Route route(Rank from, Rank to) const = 0;
  virtual std::span<const TierSummary> summary() const = 0;

  Bandwidth port() const override { return tiers()[0].payload(); }
  Bandwidth card() const override { return tiers().size() > 1 ? tiers()[1].payload() : Bandwidth{0}; }
  double cards_of_node() const override;
  Time latency(Rank from, Rank to) const override;
  std::int64_t period() const override { return tiers().back().span; }

  // The link of a tier that leads from a device towards the roots.
  std::int64_t link_index(int tier, Rank device) const;
  // The first tier whose links a flow between the two does not need: 1 inside a node, 2 under one switch, and so on.
  int meeting_tier(Rank a, Rank b) const;
};

}  // namespace warploom
