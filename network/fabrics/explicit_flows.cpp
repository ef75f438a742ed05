// SPDX-License-Identifier: Apache-2.0
// Boxes and nodes, member by member.
#include "network/fabrics/explicit_flows.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "network/fabrics/axis.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

class Writer {
 public:
  Writer(const Traffic& traffic, const Group& group, std::int64_t node_size, std::int64_t most)
      : pattern_(traffic.pattern),
        group_(require_lines(traffic.axis, group)),
        node_size_(node_size),
        most_(most),
        shape_(traffic, group_, node_size) {}

  std::vector<ExplicitFlow> write() {
    require_few();
    std::uint32_t instance = 0;
    for (const RankBox& box : group_.instances) {
      for (std::int64_t i = 0; i < box.size(); ++i, ++instance) add_instance(box.at(i), instance);
    }
    return std::move(flows_);
  }

 private:
  // As many as there are at least, before any is written.
  void require_few() const {
    double members = 1;
    for (const Stride& digit : group_.members.digits) members *= static_cast<double>(digit.count);
    double flows = pattern_ == FlowPattern::pair ? 1 : members;
    if (pattern_ == FlowPattern::all_pairs) flows *= members - 1;
    double instances = 0;
    for (const RankBox& box : group_.instances) {
      double count = 1;
      for (const Stride& digit : box.digits) count *= static_cast<double>(digit.count);
      instances += count;
    }
    if (flows * instances > static_cast<double>(most_)) refuse(flows * instances);
  }

  [[noreturn]] void refuse(double count) const {
    throw UserError(fmt::format("{:.3g} flows of {} ranks in {} groups are too many to write out one by one; at most "
                                "{} are",
                                count, group_.member_count(), group_.instance_count(), most_),
                    "use fewer ranks, or the fluid fabric with an even split over equal paths, which folds them");
  }

  void add(Rank from, Rank to, std::int64_t units, SwitchEnd at_switch = SwitchEnd::none) {
    if (static_cast<std::int64_t>(flows_.size()) >= most_) refuse(static_cast<double>(flows_.size()) + 1);
    flows_.push_back({from, to, units, instance_, at_switch});
  }

  void add_instance(Rank start, std::uint32_t instance) {
    instance_ = instance;
    if (pattern_ == FlowPattern::all_pairs) return add_all_pairs(start);
    const Flows flows = shape_.flows(Box(start));
    for (const FlowBox& box : flows.routed) {
      const std::int64_t count = box.from.size();
      for (std::int64_t i = 0; i < count; ++i) {
        const Rank from = box.from.at(i);
        add(from, from + box.delta, box.units);
      }
    }
    if (flows.ports.empty()) return;
    if (pattern_ != FlowPattern::ports) return add_inside_nodes(start);
    for (const PortBox& box : flows.ports) {
      const std::int64_t count = box.ranks.size();
      for (std::int64_t i = 0; i < count; ++i) {
        add(box.ranks.at(i), box.ranks.at(i), box.units, SwitchEnd::receives);
        add(box.ranks.at(i), box.ranks.at(i), box.units, SwitchEnd::sends);
      }
    }
  }

  void add_all_pairs(Rank start) {
    const std::int64_t members = group_.member_count();
    for (std::int64_t i = 0; i < members; ++i) {
      // To the next first, so that not all begin with the same one (NCCL's ncclP2pSchedule).
      for (std::int64_t away = 1; away < members; ++away)
        add(group_.rank(start, i), group_.rank(start, (i + away) % members), units_per_flow);
    }
  }

  // Of k rotated channels all but the one that leaves by a member's card go on to the next member.
  void add_inside_nodes(Rank start) {
    std::vector<std::vector<Rank>> nodes;
    std::unordered_map<std::int64_t, std::size_t> place;
    const std::int64_t members = group_.member_count();
    for (std::int64_t i = 0; i < members; ++i) {
      const Rank rank = group_.rank(start, i);
      const auto [known, is_new] = place.try_emplace(rank / node_size_, nodes.size());
      if (is_new) nodes.emplace_back();
      nodes[known->second].push_back(rank);
    }
    for (const auto& ranks : nodes) {
      const std::size_t count = ranks.size();
      if (count < 2) continue;
      const std::int64_t units = units_per_flow - units_per_flow / static_cast<std::int64_t>(count);
      for (std::size_t i = 0; i < count; ++i) add(ranks[i], ranks[(i + 1) % count], units);
    }
  }

  FlowPattern pattern_;
  Group group_;
  std::int64_t node_size_;
  std::int64_t most_;
  TrafficShape shape_;
  std::uint32_t instance_ = 0;
  std::vector<ExplicitFlow> flows_;
};

}  // namespace

std::vector<ExplicitFlow> explicit_flows(const Traffic& traffic, const Group& group, std::int64_t node_size,
                                         std::int64_t most) {
  return Writer(traffic, group, node_size, most).write();
}

}  // namespace warploom
