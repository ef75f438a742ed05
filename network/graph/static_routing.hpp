// SPDX-License-Identifier: Apache-2.0
// Static destination-based routing, as an InfiniBand subnet manager writes it into the switches: one port a
// destination.
//
// Equation (D-mod-K): destinations are numbered q = 0, 1, ... switch by switch that they hang on; a vertex whose n
// links begin a shortest way to destination q takes link number floor(q / w) mod n of them, w the product of the
// numbers of next vertices among which the ways that come there have been chosen so far (the least over where they come
// from). Links are counted round the next vertices, parallel cables last, so that what comes down from a switch has
// been told apart by its going up. Destinations that pass a switch are thus spread over its equal links within one, and
// in fat trees of full bisection every shift permutation is free of collisions (where a switch has one neighbour in
// each unit below it, over any number of cables; two flows may meet where it has several). The flow does not matter:
// all channels of a pair, and all senders to a device, share one way. The tables are those of the whole fabric,
// whatever devices a job has. Each destination's column is made when it is asked for. Assumes networks of levels;
// elsewhere it is as even as the numbers fall. Source: Zahavi, "D-Mod-K routing providing non-blocking traffic for
// shift permutations on real life fat trees", CCIT report 776, 2010; OpenSM's `ftree` engine.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "network/graph/routing.hpp"

namespace warploom {

class StaticRouter final : public Router {
 public:
  explicit StaticRouter(const NetworkGraph& graph);
  void next(VertexId at, VertexId to, std::vector<EdgeId>& links) override;

 private:
  // By vertex: which of products_ has been chosen from before.
  using Column = std::vector<std::uint8_t>;

  void number_destinations();
  VertexId attachment_of(VertexId device);
  // Of all destinations at one attachment, whose numbers alone differ.
  const Column& column(VertexId to);
  // Leaves one of the links.
  void choose(std::uint64_t number, std::vector<EdgeId>& links);
  // Next vertices, into targets_ and links_to_; the caller clears the latter.
  void count_targets(const std::vector<EdgeId>& links);
  std::uint8_t product_id(std::uint64_t product);

  std::vector<std::uint32_t> number_of_;          // of a device, by vertex; else no number
  std::vector<VertexId> attachment_;              // of a device, by vertex
  std::unordered_map<VertexId, Column> columns_;  // by attachment
  std::vector<std::uint64_t> products_{1};
  // Scratch: the next vertices of a choice, and how many links lead to each.
  std::vector<VertexId> targets_;
  std::vector<std::uint32_t> links_to_;       // by vertex; zero between choices
  std::vector<std::vector<VertexId>> rings_;  // by distance
  std::vector<std::uint32_t> seen_;           // by vertex, in attachment_of(): the search that has seen it
  std::uint32_t search_ = 0;
};

}  // namespace warploom
