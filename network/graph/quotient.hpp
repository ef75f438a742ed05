// SPDX-License-Identifier: Apache-2.0
// A network seen from its device 0: vertices that look alike from there are one, so that a picture of a hundred
// thousand devices has a few dozen boxes.
//
// Equation: colour refinement (1-WL) that starts with the vertices' groups and device 0 as a colour of its own; a
// vertex's next colour is its colour and those of its links with kind, width, health, load of others and the
// neighbour's colour, until no class parts any more. Without the lone device where that gives too many classes. Source:
// Grohe et al., ESA 2014.
#pragma once

#include <cstdint>
#include <vector>

#include "network/graph/part.hpp"

namespace warploom {

struct QuotientVertex {
  VertexId sample = 0;
  std::int64_t count = 0;
};

struct QuotientLink {
  std::size_t a = 0;  // a class
  std::size_t b = 0;
  std::uint16_t kind = 0;
  std::int64_t count = 0;  // cables in all
  double health = 1.0;     // of each
  double background = 0;   // share of each that others take
};

struct Quotient {
  std::vector<QuotientVertex> vertices;
  std::vector<QuotientLink> links;
  bool is_whole = false;       // every vertex is a class
  bool is_from_device = true;  // device 0 stands alone
};

// Parts of up to `whole` vertices as they are; at most `most` classes where that can be.
// `background`: by edge, as Topology::background().
Quotient quotient_of(const NetworkGraph& graph, const GraphPart& part, std::size_t whole = 60, std::size_t most = 60,
                     const std::vector<double>& background = {});

}  // namespace warploom
