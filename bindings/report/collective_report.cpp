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
  std::string text = fmt::format("{} of {} over {} devices of {}\n", name(report.call.kind),
                                 to_string(report.call.bytes), report.ranks, report.cluster) +
                     table.lines();
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
