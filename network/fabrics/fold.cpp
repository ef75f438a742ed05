// SPDX-License-Identifier: Apache-2.0
// Colour refinement on boxes.
#include "network/fabrics/fold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "network/fabrics/axis.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

// A class of variables in the making.
struct Variables {
  std::size_t traffic = 0;
  std::vector<Box> instances;  // coupled: where they start
  std::vector<FlowBox> flows;  // independent
};

using Color = std::vector<Share>;

class Refiner {
 public:
  Refiner(const TieredTopology& topology, std::span<const Group> groups, std::span<const Traffic> traffic);
  Folding run();

 private:
  void require_ranks(const Group& group) const;
  std::vector<FlowEnd> ends() const;
  // The classes that a class falls into, one if all its variables see the same links.
  std::vector<Variables> part(const Variables& variables);
  std::vector<Variables> part_instances(const Variables& variables);
  std::vector<Variables> part_flows(const Variables& variables);
  const Color& color_of_instance(const TrafficShape& shape, Rank start);
  bool flow_stays_in_nodes(const FlowBox& flow, const Box& rest, std::size_t digit) const;
  void add_route(Rank from, Rank to, std::int64_t units, Color& color);
  Folding finish() const;

  const TieredTopology& topology_;
  std::vector<TrafficShape> shapes_;
  std::vector<Variables> classes_;
  LinkTree tree_;
  LinkTree::Path from_path_;
  LinkTree::Path to_path_;
  Color color_;
  int rounds_ = 0;
};

// Joins entries of equal id.
void join(Color& color) {
  std::ranges::sort(color);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < color.size(); ++i) {
    if (kept > 0 && color[kept - 1].id == color[i].id) {
      color[kept - 1].units += color[i].units;
    } else {
      color[kept++] = color[i];
    }
  }
  color.resize(kept);
}

// A box with the digits taken out in which nothing can differ.
struct Reduced {
  Box box;
  std::vector<Stride> removed;
};

template <class CanRemove>
Reduced reduce(const Box& box, CanRemove&& can_remove) {
  Reduced reduced{box, {}};
  std::size_t i = 0;
  while (i < reduced.box.digits().size()) {
    if (can_remove(reduced.box, i)) {
      reduced.removed.push_back(reduced.box.digits()[i]);
      reduced.box = reduced.box.without(i);
    } else {
      ++i;
    }
  }
  return reduced;
}

Refiner::Refiner(const TieredTopology& topology, std::span<const Group> groups, std::span<const Traffic> traffic)
    : topology_(topology), tree_(topology) {
  for (std::size_t t = 0; t < traffic.size(); ++t) {
    WARPLOOM_CHECK(traffic[t].group < groups.size(), "traffic of group {} of {}", traffic[t].group, groups.size());
    const Group group = require_lines(traffic[t].axis, groups[traffic[t].group]);
    require_ranks(group);
    shapes_.emplace_back(traffic[t], group, topology);
    if (group.member_count() == 1) continue;
    Variables variables;
    variables.traffic = t;
    for (const auto& ranks : group.instances) {
      for (const Box& box : normal_boxes(ranks.base, ranks.digits)) variables.instances.push_back(box);
    }
    if (!shapes_[t].coupled()) {
      for (const Box& box : variables.instances) {
        Flows flows = shapes_[t].flows(box);
        variables.flows.insert(variables.flows.end(), flows.routed.begin(), flows.routed.end());
      }
      variables.instances.clear();
    }
    classes_.push_back(std::move(variables));
  }
}

void Refiner::require_ranks(const Group& group) const {
  const auto reach = [](const RankBox& box) {
    std::pair<Rank, Rank> range{box.base, box.base};
    for (const auto& digit : box.digits) {
      const Rank far = (digit.count - 1) * digit.stride;
      (far < 0 ? range.first : range.second) += far;
    }
    return range;
  };
  const auto [low, high] = reach(group.members);
  for (const auto& box : group.instances) {
    const auto [first, last] = reach(box);
    topology_.require_rank(first + low);
    topology_.require_rank(last + high);
  }
}

