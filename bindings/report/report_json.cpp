// SPDX-License-Identifier: Apache-2.0
// The keys of the report's JSON, in the order in which they are read.
#include "bindings/report/report_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace warploom {

namespace {

using Json = nlohmann::ordered_json;

// [{cause, seconds, share}], those that are not zero.
template <class SecondsOf>
Json by_cause(const Report& report, SecondsOf seconds_of) {
  const double step = report.step_time.seconds();
  Json list = Json::array();
  for (std::size_t cause = 0; cause < cause_count; ++cause) {
    const double seconds = seconds_of(cause);
    if (seconds == 0) continue;
    list.push_back({{"cause", cause_names[cause]}, {"seconds", seconds}, {"share", step > 0 ? seconds / step : 0}});
  }
  return list;
}

Json memory(const Report& report) {
  Json list = Json::array();
  for (const auto& role : report.memory) {
    Json parts = Json::object();
    for (std::size_t part = 0; part < memory_part_names.size(); ++part) {
      parts[std::string(memory_part_names[part])] = role.parts[part];
    }
    list.push_back({{"role", role.role},
                    {"parts", std::move(parts)},
                    {"peak_bytes", role.peak_bytes},
                    {"peak_at_s", role.peak_at.seconds()},
                    {"capacity_raw_bytes", role.capacity_raw.count()},
                    {"capacity_usable_bytes", role.capacity_usable.count()},
                    {"fits", role.fits}});
  }
  return list;
}

Json roles(const Report& report) {
  Json list = Json::array();
  for (const auto& role : report.roles) {
    list.push_back(
        {{"name", role.name}, {"devices", role.devices}, {"breakdown", by_cause(report, [&](std::size_t cause) {
                                                            return role.breakdown[cause].seconds();
                                                          })}});
  }
  return list;
}

}  // namespace

std::string to_text(const IdealGain& gain, const Report& report) {
  return fmt::format("With {} free a step takes {} instead of {}: {:.2f} times as fast.\n", gain.free,
                     to_string(report.step_time), to_string(gain.real),
                     gain.real.seconds() / report.step_time.seconds());
}

std::string to_json(const Report& report, int indent, const std::optional<IdealGain>& gain) {
  Json json;
  json["schema"] = report_schema;
  json["version"] = report.version;
  json["config_hash"] = report.config_hash;
  json["seed"] = report.seed;
  json["name"] = report.name;
  json["model"] = report.model;
  json["machine"] = report.machine;
  json["devices"] = report.devices;
  json["folding"] = report.folding;
  json["step_time_s"] = report.step_time.seconds();
  json["tokens_per_s"] = report.tokens_per_s;
  json["tokens_per_s_per_device"] = report.tokens_per_s_per_device;
  json["tflops_per_device"] = report.tflops_per_device;
  json["flop_convention"] = report.flop_convention;
  json["mfu"] = report.mfu;
  json["hfu"] = report.hfu;
  json["breakdown"] = by_cause(report, [&](std::size_t cause) { return report.seconds[cause]; });
  json["bubble_share"] = report.bubble_share;
  json["bubble_over_ideal"] = report.bubble_over_ideal;
  json["exposed_comm_share"] = report.exposed_comm_share;
  json["roles"] = roles(report);
  json["memory"] = memory(report);
  json["fits"] = report.fits;
  json["critical_path"] = {
      {"by_cause", by_cause(report, [&](std::size_t cause) { return report.critical_path_by_cause[cause].seconds(); })},
      {"parts", report.critical_path.size()}};
  json["assumptions"] = report.assumptions;
  json["fallbacks"] = report.fallbacks;
  json["warnings"] = report.warnings;
  if (gain) {
    json["ideal"] = {{"free", gain->free},
                     {"real_step_time_s", gain->real.seconds()},
                     {"gain", gain->real.seconds() / report.step_time.seconds()}};
  }
  json["simulator"] = {{"wall_s", report.simulator.wall_s},
                       {"peak_rss_bytes", report.simulator.peak_rss_bytes},
                       {"operations", report.simulator.operations},
                       {"events", report.simulator.events},
                       {"roles", report.simulator.roles}};
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace warploom
