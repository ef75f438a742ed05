// SPDX-License-Identifier: Apache-2.0
// Sizes first, then cables.
#include "network/topologies/tree_wiring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr double most_cables = 1e7;

std::int64_t ceil_of(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The smallest divisor of `whole` that is at least `least`.
std::int64_t divisor_from(std::int64_t whole, std::int64_t least) {
  for (std::int64_t d = std::max<std::int64_t>(least, 1); d < whole; ++d) {
    if (whole % d == 0) return d;
  }
  return whole;
}

// How many groups `needed` parallel switches fall into, so that a lower switch reaches all of one; 0: no number does.
// Where the rails below are apart, every rail must reach every group.
std::int64_t groups_for(std::int64_t needed, const TreeSize& below, bool over_rails) {
  if (needed <= below.up) return 1;
  if (over_rails) return ceil_of(needed, below.switches) <= below.up ? below.switches : 0;
  const std::int64_t alike = below.rails_apart ? below.switches / below.groups : below.switches;
  for (std::int64_t g = 2; g <= alike; ++g) {
    if (alike % g == 0 && ceil_of(needed, g) <= below.up) return g;
  }
  return 0;
}

[[noreturn]] void refuse(const SwitchTierSpec& tier, std::int64_t needed, std::int64_t radix, std::int64_t most,
                         std::int64_t up) {
  const std::string ports = radix > 0 && tier.switches == 0 ? fmt::format(" of {} ports", radix) : "";
  throw UserError(
      fmt::format("a unit of tier `{}` needs {} switches{}, but the {} uplinks of each switch below reach {}",
                  tier.name, needed, ports, up, most),
      "use switches of more ports (`switch: {radix: ...}`), fewer units (`of`) and a further tier, or thinner uplinks "
      "(`cable: {rate: ...}`)");
}

// Whole cables up, where it is said which.
void require_whole(const SwitchTierSpec& tier, double cables, double down) {
  if (tier.cable.rate.value() <= 0 || std::abs(cables - std::round(cables)) < 1e-9 * std::max(cables, 1.0)) return;
  throw UserError(fmt::format("a switch of tier `{}` comes to {:.4g} uplinks of {}: its {:.4g} cables down over an "
                              "oversubscription of {:.4g} do not divide into them",
                              tier.name, cables, to_string(tier.cable.rate), down, tier.oversubscription),
                  "choose `oversubscription` or `cable.rate` so that whole cables carry it");
}

// Parallel switches of an upper tier.
void size_parallel(const SwitchTierSpec& tier, const TreeSize& below, std::int64_t ports, std::int64_t radix,
                   bool over_rails, TreeSize& size) {
  const std::int64_t most = below.up * below.switches;
  const bool is_asked_for = tier.switches > 0 || size.radix > 0;
  std::int64_t needed = tier.switches > 0 ? tier.switches : ceil_of(ports, radix);
  // By itself no unit is split so that its rails do not meet: its switches are larger then.
  size.groups = over_rails && !is_asked_for ? (needed <= below.up ? 1 : 0) : groups_for(needed, below, over_rails);
  if (size.groups == 0 || (tier.switches > 0 && tier.switches % size.groups != 0)) {
    if (is_asked_for) refuse(tier, needed, size.radix, most, below.up);
    needed = below.up;
    size.groups = 1;
  }
  size.rails_apart = over_rails && size.groups > 1;
  const std::int64_t in_group = ceil_of(needed, size.groups);
  size.switches = tier.switches > 0 ? tier.switches : size.groups * divisor_from(below.up, in_group);
}

}  // namespace

void check_tier_names(std::span<const SwitchTierSpec> tiers, const ConfigValue& at, Diagnostics& diagnostics) {
  static constexpr std::array reserved{"device", "card", "nvswitch", "socket",      "storage", "nic",
                                       "nvlink", "pcie", "c2c",      "pcie switch", "link",    "gateway"};
  std::set<std::string> names;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const std::string& name = tiers[i].name;
    const auto list = at.find("tiers");
    const bool has_item = list && list->is_list() && i < list->items().size();
    const Origin& origin = has_item ? list->items()[i].origin() : at.origin();
    const std::string path = at.path_of("tiers") + fmt::format("[{}].name", i);
    if (name.empty()) diagnostics.error(origin, path, "expected a name", "such as `leaf`");
    if (std::ranges::find(reserved, name) != reserved.end()) {
      diagnostics.error(origin, path, fmt::format("`{}` is what other parts of a network are called", name),
                        "choose another name, such as `leaf`, `spine` or `core`");
    }
    if (!names.insert(name).second)
      diagnostics.error(origin, path, fmt::format("two tiers are called `{}`", name),
                        "give each tier a name of its own");
  }
}

