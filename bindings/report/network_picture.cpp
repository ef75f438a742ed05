// SPDX-License-Identifier: Apache-2.0
// A network in Graphviz's language.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bindings/report/network_report.hpp"
#include "network/graph/quotient.hpp"

namespace warploom {

namespace {

// What DOT must not take for its own.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

struct Look {
  const char* shape;
  const char* fill;
};

Look look_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::device:
      return {"box", "#cfe8cf"};
    case VertexKind::card:
      return {"box", "#f3e3b3"};
    case VertexKind::network_switch:
      return {"box", "#c9daf0"};
    case VertexKind::host:
      return {"box", "#e6d3ea"};
    case VertexKind::storage:
      return {"cylinder", "#e0e0e0"};
  }
  return {"box", "#ffffff"};
}

const char* color_of(LinkMedium medium) {
  switch (medium) {
    case LinkMedium::board:
      return "#4c8c4a";
    case LinkMedium::copper:
      return "#b5651d";
    case LinkMedium::optic:
      return "#3b6ea5";
  }
  return "#000000";
}

std::string vertex_line(const NetworkGraph& graph, const QuotientVertex& vertex, std::size_t id) {
  const VertexGroup& group = graph.group_of(vertex.sample);
  const Look look = look_of(group.kind);
  std::string label = vertex.count == 1 ? graph.name(vertex.sample) : fmt::format("{} x {}", group.name, vertex.count);
  if (group.chips > 1) label += fmt::format("\\n{} chips each", group.chips);
  return fmt::format(
      "  v{} [label=\"{}\", shape={}, fillcolor=\"{}\"{}];\n", id,
      group.chips > 1 ? escaped(label.substr(0, label.find("\\n"))) + label.substr(label.find("\\n")) : escaped(label),
      look.shape, look.fill, vertex.count > 1 ? ", peripheries=2" : "");
}

std::string link_line(const NetworkGraph& graph, const QuotientLink& link, bool has_label) {
  const LinkKind& kind = graph.kinds()[link.kind];
  std::string label;
  if (has_label)
    label = fmt::format("{}{}", link.count > 1 ? fmt::format("{} x ", link.count) : "", to_string(kind.rate));
  return fmt::format("  v{} -- v{} [color=\"{}\", label=\"{}\", fontcolor=\"{}\"{}];\n", link.a, link.b,
                     color_of(kind.medium), label, color_of(kind.medium),
                     link.health <= 0  ? ", style=dotted"
                     : link.health < 1 ? ", style=dashed"
                                       : "");
}

// How far above the devices a group stands: devices, cards, then switches in the order of their making.
std::map<std::string, std::vector<std::size_t>> by_group(const NetworkGraph& graph, const Quotient& quotient) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < quotient.vertices.size(); ++i)
    groups[graph.group_of(quotient.vertices[i].sample).name].push_back(i);
  return groups;
}

bool has_layers(const NetworkGraph& graph) {
  return std::ranges::any_of(graph.groups(), [](const VertexGroup& group) {
    return group.count > 0 && (group.kind == VertexKind::network_switch || group.kind == VertexKind::host);
  });
}

}  // namespace

Picture draw(const std::string& title, const NetworkGraph& graph) {
  const Quotient quotient = quotient_of(graph);
  Picture picture;
  picture.is_layered = has_layers(graph);
  std::string note = title;
  if (!quotient.is_whole)
    note += quotient.is_from_device ? "\\nas device 0 sees it: what looks alike from there is one box"
                                    : "\\nwhat looks alike is one box";
  std::string& dot = picture.dot;
  const std::string first_line = escaped(title) + note.substr(title.size());
  dot = fmt::format(
      "graph network {{\n  graph [label=\"{}\", labelloc=t, rankdir=BT, splines={}, ranksep=0.9, nodesep=0.3, "
      "overlap=prism, fontname=\"Helvetica\", fontsize=16];\n  node [style=\"filled,rounded\", fontname=\"Helvetica\", "
      "fontsize=11, color=\"#555555\"];\n  edge [fontname=\"Helvetica\", fontsize=9];\n",
      first_line, picture.is_layered ? "true" : "line");
  for (std::size_t i = 0; i < quotient.vertices.size(); ++i) dot += vertex_line(graph, quotient.vertices[i], i);
  if (picture.is_layered) {
    for (const auto& [name, members] : by_group(graph, quotient)) {
      if (members.size() < 2) continue;
      dot += "  { rank=same;";
      for (const std::size_t member : members) dot += fmt::format(" v{};", member);
      dot += " }\n";
    }
  }
  // Labels of many thin lines hide the picture.
  const bool has_label = quotient.links.size() <= 80;
  for (const QuotientLink& link : quotient.links) dot += link_line(graph, link, has_label);
  dot += "}\n";
  return picture;
}

}  // namespace warploom