std::vector<FlowEnd> Refiner::ends() const {
  std::vector<FlowEnd> ends;
  const auto add_routed = [&ends](VariableId id, const FlowBox& flow) {
    ends.push_back({id, Direction::up, false, flow.units, flow.delta, flow.from});
    ends.push_back({id, Direction::down, false, flow.units, -flow.delta, flow.from.shifted(flow.delta)});
  };
  for (VariableId id = 0; id < classes_.size(); ++id) {
    const auto& variables = classes_[id];
    for (const auto& flow : variables.flows) add_routed(id, flow);
    for (const Box& box : variables.instances) {
      const Flows flows = shapes_[variables.traffic].flows(box);
      for (const auto& flow : flows.routed) add_routed(id, flow);
      for (const auto& port : flows.ports) {
        ends.push_back({id, Direction::up, true, port.units, 0, port.ranks});
        ends.push_back({id, Direction::down, true, port.units, 0, port.ranks});
      }
    }
  }
  return ends;
}

void Refiner::add_route(Rank from, Rank to, std::int64_t units, Color& color) {
  tree_.path(from, from_path_);
  tree_.path(to, to_path_);
  const int meeting = topology_.meeting_tier(from, to);
  for (int tier = meeting == 1 ? 0 : 1; tier < meeting; ++tier) {
    if (!topology_.tiers()[static_cast<std::size_t>(tier)].can_bind) continue;
    color.push_back({from_path_.up[static_cast<std::size_t>(tier)], units});
    color.push_back({to_path_.down[static_cast<std::size_t>(tier)], units});
  }
}

const Color& Refiner::color_of_instance(const TrafficShape& shape, Rank start) {
  color_.clear();
  const Flows flows = shape.flows(Box(start));
  for (const auto& flow : flows.routed) {
    const std::int64_t count = flow.from.size();
    for (std::int64_t i = 0; i < count; ++i) {
      const Rank from = flow.from.at(i);
      add_route(from, from + flow.delta, flow.units, color_);
    }
  }
  for (const auto& port : flows.ports) {
    const std::int64_t count = port.ranks.size();
    for (std::int64_t i = 0; i < count; ++i) {
      tree_.path(port.ranks.at(i), from_path_);
      color_.push_back({from_path_.up[0], port.units});
      color_.push_back({from_path_.down[0], port.units});
    }
  }
  join(color_);
  return color_;
}

// Parts what stands in `boxes` by color; `place` puts a box of one color into its part. Nothing is written down while
// all are alike.
template <class ColorId, class Place>
std::vector<Variables> part_by_color(const Variables& variables, const std::vector<Reduced>& boxes, ColorId&& color_id,
                                     Place&& place) {
  bool all_alike = true;
  for (std::size_t b = 0; b < boxes.size() && all_alike; ++b) {
    const std::int64_t size = boxes[b].box.size();
    for (std::int64_t i = 0; i < size && all_alike; ++i) all_alike = color_id(b, boxes[b].box.at(i)) == 0;
  }
  if (all_alike) return {variables};
  std::vector<Variables> parts;
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    const auto& [box, removed] = boxes[b];
    std::map<std::size_t, BoxWriter> writers;
    for (std::int64_t i = 0; i < box.size(); ++i) writers[color_id(b, box.at(i))].add(box.at(i));
    for (auto& [id, writer] : writers) {
      if (id >= parts.size()) parts.resize(id + 1);
      parts[id].traffic = variables.traffic;
      for (const Box& written : writer.finish()) {
        for (const Box& whole : sum_boxes(written, 0, removed)) place(parts[id], b, whole);
      }
    }
  }
  return parts;
}

std::vector<Variables> Refiner::part_instances(const Variables& variables) {
  const TrafficShape& shape = shapes_[variables.traffic];
  std::vector<Reduced> boxes;
  std::int64_t count = 0;
  for (const Box& box : variables.instances) {
    boxes.push_back(reduce(box, [&](const Box& rest, std::size_t digit) {
      return tree_.nodes_are_uniform() && shape.stays_in_nodes(rest, digit);
    }));
    count += boxes.back().box.size();
  }
  if (count == 1) return {variables};
  std::map<Color, std::size_t> colors;
  // Instances inside one node look alike where the nodes do.
  std::map<std::pair<std::uint32_t, std::int64_t>, std::size_t> by_node;
  const auto color_id = [&](std::size_t /*box*/, Rank start) {
    const bool in_node = shape.is_inside_a_node(start);
    const std::pair<std::uint32_t, std::int64_t> place{in_node ? tree_.node_kind(start) : 0,
                                                       start % topology_.node_size()};
    if (in_node) {
      if (const auto known = by_node.find(place); known != by_node.end()) return known->second;
    }
    const std::size_t id = colors.try_emplace(color_of_instance(shape, start), colors.size()).first->second;
    if (in_node) by_node.emplace(place, id);
    return id;
  };
  return part_by_color(variables, boxes, color_id, [](Variables& part, std::size_t /*box*/, const Box& starts) {
    part.instances.push_back(starts);
  });
}

