// SPDX-License-Identifier: Apache-2.0
// Colour refinement on written-out variables and links.
#include "network/fabrics/graph_fold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

#include "network/fabrics/axis.hpp"
#include "network/fabrics/explicit_flows.hpp"
#include "network/fabrics/graph_loads.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

struct KeyHash {
  std::size_t operator()(const std::vector<std::int64_t>& key) const {
    std::uint64_t hash = key.size();
    for (const auto value : key) {
      hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

// Rows of shares, one after the other.
struct Rows {
  std::vector<std::size_t> first{0};
  std::vector<Share> shares;
  std::span<const Share> operator[](std::size_t row) const {
    return {shares.data() + first[row], first[row + 1] - first[row]};
  }
  std::size_t size() const { return first.size() - 1; }
};

class GraphRefiner {
 public:
  GraphRefiner(const NetworkGraph& graph, Router& router, std::span<const Group> groups,
               std::span<const Traffic> traffic, const GraphFoldOptions& options)
      : graph_(graph), options_(options) {
    route(router, groups, traffic);
    number_links();
    transpose();
  }

  Folding run() {
    std::size_t classes = variable_class_count();
    while (true) {
      ++rounds_;
      link_classes_ = color(
          by_link_, variable_color_, [this](std::size_t link) { return std::bit_cast<std::int64_t>(capacity_[link]); },
          link_color_);
      const std::size_t next = color(
          by_variable_, link_color_, [this](std::size_t v) { return std::int64_t{variable_color_[v]}; },
          variable_color_);
      if (next == classes) return finish(next);
      classes = next;
    }
  }

 private:
  void route(Router& router, std::span<const Group> groups, std::span<const Traffic> traffic);
  void number_links();
  void transpose();
  std::size_t variable_class_count() const {
    return variable_color_.empty() ? 0 : std::size_t{*std::ranges::max_element(variable_color_)} + 1;
  }
  template <class Start>
  static std::size_t color(const Rows& rows, const std::vector<std::uint32_t>& others, Start&& start,
                           std::vector<std::uint32_t>& colors);
  static void join(std::vector<Share>& shares);
  Folding finish(std::size_t classes) const;

  const NetworkGraph& graph_;
  const GraphFoldOptions& options_;
  std::size_t traffic_count_ = 0;
  std::vector<std::uint32_t> traffic_of_;  // of each variable
  std::vector<EdgeId> edges_;              // that something uses
  std::vector<double> capacity_;
  Rows by_variable_;
  Rows by_link_;
  std::vector<std::uint32_t> variable_color_;
  std::vector<std::uint32_t> link_color_;
  std::size_t link_classes_ = 0;
  int rounds_ = 0;
};

void GraphRefiner::route(Router& router, std::span<const Group> groups, std::span<const Traffic> traffic) {
  GraphLoads loads(graph_, router, options_.paths);
  traffic_count_ = traffic.size();
  std::uint32_t color = 0;
  for (std::size_t t = 0; t < traffic.size(); ++t) {
    WARPLOOM_CHECK(traffic[t].group < groups.size(), "traffic of group {} of {}", traffic[t].group, groups.size());
    const Group& all = groups[traffic[t].group];
    const Group group = require_lines(traffic[t].axis, all);
    if (group.member_count() == 1) continue;
    const auto flows = explicit_flows(traffic[t], all, options_.node_size);
    std::size_t at = 0;
    const std::int64_t instances = group.instance_count();
    for (std::uint32_t instance = 0; instance < instances; ++instance) {
      std::size_t end = at;
      while (end < flows.size() && flows[end].instance == instance) ++end;
      const auto shares = loads.of(std::span(flows).subspan(at, end - at));
      at = end;
      by_variable_.shares.insert(by_variable_.shares.end(), shares.begin(), shares.end());
      by_variable_.first.push_back(by_variable_.shares.size());
      if (static_cast<std::int64_t>(by_variable_.shares.size()) > options_.most_shares) {
        throw UserError(fmt::format("the flows cross more than {} links one by one", options_.most_shares),
                        "use fewer ranks, or a tree of switches with an even split, which folds without being written "
                        "out");
      }
      traffic_of_.push_back(static_cast<std::uint32_t>(t));
      variable_color_.push_back(color);
    }
    ++color;
  }
}

// Edges become the links 0, 1, ... in their order.
void GraphRefiner::number_links() {
  std::vector<LinkClassId> number(graph_.edge_count(), no_class);
  for (const Share& share : by_variable_.shares) number[share.id] = 0;
  for (EdgeId edge = 0; edge < number.size(); ++edge) {
    if (number[edge] == no_class) continue;
    number[edge] = static_cast<LinkClassId>(edges_.size());
    edges_.push_back(edge);
    const double taken = edge < options_.background.size() ? options_.background[edge] : 0;
    capacity_.push_back(graph_.payload(edge).value() * (1 - taken));
    if (capacity_.back() <= 0) {
      throw UserError(fmt::format("nothing is left of `{}`: others take {:.3g} of it", graph_.edge_name(edge), taken),
                      "a background share lies below 1");
    }
  }
  for (Share& share : by_variable_.shares) share.id = number[share.id];
}

void GraphRefiner::transpose() {
  by_link_.first.assign(edges_.size() + 1, 0);
  for (const Share& share : by_variable_.shares) ++by_link_.first[share.id + 1];
  for (std::size_t i = 1; i < by_link_.first.size(); ++i) by_link_.first[i] += by_link_.first[i - 1];
  by_link_.shares.resize(by_variable_.shares.size());
  std::vector<std::size_t> at(by_link_.first.begin(), by_link_.first.end() - 1);
  for (std::uint32_t v = 0; v < by_variable_.size(); ++v) {
    for (const Share& share : by_variable_[v]) by_link_.shares[at[share.id]++] = {v, share.units};
  }
}

// Entries of equal id as one, ascending.
void GraphRefiner::join(std::vector<Share>& shares) {
  std::ranges::sort(shares, {}, &Share::id);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (kept > 0 && shares[kept - 1].id == shares[i].id) {
      shares[kept - 1].units += shares[i].units;
    } else {
      shares[kept++] = shares[i];
    }
  }
  shares.resize(kept);
}

// Rows get equal colours that start alike and carry the same of every colour of the other side. Returns how many.
template <class Start>
std::size_t GraphRefiner::color(const Rows& rows, const std::vector<std::uint32_t>& others, Start&& start,
                                std::vector<std::uint32_t>& colors) {
  std::unordered_map<std::vector<std::int64_t>, std::uint32_t, KeyHash> known;
  std::vector<std::uint32_t> next(rows.size());
  std::vector<std::int64_t> key;
  std::vector<Share> seen;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    seen.clear();
    for (const Share& share : rows[row]) seen.push_back({others[share.id], share.units});
    join(seen);
    key.clear();
    key.push_back(start(row));
    for (const Share& share : seen) {
      key.push_back(share.id);
      key.push_back(share.units);
    }
    next[row] = known.try_emplace(key, static_cast<std::uint32_t>(known.size())).first->second;
  }
  colors = std::move(next);
  return known.size();
}

// Links of equal use are equally full; only the thinnest of them can bind.
Folding GraphRefiner::finish(std::size_t classes) const {
  Folding folding;
  folding.rounds = rounds_;
  folding.units_per_flow = graph_units_per_flow;
  for (const LinkKind& kind : graph_.kinds()) folding.kinds.push_back(kind.name);
  std::map<std::vector<Share>, std::size_t> known;
  std::vector<bool> is_done(link_classes_, false);
  std::vector<Share> usage;
  for (std::size_t link = 0; link < edges_.size(); ++link) {
    if (is_done[link_color_[link]]) continue;
    is_done[link_color_[link]] = true;
    usage.clear();
    for (const Share& share : by_link_[link]) usage.push_back({variable_color_[share.id], share.units});
    join(usage);
    const std::uint32_t kind = graph_.link(edges_[link]).kind;
    const auto [place, is_new] = known.try_emplace(usage, folding.links.size());
    if (is_new) {
      folding.links.push_back({capacity_[link], usage, kind});
    } else if (FoldedLink& least = folding.links[place->second]; capacity_[link] < least.capacity) {
      least.capacity = capacity_[link];
      least.kind = kind;
    }
  }
  folding.variables.resize(classes);
  for (std::uint32_t link = 0; link < folding.links.size(); ++link) {
    for (const Share& share : folding.links[link].usage)
      folding.variables[share.id].links.push_back({link, share.units});
  }
  // Colours are numbered in the order of the variables, and so of the traffic.
  folding.of_traffic.assign(traffic_count_, {0, 0});
  for (std::size_t v = 0; v < traffic_of_.size(); ++v) {
    auto& range = folding.of_traffic[traffic_of_[v]];
    if (range.second == 0) range.first = variable_color_[v];
    range.second = std::max(range.second, variable_color_[v] + 1);
  }
  return folding;
}

}  // namespace

Folding fold_graph(const NetworkGraph& graph, Router& router, std::span<const Group> groups,
                   std::span<const Traffic> traffic, const GraphFoldOptions& options) {
  return GraphRefiner(graph, router, groups, traffic, options).run();
}

std::function<Folding(std::span<const Group>, std::span<const Traffic>)> graph_folder(
    std::shared_ptr<const NetworkGraph> graph, RouterFactory router, GraphFoldOptions options) {
  return [graph = std::move(graph), router = std::move(router), options = std::move(options)](
             std::span<const Group> groups, std::span<const Traffic> traffic) {
    const auto made = router ? router(*graph) : std::make_unique<Router>(*graph);
    return fold_graph(*graph, *made, groups, traffic, options);
  };
}

}  // namespace warploom
