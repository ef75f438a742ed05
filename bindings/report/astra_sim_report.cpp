// SPDX-License-Identifier: Apache-2.0
// The words and keys of a played ASTRA-sim experiment.
#include "bindings/report/astra_sim_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/play/text_table.hpp"

namespace warploom {

namespace {

using Json = nlohmann::ordered_json;

constexpr int schema = 1;
constexpr std::size_t most_ranks = 32;
constexpr std::size_t most_calls = 16;

double ns(Time time) { return static_cast<double>(time.ps()) / 1000; }

std::string share(Time part, Time whole) {
  return whole > Time::zero() ? fmt::format("{:.1f}%", 100 * part.seconds() / whole.seconds()) : "-";
}

std::string ranks_in_words(const AstraSimResult& result) {
  TextTable table({"rank", "ends", "compute", "host", "communication", "exposed", "of it waiting"});
  for (std::size_t i = 0; i < std::min(result.ranks.size(), most_ranks); ++i) {
    const auto& rank = result.ranks[i];
    table.add({fmt::format("{}", rank.rank), to_string(rank.finish), share(rank.compute, result.makespan),
               share(rank.host, result.makespan), share(rank.communication, result.makespan),
               share(rank.exposed_communication, result.makespan), share(rank.waiting, result.makespan)});
  }
  std::string text = table.to_string();
  if (result.ranks.size() > most_ranks) {
    text += fmt::format("  and {} ranks more (`--json` lists all)\n", result.ranks.size() - most_ranks);
  }
  return text;
}

std::string calls_in_words(const AstraSimResult& result) {
  std::string text;
  std::size_t shown = 0;
  for (const auto& [call, algorithm] : result.calls) {
    if (shown++ == most_calls) {
      text += fmt::format("  and {} more\n", result.calls.size() - most_calls);
      break;
    }
    text += fmt::format("  {}: {}\n", call, algorithm.empty() ? "nothing moves" : algorithm);
  }
  return text;
}

Json to_object(const AstraRankResult& rank) {
  return {{"rank", rank.rank},
          {"finish_ns", ns(rank.finish)},
          {"compute_ns", ns(rank.compute)},
          {"host_ns", ns(rank.host)},
          {"communication_ns", ns(rank.communication)},
          {"exposed_communication_ns", ns(rank.exposed_communication)},
          {"waiting_ns", ns(rank.waiting)}};
}

}  // namespace

std::string to_text(const AstraSimResult& result) {
  std::string text = fmt::format("{} on {} ranks: {} ({:.0f} cycles of 1 ns)\n\n", result.report.name,
                                 result.ranks.size(), to_string(result.makespan), ns(result.makespan));
  TextTable table({"", ""});
  table.align_left(1);
  table.add({"network", result.network});
  table.add({"communication", result.backend});
  std::string nodes;
  for (const auto& [type, count] : result.nodes)
    nodes += fmt::format("{}{} {}", nodes.empty() ? "" : ", ", count, type);
  table.add({"nodes", nodes});
  text += table.lines() + "\n" + ranks_in_words(result);
  if (!result.calls.empty()) text += "\ncollectives\n" + calls_in_words(result);
  if (!result.notes.empty()) text += "\nnotes\n";
  for (const auto& note : result.notes) text += fmt::format("  {}\n", note);
  if (!result.repairs.empty()) text += "\nmended\n";
  for (const auto& repair : result.repairs)
    text += fmt::format("  {}: {} times; {}\n", repair.name, repair.count, repair.text);
  return text;
}

std::string to_json(const AstraSimResult& result) {
  Json json;
  json["schema"] = schema;
  json["kind"] = "replay_astra_sim";
  json["version"] = result.report.version;
  json["name"] = result.report.name;
  json["network"] = result.network;
  json["communication"] = result.backend;
  json["makespan_ns"] = ns(result.makespan);
  json["self_replay_error"] = nullptr;
  json["ranks"] = Json::array();
  for (const auto& rank : result.ranks) json["ranks"].push_back(to_object(rank));
  json["nodes"] = result.nodes;
  json["calls"] = Json::array();
  for (const auto& [call, algorithm] : result.calls)
    json["calls"].push_back({{"call", call}, {"algorithm", algorithm}});
  json["repairs"] = Json::array();
  for (const auto& repair : result.repairs) {
    json["repairs"].push_back(
        {{"name", repair.name}, {"count", repair.count}, {"text", repair.text}, {"first", repair.first}});
  }
  json["notes"] = result.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace warploom