// Moving a flow by this digit keeps both its ends in their nodes.
bool Refiner::flow_stays_in_nodes(const FlowBox& flow, const Box& rest, std::size_t digit) const {
  const std::int64_t node = topology_.node_size();
  if (flow.delta % node != 0 || rest.digits()[digit].stride % node == 0) return false;
  std::int64_t extent = 0;
  for (const auto& other : rest.digits()) {
    if (other.stride % node != 0) extent += (other.count - 1) * other.stride;
  }
  return rest.base % node + extent < node;
}

std::vector<Variables> Refiner::part_flows(const Variables& variables) {
  const auto& flows = variables.flows;
  std::vector<Reduced> boxes;
  for (const auto& flow : flows) {
    boxes.push_back(reduce(flow.from, [&](const Box& rest, std::size_t digit) {
      return tree_.nodes_are_uniform() && flow_stays_in_nodes(flow, rest, digit);
    }));
  }
  std::map<Color, std::size_t> colors;
  const auto color_id = [&](std::size_t box, Rank from) {
    color_.clear();
    add_route(from, from + flows[box].delta, flows[box].units, color_);
    return colors.try_emplace(color_, colors.size()).first->second;
  };
  return part_by_color(variables, boxes, color_id, [&flows](Variables& part, std::size_t box, const Box& from) {
    part.flows.push_back({from, flows[box].delta, flows[box].units});
  });
}

Folding Refiner::run() {
  while (true) {
    ++rounds_;
    tree_.build(ends());
    std::vector<Variables> next;
    for (const auto& variables : classes_) {
      auto parts = variables.flows.empty() ? part_instances(variables) : part_flows(variables);
      for (auto& part : parts) next.push_back(std::move(part));
    }
    const bool is_stable = next.size() == classes_.size();
    classes_ = std::move(next);
    if (is_stable) return finish();
  }
}

// Links of equal use are equally full whatever their tier; only the thinnest of them can bind.
Folding Refiner::finish() const {
  Folding folding;
  folding.rounds = rounds_;
  folding.tree_vertices = tree_.size();
  for (const LinkTier& tier : topology_.tiers()) folding.kinds.push_back(tier.name);
  std::map<std::vector<Share>, std::size_t> known;
  for (const auto& link : tree_.classes()) {
    const double capacity = topology_.tiers()[static_cast<std::size_t>(link.tier)].payload().value();
    const auto [place, is_new] = known.try_emplace(link.usage, folding.links.size());
    const auto kind = static_cast<std::uint32_t>(link.tier);
    if (is_new) {
      folding.links.push_back({capacity, link.usage, kind});
    } else if (FoldedLink& least = folding.links[place->second]; capacity < least.capacity) {
      least.capacity = capacity;
      least.kind = kind;
    }
  }
  folding.variables.resize(classes_.size());
  for (std::uint32_t link = 0; link < folding.links.size(); ++link) {
    for (const auto& share : folding.links[link].usage)
      folding.variables[share.id].links.push_back({link, share.units});
  }
  folding.of_traffic.assign(shapes_.size(), {0, 0});
  for (VariableId id = 0; id < classes_.size(); ++id) {
    auto& range = folding.of_traffic[classes_[id].traffic];
    if (range.second == 0) range.first = id;
    range.second = id + 1;
  }
  return folding;
}

}  // namespace

Folding fold(const Topology& topology, std::span<const Group> groups, std::span<const Traffic> traffic) {
  const TieredTopology* tiers = topology.tiered();
  if (tiers == nullptr) throw UserError(fmt::format("`{}` has no tiers of links that fold", topology.kind()));
  return Refiner(*tiers, groups, traffic).run();
}

}  // namespace warploom
