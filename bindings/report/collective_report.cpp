// SPDX-License-Identifier: Apache-2.0
// The words and keys of a collective's estimate.
#include "bindings/report/collective_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bindings/report/band_json.hpp"
#include "sim/play/text_table.hpp"

namespace warploom {

namespace {

using Json = nlohmann::ordered_json;

constexpr int schema = 1;

double gb_per_s(Bandwidth bandwidth) { return bandwidth.value() / 1e9; }

// What the library does not have, it does not estimate.
bool has_estimate(const CollectiveCandidate& candidate) { return candidate.library_estimate > Time::zero(); }

std::string candidates_in_words(const CollectiveReport& report) {
  TextTable table({"", "algorithm", "protocol", "library's estimate", "predicted", "bus bandwidth"});
  table.align_left(1);
  table.align_left(2);
  const double factor = bus_factor(report.call.kind, report.ranks);
  for (const CollectiveCandidate& candidate : report.estimate.candidates) {
    const double bus =
        candidate.duration > Time::zero() ? (report.call.bytes / candidate.duration).value() * factor / 1e9 : 0.0;
    table.add({candidate.is_chosen ? "*" : "", candidate.algorithm, candidate.protocol,
               has_estimate(candidate) ? to_string(candidate.library_estimate) : "-", to_string(candidate.duration),
               fmt::format("{:.4g} GB/s", bus)});
  }
  return "\nWhat the library could do (* is its choice, by its own estimate)\n" + table.to_string();
}

// `end` is that of all that was played.
std::string packets_in_words(const PacketStatistics& p, Time end, bool is_together) {
  std::string text = fmt::format("\nPackets of {}, under way for {} of {}", is_together ? "all together" : "the call",
                                 to_string(p.time), to_string(end));
  if (p.time < end)
    text += fmt::format("; the other {} are the library's latency before them", to_string(end - p.time));
  text += fmt::format("\nRouting: {}\nCongestion control: {}\n", p.routing, p.congestion_control);
  text += fmt::format(
      "{} hops; {} marks, {} drops, {} resent; {} pauses ({}), {} waits for credits ({}); {} ECMP "
      "collisions\nFlows: {}, mean {}, 99% within {}, last {}\n",
      p.packet_hops, p.marks, p.drops, to_string(p.resent), p.pauses, to_string(p.paused), p.stalls,
      to_string(p.stalled), p.collisions, p.flows, to_string(p.mean_completion), to_string(p.tail_completion),
      to_string(p.last_completion));
  text += "\nLoads are over the time that packets were under way\n";
  TextTable classes(
      {"links", "number", "mean load", "highest", "most queued", "marks", "drops", "pauses", "waits", "busiest"});
  classes.align_left(0);
  classes.align_left(9);
  for (const LinkClassStatistics& one : p.classes) {
    classes.add({one.name, std::to_string(one.links), fmt::format("{:.0f}%", 100 * one.mean_load),
                 fmt::format("{:.0f}%", 100 * one.highest_load), to_string(one.most_queued), std::to_string(one.marks),
                 std::to_string(one.drops), std::to_string(one.pauses), std::to_string(one.stalls), one.busiest});
  }
  text += classes.to_string();
  TextTable table({"worst queues", "most", "mean", "load", "marks", "drops", "paused", "without credits", "flows"});
  table.align_left(0);
  for (const QueueStatistics& queue : p.queues) {
    table.add({queue.name, to_string(queue.most_queued), to_string(queue.mean_queued),
               fmt::format("{:.0f}%", 100 * queue.utilisation), std::to_string(queue.marks),
               std::to_string(queue.drops), to_string(queue.paused), to_string(queue.stalled),
               std::to_string(queue.flows)});
  }
  return text + "\n" + table.to_string();
}

Json queue_json(const QueueStatistics& queue) {
  return {{"link", queue.name},
          {"kind", queue.kind},
          {"throughput_gb_per_s", queue.throughput / 1e9},
          {"utilisation", queue.utilisation},
          {"bytes", queue.bytes.count()},
          {"most_queued_bytes", queue.most_queued.count()},
          {"mean_queued_bytes", queue.mean_queued.count()},
          {"ecn_marks", queue.marks},
          {"drops", queue.drops},
          {"pauses", queue.pauses},
          {"paused_us", queue.paused.microseconds()},
          {"credit_stalls", queue.stalls},
          {"credit_stalled_us", queue.stalled.microseconds()},
          {"flows", queue.flows}};
}

Json packets_json(const PacketStatistics& p, bool is_together) {
  Json json = {{"of", is_together ? "together" : "alone"},
               {"routing", p.routing},
               {"congestion_control", p.congestion_control},
               {"time_us", p.time.microseconds()},
               {"packet_hops", p.packet_hops},
               {"flows", p.flows},
               {"asked_bytes", p.asked.count()},
               {"delivered_bytes", p.delivered.count()},
               {"resent_bytes", p.resent.count()},
               {"ecn_marks", p.marks},
               {"drops", p.drops},
               {"pauses", p.pauses},
               {"paused_us", p.paused.microseconds()},
               {"credit_stalls", p.stalls},
               {"credit_stalled_us", p.stalled.microseconds()},
               {"congestion_notifications", p.notifications},
               {"ecmp_collisions", p.collisions},
               {"most_queued_bytes", p.most_queued.count()},
               {"mean_completion_us", p.mean_completion.microseconds()},
               {"tail_completion_us", p.tail_completion.microseconds()},
               {"last_completion_us", p.last_completion.microseconds()}};
  json["link_classes"] = Json::array();
  for (const LinkClassStatistics& one : p.classes) {
    json["link_classes"].push_back({{"kind", one.name},
                                    {"links", one.links},
                                    {"bytes", one.bytes.count()},
                                    {"mean_utilisation", one.mean_load},
                                    {"highest_utilisation", one.highest_load},
                                    {"busiest_link", one.busiest},
                                    {"most_queued_bytes", one.most_queued.count()},
                                    {"ecn_marks", one.marks},
                                    {"drops", one.drops},
                                    {"pauses", one.pauses},
                                    {"paused_us", one.paused.microseconds()},
                                    {"credit_stalls", one.stalls},
                                    {"credit_stalled_us", one.stalled.microseconds()}});
  }
  json["queues"] = Json::array();
  for (const QueueStatistics& queue : p.queues) json["queues"].push_back(queue_json(queue));
  json["slowest_flows"] = Json::array();
  for (const SlowFlow& flow : p.slowest) {
    json["slowest_flows"].push_back({{"from", flow.from},
                                     {"to", flow.to},
                                     {"bytes", flow.bytes.count()},
                                     {"duration_us", flow.duration.microseconds()},
                                     {"throughput_gb_per_s", flow.throughput / 1e9},
                                     {"resent_bytes", flow.resent.count()},
                                     {"ecn_marks", flow.marks},
                                     {"drops", flow.drops}});
  }
  return json;
}

Json link_json(const BusiestLink& link) {
  if (link.name.empty()) return nullptr;
  return {{"link", link.name}, {"load", link.load}};
}

}  // namespace

std::string to_text(const CollectiveReport& report) {
  const CollectiveEstimate& e = report.estimate;
  TextTable table({"", ""});
  table.align_left(1);
  table.add({"duration", to_string(e.duration)});
  table.add({"error band", in_words(report.band, e.duration)});
  table.add({"algorithm", e.algorithm});
  table.add({"protocol", fmt::format("{}, {} channels", e.protocol, e.channels)});
  table.add({"bus bandwidth", to_string(e.bus_bandwidth)});
  const auto add_link = [&table](const char* title, const BusiestLink& link, const char* over) {
    if (!link.name.empty()) table.add({title, fmt::format("{}, {:.0f}% busy{}", link.name, 100 * link.load, over)});
  };
  add_link("busiest link", e.bottleneck, e.packets ? " over the whole duration" : "");
  if (report.together) {
    table.add({"all together", to_string(*report.together)});
    for (const BesideReport& other : report.beside)
      table.add({"beside it", fmt::format("{}: {} alone, {} together", other.call, to_string(other.alone),
                                          to_string(other.together))});
    add_link("busiest link", report.bottleneck_together, " over all together");
  }
  std::string text = fmt::format("{} of {} over {} devices of {}\n", name(report.call.kind),
                                 to_string(report.call.bytes), report.ranks, report.cluster) +
                     table.lines();
  if (e.packets)
    text +=
        packets_in_words(*e.packets, report.together ? report.together_end : e.duration, report.together.has_value());
  if (report.has_explanation) text += candidates_in_words(report);
  return text;
}

std::string to_json(const CollectiveReport& report) {
  const CollectiveEstimate& e = report.estimate;
  Json json;
  json["schema"] = schema;
  json["operation"] = name(report.call.kind);
  json["cluster"] = report.cluster;
  json["gpus"] = report.ranks;
  json["bytes"] = report.call.bytes.count();
  json["duration_us"] = e.duration.microseconds();
  json["algorithm"] = e.algorithm;
  json["protocol"] = e.protocol;
  json["channels"] = e.channels;
  json["busbw_gb_per_s"] = gb_per_s(e.bus_bandwidth);
  json["algbw_gb_per_s"] = e.duration > Time::zero() ? gb_per_s(report.call.bytes / e.duration) : 0.0;
  json["bottleneck"] = link_json(e.bottleneck);
  json["fabric"] = report.fabric;
  if (report.together) {
    json["together_us"] = report.together->microseconds();
    json["together_end_us"] = report.together_end.microseconds();
    json["together_bottleneck"] = link_json(report.bottleneck_together);
    json["beside"] = Json::array();
    for (const BesideReport& other : report.beside) {
      json["beside"].push_back({{"call", other.call},
                                {"alone_us", other.alone.microseconds()},
                                {"together_us", other.together.microseconds()}});
    }
  }
  if (e.packets) json["packets"] = packets_json(*e.packets, report.together.has_value());
  json["error_band"] = band_json(report.band, e.duration);
  if (report.has_explanation) {
    json["candidates"] = Json::array();
    for (const CollectiveCandidate& candidate : e.candidates) {
      Json library_estimate = nullptr;
      if (has_estimate(candidate)) library_estimate = candidate.library_estimate.microseconds();
      json["candidates"].push_back({{"algorithm", candidate.algorithm},
                                    {"protocol", candidate.protocol},
                                    {"library_estimate_us", std::move(library_estimate)},
                                    {"duration_us", candidate.duration.microseconds()},
                                    {"is_chosen", candidate.is_chosen}});
    }
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace warploom
