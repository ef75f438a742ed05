// SPDX-License-Identifier: Apache-2.0
// The words and keys of an inspection.
#include "bindings/report/network_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/play/text_table.hpp"

namespace warploom {

namespace {

using Json = nlohmann::ordered_json;

constexpr int schema = 1;

std::string dollars(double price) { return price > 0 ? fmt::format("${:.0f}", price) : "-"; }
std::string watts(Power power) { return power.value() > 0 ? to_string(power) : "-"; }

std::string time_or_not(Time time) { return time > Time::zero() ? to_string(time) : "not given"; }
std::string with_down(std::int64_t count, std::int64_t down) {
  return down > 0 ? fmt::format("{} ({} down)", count, down) : fmt::format("{}", count);
}

std::string vertices_in_words(const Inspection& found) {
  TextTable table({"", "count", "numbers", "chips", "ports used", "radix", "power", "price"});
  for (const VertexCount& one : found.vertices) {
    const bool is_switch = one.kind == VertexKind::network_switch;
    table.add({fmt::format("{}{}", one.name, one.name == name(one.kind) ? "" : fmt::format(" ({})", name(one.kind))),
               with_down(one.count, one.down),
               one.first == one.last ? fmt::format("{}", one.first) : fmt::format("{} to {}", one.first, one.last),
               is_switch ? fmt::format("{}", one.chips) : "-",
               one.least_ports == one.most_ports ? fmt::format("{}", one.most_ports)
                                                 : fmt::format("{} to {}", one.least_ports, one.most_ports),
               one.radix > 0 ? fmt::format("{}", one.radix) : "-", watts(one.power), dollars(one.price)});
  }
  return table.to_string();
}

std::string cables_in_words(const Inspection& found) {
  TextTable table({"", "cables", "optics", "medium", "protocol", "rate", "payload", "latency", "power", "price"});
  table.align_left(3);
  table.align_left(4);
  for (const CableCount& one : found.cables) {
    table.add({one.name, with_down(one.count, one.down), one.optics > 0 ? fmt::format("{}", one.optics) : "-",
               std::string(name(one.medium)), std::string(name(one.protocol)), to_string(one.rate),
               to_string(one.rate * one.efficiency), time_or_not(one.latency), watts(one.power), dollars(one.price)});
  }
  return table.to_string();
}

// Faults, degraded links, load of others: what is not as it should be.
std::string conditions_in_words(const Inspection& found) {
  std::string text;
  for (const VertexCount& one : found.vertices) {
    if (one.down > 0) text += fmt::format("  {}: {} of {} down\n", one.name, one.down, one.count);
  }
  for (const CableCount& one : found.cables) {
    if (one.down > 0) text += fmt::format("  {}: {} of {} cables down\n", one.name, one.down, one.count);
    if (one.degraded > 0)
      text += fmt::format("  {}: {} of {} cables degraded, to {:.3g}% of their rate at least\n", one.name, one.degraded,
                          one.count, 100 * one.least_share);
    if (one.busy > 0)
      text += fmt::format("  {}: others take up to {:.3g}% of {} of {} cables\n", one.name, 100 * one.background,
                          one.busy, one.count);
  }
  return text;
}

std::string reach_in_words(const Inspection& found) {
  TextTable table({"from device 0 over", "devices", "latency"});
  for (const Reach& one : found.reach) {
    table.add({fmt::format("{} link{}", one.links, one.links == 1 ? "" : "s"), fmt::format("{}", one.devices),
               one.least == one.most ? time_or_not(one.most)
                                     : fmt::format("{} to {}", time_or_not(one.least), to_string(one.most))});
  }
  return table.to_string();
}

std::string bisection_in_words(const Inspection& found) {
  const std::int64_t nodes = (found.devices + found.node_size - 1) / found.node_size;
  const bool is_odd = nodes > 1 && nodes % 2 != 0;
  return fmt::format(
      "{}, {:.3g}% of {}", to_string(found.bisection), 100 * found.bisection_share(),
      is_odd && found.half_injection != found.injection / 2
          ? fmt::format("the injection of the smaller half, cut {} to {} nodes", nodes / 2, nodes - nodes / 2)
          : std::string("half the injection"));
}

Json time_or_null(Time time) { return time > Time::zero() ? Json(time.microseconds()) : Json(nullptr); }
Json number_or_null(double value) { return value > 0 ? Json(value) : Json(nullptr); }

}  // namespace

std::string to_text(const NetworkReport& report) {
  const Inspection& found = report.inspection;
  TextTable table({"", ""});
  table.align_left(1);
  const std::int64_t nodes = (found.devices + found.node_size - 1) / found.node_size;
  table.add({"devices", fmt::format("{} of {} in {} node{} of {}", found.devices, found.cluster_size, nodes,
                                    nodes == 1 ? "" : "s", found.node_size)});
  if (found.is_part()) table.add({"below", "what the ways among these devices use, and their nodes"});
  table.add({"switch chips", with_down(found.switches(), found.switches_down())});
  table.add({"optics", fmt::format("{}", found.optics())});
  table.add({"a device's port", found.port.value() > 0 ? to_string(found.port) + " of payload" : "-"});
  table.add({found.leaves_by_card ? "a device's card" : "a device out of its node",
             found.card.value() > 0 ? to_string(found.card) + " of payload" : "-"});
  table.add({"injection", to_string(found.injection)});
  table.add({"bisection", bisection_in_words(found)});
  table.add({"diameter", fmt::format("{} links", found.diameter)});
  if (found.power().value() > 0) table.add({"power", to_string(found.power()) + ", where it is given"});
  if (found.price() > 0) table.add({"price", dollars(found.price()) + ", where it is given"});
  std::string text = fmt::format("Network of {} ({})\n", report.cluster, found.kind) + table.lines();
  text += "\n" + vertices_in_words(found) + "\n" + cables_in_words(found);
  if (const std::string conditions = conditions_in_words(found); !conditions.empty()) text += "\n" + conditions;
  if (!found.reach.empty()) text += "\n" + reach_in_words(found);
  if (!found.notes.empty()) text += "\n";
  for (const std::string& note : found.notes) text += "  note: " + note + "\n";
  return text;
}

std::string to_json(const NetworkReport& report) {
  const Inspection& found = report.inspection;
  Json json;
  json["schema"] = schema;
  json["cluster"] = report.cluster;
  json["kind"] = found.kind;
  json["devices"] = found.devices;
  json["cluster_size"] = found.cluster_size;
  json["node_size"] = found.node_size;
  json["is_part"] = found.is_part();
  json["switch_chips"] = found.switches();
  json["switch_chips_down"] = found.switches_down();
  json["optics"] = found.optics();
  json["port_gb_per_s"] = found.port.value() / 1e9;
  json["card_gb_per_s"] = found.leaves_by_card ? Json(found.card.value() / 1e9) : Json(nullptr);
  json["out_of_node_gb_per_s"] = found.card.value() / 1e9;  // of a device
  json["injection_gb_per_s"] = found.injection.value() / 1e9;
  json["bisection_gb_per_s"] = found.bisection.value() / 1e9;
  json["bisection_share"] = found.bisection_share();
  json["diameter"] = found.diameter;
  json["power_w"] = number_or_null(found.power().value());
  json["price_usd"] = number_or_null(found.price());
  json["vertices"] = Json::array();
  for (const VertexCount& one : found.vertices) {
    json["vertices"].push_back({{"name", one.name},
                                {"kind", name(one.kind)},
                                {"count", one.count},
                                {"first", one.first},
                                {"last", one.last},
                                {"down", one.down},
                                {"chips", one.chips},
                                {"ports_used", {one.least_ports, one.most_ports}},
                                {"radix", one.radix > 0 ? Json(one.radix) : Json(nullptr)},
                                {"power_w", number_or_null(one.power.value())},
                                {"price_usd", number_or_null(one.price)}});
  }
  json["cables"] = Json::array();
  for (const CableCount& one : found.cables) {
    json["cables"].push_back({{"name", one.name},
                              {"count", one.count},
                              {"down", one.down},
                              {"degraded", one.degraded},
                              {"least_share", one.least_share},
                              {"background", one.background},
                              {"optics", one.optics},
                              {"medium", name(one.medium)},
                              {"protocol", name(one.protocol)},
                              {"rate_gb_per_s", one.rate.value() / 1e9},
                              {"payload_gb_per_s", (one.rate * one.efficiency).value() / 1e9},
                              {"latency_us", time_or_null(one.latency)},
                              {"power_w", number_or_null(one.power.value())},
                              {"price_usd", number_or_null(one.price)}});
  }
  json["reach"] = Json::array();
  for (const Reach& one : found.reach) {
    json["reach"].push_back({{"links", one.links},
                             {"devices", one.devices},
                             {"latency_us", {time_or_null(one.least), time_or_null(one.most)}}});
  }
  json["notes"] = found.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace warploom
