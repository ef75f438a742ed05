// SPDX-License-Identifier: Apache-2.0
// A network in Graphviz's language.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

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

constexpr std::size_t most_boxes = 60;
constexpr const char* down_fill = "#f4f4f4";
constexpr const char* down_line = ", color=\"#c03030\", fontcolor=\"#c03030\", style=\"filled,rounded,dashed\"";

std::string vertex_line(const NetworkGraph& graph, const QuotientVertex& vertex, std::size_t id, bool is_down) {
  const VertexGroup& group = graph.group_of(vertex.sample);
  const Look look = look_of(group.kind);
  std::string label = vertex.count == 1 ? graph.name(vertex.sample) : fmt::format("{} x {}", group.name, vertex.count);
  if (group.chips > 1) label += fmt::format("\\n{} chips each", group.chips);
  std::string shown =
      group.chips > 1 ? escaped(label.substr(0, label.find("\\n"))) + label.substr(label.find("\\n")) : escaped(label);
  if (is_down) shown += "\\ndown";
  return fmt::format("  v{} [label=\"{}\", shape={}, fillcolor=\"{}\"{}{}];\n", id, shown, look.shape,
                     is_down ? down_fill : look.fill, is_down ? down_line : "",
                     vertex.count > 1 ? ", peripheries=2" : "");
}

std::string link_line(const NetworkGraph& graph, const QuotientLink& link, bool has_label) {
  const LinkKind& kind = graph.kinds()[link.kind];
  const bool is_sound = link.health >= 1;
  std::string label;
  const bool is_busy = link.background > 0 && link.health > 0;
  if (has_label || !is_sound)
    label = fmt::format("{}{}", link.count > 1 ? fmt::format("{} x ", link.count) : "", to_string(kind.rate));
  if (link.health <= 0) label += " down";
  if (link.health > 0 && !is_sound) label += fmt::format(" at {:.3g}%", 100 * link.health);
  if (is_busy && !label.empty()) label += fmt::format(", others {:.3g}%", 100 * link.background);
  const char* color = is_sound ? color_of(kind.medium) : link.health <= 0 ? "#c03030" : "#d07000";
  return fmt::format("  v{} -- v{} [color=\"{}\", label=\"{}\", fontcolor=\"{}\"{}{}];\n", link.a, link.b, color, label,
                     color,
                     link.health <= 0  ? ", style=dotted"
                     : link.health < 1 ? ", style=dashed"
                                       : "",
                     is_busy ? ", penwidth=3" : "");
}

// `rail 3 leaf`, `site 1 leaf`: of leaves.
std::string tier_of(const std::string& name) {
  return name.starts_with("rail ") || name.starts_with("site ") ? name.substr(name.rfind(' ') + 1) : name;
}

// The boxes of each group, to stand at one height.
std::map<std::string, std::vector<std::size_t>> by_group(const NetworkGraph& graph, const Quotient& quotient) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < quotient.vertices.size(); ++i)
    groups[tier_of(graph.group_of(quotient.vertices[i].sample).name)].push_back(i);
  return groups;
}

// Devices, or cards, that are joined among themselves have no order from below to above.
bool has_layers(const NetworkGraph& graph) {
  return std::ranges::none_of(graph.links(), [&graph](const GraphLink& link) {
    const VertexKind kind = graph.group_of(link.a).kind;
    return kind == graph.group_of(link.b).kind && (kind == VertexKind::device || kind == VertexKind::card);
  });
}

// What HTML-like labels must not take for their own.
std::string html(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out;
}

