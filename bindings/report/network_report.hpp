// SPDX-License-Identifier: Apache-2.0
// A network's inspection as text and as JSON, and its picture as Graphviz's language.
#pragma once

#include <string>
#include <vector>

#include "network/graph/graph.hpp"
#include "network/inspection.hpp"

namespace warploom {

struct NetworkReport {
  std::string cluster;
  Inspection inspection;
};

std::string to_text(const NetworkReport& report);
std::string to_json(const NetworkReport& report);

// Devices below, roots above; what looks alike from device 0 is one box, "x 32". With a legend of its colours and
// lines.
struct Picture {
  std::string dot;
  bool is_layered = true;  // for `dot`; else for `sfdp`
};
// `background`: by edge, the share that others take.
Picture draw(const std::string& title, const NetworkGraph& graph, const GraphPart& part,
             const std::vector<double>& background = {});

}  // namespace warploom