std::vector<TreeSize> size_tree(std::span<const SwitchTierSpec> tiers, const TreeShape& shape, std::int64_t links,
                                Bandwidth rate) {
  std::vector<TreeSize> sizes;
  std::int64_t given = 0;        // radix
  std::int64_t used = 0;         // ports of the first tier's switches
  Bandwidth cable_below = rate;  // as bought, before its share is rounded
  for (std::size_t t = 0; t < tiers.size(); ++t) {
    const SwitchTierSpec& tier = tiers[t];
    const bool is_root = t + 1 == tiers.size();
    TreeSize size;
    // Of the whole unit.
    const double child_cables =
        t == 0 ? static_cast<double>(links) : static_cast<double>(sizes[t - 1].up * sizes[t - 1].switches);
    const double all_down = child_cables * static_cast<double>(tier.of);
    const Bandwidth each_below = t == 0 ? rate : sizes[t - 1].cable;
    const Bandwidth cable = tier.cable.rate.value() > 0 ? tier.cable.rate : cable_below;
    const double all_up = is_root ? 0 : all_down * each_below.value() / tier.oversubscription / cable.value();
    if (!(std::max(all_down, all_up) <= most_cables))
      throw UserError(fmt::format("a unit of tier `{}` has more than {} cables", tier.name, most_cables));
    if (tier.type.radix > 0) given = tier.type.radix;
    size.radix = given;
    if (t == 0) {
      size.switches = shape.rails;
    } else {
      const auto ports = static_cast<std::int64_t>(std::ceil(all_down + all_up - 1e-9));
      size_parallel(tier, sizes[t - 1], ports, given > 0 ? given : used, t == 1 && shape.rails > 1, size);
      if (is_root && size.rails_apart) refuse(tier, size.switches, given, sizes[t - 1].up, sizes[t - 1].up);
    }
    const auto count = static_cast<double>(size.switches);
    size.down = static_cast<std::int64_t>(std::ceil(all_down / count - 1e-9));
    size.up = is_root ? 0 : std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(all_up / count - 1e-9)), 1);
    if (!is_root) size.cable = cable * (all_up / count / static_cast<double>(size.up));
    if (!is_root) require_whole(tier, all_up / count, all_down / count);
    if (t == 0) used = size.down + size.up;
    if (given > 0 && size.down + size.up > given) {
      throw UserError(
          fmt::format("a switch of tier `{}` has {} ports, but {} cables down and {} up", tier.name, given, size.down,
                      size.up),
          "use switches of more ports (`switch: {radix: ...}`), more of them (`rails`, `switches`), or fewer "
          "units under one (`of`)");
    }
    cable_below = cable;
    sizes.push_back(size);
  }
  return sizes;
}

EndCable card_cable(const NicSpec& nic) {
  return {"nic", nic.rate / nic.planes, nic.efficiency, nic.latency, nic.cable};
}

namespace {

// The units of a tier in use, of all planes: switch s of unit u of plane p is first + (p units + u) switches + s.
struct Level {
  VertexId first = 0;
  std::int64_t units = 0;
  std::int64_t switches = 1;
  VertexId at(std::int64_t plane, std::int64_t unit, std::int64_t s) const {
    return first + static_cast<VertexId>((plane * units + unit) * switches + s);
  }
};

Level add_level(NetworkBuilder& builder, const SwitchTierSpec& tier, const TreeSize& size, std::int64_t units,
                const TreeShape& shape) {
  Level level{0, units, size.switches};
  SwitchSpec type = tier.type;
  type.radix = size.radix;
  level.first = builder.add(shape.prefix + tier.name, VertexKind::network_switch, shape.planes * units * size.switches,
                            true, type);
  return level;
}

void wire_ends(NetworkBuilder& builder, const Ends& ends, const EndCable& cable, const Level& leaves, std::int64_t of,
               const TreeShape& shape) {
  const std::uint16_t kind = builder.kind(cable.name, cable.rate, cable.efficiency, cable.latency, cable.cable);
  for (std::int64_t node = 0; node < ends.nodes; ++node) {
    for (std::int64_t i = 0; i < ends.each; ++i) {
      for (std::int64_t plane = 0; plane < shape.planes; ++plane) {
        const VertexId leaf = leaves.at(plane, node / of, i * shape.rails / ends.each);
        builder.connect(ends.at(node, i), leaf, kind, ends.links);
      }
    }
  }
}

// Every cable is a link of its own: flows collide on one, not on their sum.
void wire_up(NetworkBuilder& builder, const Level& lower, const TreeSize& below, const Level& upper,
             const TreeSize& size, std::int64_t of, std::uint16_t kind, std::int64_t planes) {
  const std::int64_t in_group = size.switches / size.groups;
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    for (std::int64_t unit = 0; unit < lower.units; ++unit) {
      for (std::int64_t s = 0; s < lower.switches; ++s) {
        const std::int64_t group = s % size.groups * in_group;
        // Where cables do not divide, the next switch goes on where this one ended.
        const std::int64_t start = below.up % in_group == 0 ? 0 : (unit * lower.switches + s) / size.groups * below.up;
        for (std::int64_t i = 0; i < below.up; ++i)
          builder.connect(lower.at(plane, unit, s), upper.at(plane, unit / of, group + (start + i) % in_group), kind);
      }
    }
  }
}

}  // namespace

void wire_tree(NetworkBuilder& builder, const Ends& ends, const EndCable& cable, std::span<const SwitchTierSpec> tiers,
               const TreeShape& shape) {
  const auto sizes = size_tree(tiers, shape, ends.each * ends.links, cable.rate);
  Level lower = add_level(builder, tiers[0], sizes[0], ceil_of(ends.nodes, tiers[0].of), shape);
  wire_ends(builder, ends, cable, lower, tiers[0].of, shape);
  bool is_joined = lower.units == 1 && shape.rails == 1;
  for (std::size_t t = 1; t < tiers.size() && !is_joined; ++t) {
    const Level upper = add_level(builder, tiers[t], sizes[t], ceil_of(lower.units, tiers[t].of), shape);
    const SwitchTierSpec& below = tiers[t - 1];
    CableSpec between = below.cable;
    if (!between.protocol) between.protocol = cable.cable.protocol;
    const std::uint16_t kind = builder.kind(below.name, sizes[t - 1].cable, below.efficiency.value_or(cable.efficiency),
                                            below.latency, between);
    wire_up(builder, lower, sizes[t - 1], upper, sizes[t], tiers[t].of, kind, shape.planes);
    is_joined = upper.units == 1 && !sizes[t].rails_apart;
    lower = upper;
  }
}

}  // namespace warploom