// Of the kinds of boxes and lines that there are.
std::string legend(const NetworkGraph& graph, const Quotient& quotient, bool has_down) {
  std::string cells;
  std::set<VertexKind> kinds;
  for (const QuotientVertex& vertex : quotient.vertices) kinds.insert(graph.group_of(vertex.sample).kind);
  for (const VertexKind kind : kinds)
    cells += fmt::format("<td bgcolor=\"{}\">{}</td>", look_of(kind).fill, name(kind));
  if (has_down) cells += fmt::format("<td bgcolor=\"{}\"><font color=\"#c03030\">down</font></td>", down_fill);
  std::set<LinkMedium> media;
  bool is_degraded = false;
  bool is_down = false;
  bool is_busy = false;
  for (const QuotientLink& link : quotient.links) {
    is_busy = is_busy || (link.background > 0 && link.health > 0);
    media.insert(graph.kinds()[link.kind].medium);
    is_down = is_down || link.health <= 0;
    is_degraded = is_degraded || (link.health > 0 && link.health < 1);
  }
  for (const LinkMedium medium : media)
    cells += fmt::format("<td><font color=\"{}\">\u2014 {}</font></td>", color_of(medium), name(medium));
  if (is_degraded) cells += "<td><font color=\"#d07000\">- - degraded link</font></td>";
  if (is_down) cells += "<td><font color=\"#c03030\">\u00b7\u00b7\u00b7 link that is down</font></td>";
  if (is_busy) cells += "<td><b>\u2501</b> thick: others take a share</td>";
  if (!quotient.is_whole) cells += "<td>double frame: several alike</td>";
  return fmt::format("<table border=\"0\" cellborder=\"0\" cellspacing=\"6\" cellpadding=\"3\"><tr>{}</tr></table>",
                     cells);
}

// Title, what a box stands for, legend.
std::string heading(const std::string& title, const NetworkGraph& graph, const Quotient& quotient, bool has_down) {
  std::string rows = fmt::format("<tr><td><font point-size=\"16\">{}</font></td></tr>", html(title));
  if (!quotient.is_whole) {
    rows += quotient.is_from_device
                ? fmt::format("<tr><td>as {} sees it: what looks alike from there is one box</td></tr>",
                              html(graph.name(graph.device(0))))
                : "<tr><td>what looks alike is one box</td></tr>";
  }
  return fmt::format("<<table border=\"0\" cellspacing=\"0\">{}<tr><td>{}</td></tr></table>>", rows,
                     legend(graph, quotient, has_down));
}

// Of a class: none of its links is up, but there are some.
std::vector<bool> classes_down(const Quotient& quotient) {
  std::vector<int> links(quotient.vertices.size(), 0);
  std::vector<bool> is_up(quotient.vertices.size(), false);
  for (const QuotientLink& link : quotient.links) {
    for (const std::size_t end : {link.a, link.b}) {
      ++links[end];
      if (link.health > 0) is_up[end] = true;
    }
  }
  for (std::size_t i = 0; i < links.size(); ++i) is_up[i] = links[i] > 0 && !is_up[i];
  return is_up;
}

}  // namespace

Picture draw(const std::string& title, const NetworkGraph& graph, const GraphPart& part,
             const std::vector<double>& background) {
  const Quotient quotient = quotient_of(graph, part, most_boxes, most_boxes, background);
  const std::vector<bool> is_down = classes_down(quotient);
  Picture picture;
  picture.is_layered = has_layers(graph);
  std::string& dot = picture.dot;
  const bool has_down = std::ranges::find(is_down, true) != is_down.end();
  dot = fmt::format(
      "graph network {{\n  graph [label={}, labelloc=t, rankdir=BT, splines={}, ranksep=0.9, nodesep=0.3, "
      "overlap=prism, K=1.2, sep=\"+12\", fontname=\"Helvetica\", fontsize=11];\n  node [style=\"filled,rounded\", "
      "fontname=\"Helvetica\", "
      "fontsize=11, color=\"#555555\"];\n  edge [fontname=\"Helvetica\", fontsize=9];\n",
      heading(title, graph, quotient, has_down), picture.is_layered ? "true" : "line");
  for (std::size_t i = 0; i < quotient.vertices.size(); ++i)
    dot += vertex_line(graph, quotient.vertices[i], i, is_down[i]);
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
