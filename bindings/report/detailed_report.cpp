// SPDX-License-Identifier: Apache-2.0
// Tables and keys of what a program did on an SM and in the memories.
#include "bindings/report/detailed_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "bindings/report/detailed_json.hpp"
#include "sim/play/text_table.hpp"

namespace warploom {

namespace {

using Json = nlohmann::ordered_json;

constexpr double schedulers = 4;  // of an SM, each issues one instruction a cycle

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::string_view meaning(Stall stall) {
  switch (stall) {
    case Stall::selected:
      return "issued an instruction";
    case Stall::barrier:
      return "waited for other warps at a barrier";
    case Stall::long_scoreboard:
      return "waited for data from the L2 or the memory";
    case Stall::gmma:
      return "waited for products";
    case Stall::math_pipe_throttle:
      return "waited for a busy pipe";
    case Stall::mio_throttle:
      return "waited for the pipe to shared memory";
    case Stall::short_scoreboard:
      return "waited for data from shared or tensor memory";
    case Stall::wait:
      return "waited for the last instruction's result";
    case Stall::not_selected:
      return "could have issued, another warp did";
    case Stall::lg_throttle:
      return "waited for the queue of loads and stores";
    case Stall::no_instruction:
      return "waited for its instructions";
    case Stall::launch:
      return "waited for its block to start";
  }
  return "?";
}

std::vector<Stall> by_share(const DetailedResult& result) {
  std::vector<Stall> order;
  for (const auto& [stall, name] : EnumNames<Stall>::values) order.push_back(stall);
  std::ranges::stable_sort(order, std::greater<>(), [&](Stall stall) { return result.stall_share(stall); });
  return order;
}

// One pipe: what it is called here and there, and its busy cycles of the SM's.
struct Pipe {
  const char* name;
  const char* metric;
  double share;
};

std::vector<Pipe> pipes_of(const DetailedResult& result) {
  const SmCounts& sm = result.sm;
  return {{"issue slots", "smsp__issue_active.avg.pct_of_peak_sustained_active", result.share(sm.issued / schedulers)},
          {"Tensor Cores", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", result.share(sm.tensor)},
          {"FMA", "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", result.share(sm.fma)},
          {"ALU", "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active", result.share(sm.alu)},
          {"special functions", "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active", result.share(sm.sfu)},
          {"shared memory", "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
           result.share(sm.shared)}};
}

// What moved, over the time of the program.
struct Moved {
  double to_sms, from_l2, from_memory, written, to_memory;
  double seconds;
  double l2_share, memory_share;  // of the bandwidth that is reached

  Moved(const DetailedResult& result, const DeviceSpec& device)
      : to_sms(result.scale * result.sm.to_sm),
        from_l2(result.from_l2()),
        from_memory(result.from_memory()),
        written(result.written()),
        to_memory(result.to_memory()),
        seconds(result.cycles / result.clock.value()),
        l2_share((from_l2 + written) / seconds / device.l2_bandwidth_at(result.clock).value()),
        memory_share((from_memory + to_memory) / seconds / device.reached_bandwidth().value()) {}
  double found() const { return from_l2 > 0 ? 1 - from_memory / from_l2 : 0; }
};

std::string bytes_in_words(double bytes) { return to_string(Bytes(std::llround(bytes))); }
std::string rate_in_words(double bytes, double seconds) { return to_string(Bandwidth(bytes / seconds)); }

std::string traffic_table(const Moved& traffic) {
  TextTable table({"memory", "read", "written", "rate", "of what is reached", "found there"});
  const double s = traffic.seconds;
  table.add({"SMs", bytes_in_words(traffic.to_sms), bytes_in_words(traffic.written),
             rate_in_words(traffic.to_sms + traffic.written, s), "", ""});
  table.add({"L2", bytes_in_words(traffic.from_l2), bytes_in_words(traffic.written),
             rate_in_words(traffic.from_l2 + traffic.written, s), percent(traffic.l2_share),
             traffic.from_l2 > 0 ? percent(traffic.found()) : "-"});
  table.add({"device memory", bytes_in_words(traffic.from_memory), bytes_in_words(traffic.to_memory),
             rate_in_words(traffic.from_memory + traffic.to_memory, s), percent(traffic.memory_share), ""});
  return table.to_string();
}

std::string stall_table(const DetailedResult& result) {
  constexpr double least_shown = 0.0005;
  TextTable table({"warp cycles", "share", ""});
  table.align_left(2);
  for (const Stall stall : by_share(result)) {
    if (result.stall_share(stall) < least_shown) continue;
    table.add({enum_name(stall), percent(result.stall_share(stall)), std::string(meaning(stall))});
  }
  return table.to_string();
}

std::string pipe_table(const DetailedResult& result) {
  TextTable table({"pipe", "busy"});
  for (const Pipe& pipe : pipes_of(result)) table.add({pipe.name, percent(pipe.share)});
  return table.to_string();
}

std::string count_in_words(double cycles) {
  return cycles < 1e5 ? fmt::format("{:.0f}", cycles) : fmt::format("{:.3g} million", cycles / 1e6);
}

std::string head_of(const DetailedResult& result) {
  std::string text = fmt::format("\n{}: {} cycles, {}", result.program, count_in_words(result.cycles),
                                 to_string(Cycles(result.cycles) / result.clock));
  if (result.sm.tensor_flops > 0) {
    const double flops = result.scale * result.sm.tensor_flops;
    text += fmt::format(", {} issued", to_string(Flops(flops) / (Cycles(result.cycles) / result.clock)));
  }
  const int warps = result.warps_an_sm / std::max(result.blocks_an_sm, 1);
  text += fmt::format("\n  {} block{} of {} warp{}, {} an SM at once: {:.2f} wave{}, {} of the warps an SM can have\n",
                      result.blocks, result.blocks == 1 ? "" : "s", warps, warps == 1 ? "" : "s", result.blocks_an_sm,
                      result.waves, result.waves == 1 ? "" : "s", percent(result.occupancy));
  return text;
}

Json stalls_json(const DetailedResult& result) {
  Json list = Json::array();
  for (const Stall stall : by_share(result)) {
    Json one = {{"reason", enum_name(stall)}, {"share", result.stall_share(stall)}};
    // Nsight Compute counts nothing before a block starts.
    one["metric"] = stall == Stall::launch ? Json() : Json("smsp__pcsamp_warps_issue_stalled_" + enum_name(stall));
    one["warp_cycles"] = result.sm.stalls[static_cast<std::size_t>(stall)];
    list.push_back(std::move(one));
  }
  return list;
}

Json metrics_json(const DetailedResult& result, const DeviceSpec& device) {
  const Moved traffic(result, device);
  Json json;
  json["sm__cycles_elapsed.max"] = result.cycles;
  json["launch__grid_size"] = result.blocks;
  json["launch__waves_per_multiprocessor"] = result.waves;
  json["sm__maximum_warps_per_active_cycle_pct"] = 100 * result.occupancy;
  json["smsp__inst_executed.sum"] = result.scale * result.sm.issued;
  for (const Pipe& pipe : pipes_of(result)) json[pipe.metric] = 100 * pipe.share;
  json["l1tex__m_xbar2l1tex_read_bytes.sum"] = traffic.to_sms;
  json["lts__t_bytes.sum"] = traffic.from_l2 + traffic.written;
  json["lts__t_bytes.avg.pct_of_peak_sustained_elapsed"] = 100 * traffic.l2_share;
  json["lts__t_sector_op_read_hit_rate.pct"] = 100 * traffic.found();
  json["dram__bytes_read.sum"] = traffic.from_memory;
  json["dram__bytes_write.sum"] = traffic.to_memory;
  json["dram__throughput.avg.pct_of_peak_sustained_elapsed"] = 100 * traffic.memory_share;
  return json;
}

}  // namespace

std::string detailed_in_words(const DetailedKernel& played, const DeviceSpec& device) {
  std::string text;
  for (const DetailedResult& result : played.programs) {
    text += head_of(result);
    text += "\n" + stall_table(result) + "\n" + pipe_table(result) + "\n" + traffic_table(Moved(result, device));
  }
  return text;
}

Json detailed_json(const DetailedKernel& played, const DeviceSpec& device) {
  Json json;
  json["clock_ghz"] = played.clock.value() / 1e9;
  json["clock_max_ghz"] = device.clock.max.value() / 1e9;
  json["is_power_limited"] = played.is_power_limited;
  json["programs"] = Json::array();
  for (const DetailedResult& result : played.programs) {
    Json one;
    one["name"] = result.program;
    one["duration_us"] = result.cycles / result.clock.value() * 1e6;
    one["cycles"] = result.cycles;
    one["blocks_per_sm"] = result.blocks_an_sm;
    one["warps_per_sm"] = result.warps_an_sm;
    one["activations"] = result.activations;
    one["extrapolated"] = result.extrapolated;
    one["top_stall"] = enum_name(result.top_stall());
    one["metrics"] = metrics_json(result, device);
    one["stalls"] = stalls_json(result);
    json["programs"].push_back(std::move(one));
  }
  return json;
}

std::string clock_in_words(const DetailedKernel& played, const DeviceSpec& device) {
  return fmt::format("{} of {}{}", to_string(played.clock), to_string(device.clock.max),
                     played.is_power_limited ? ": the power limit bounds it" : "");
}

std::string to_text(const ProgramReport& report) {
  const KernelCost& cost = report.played.cost;
  TextTable table({"", ""});
  table.align_left(1);
  table.add({"duration", fmt::format("{}, of which {} is the gap before it", to_string(cost.duration),
                                     to_string(report.played.gap))});
  if (!report.ideals.empty()) {
    table.add({"free", fmt::format("{}: {} instead of {}, {:.2f} times as fast", in_words(report.ideals),
                                   to_string(cost.duration), to_string(report.real),
                                   report.real.seconds() / cost.duration.seconds())});
  }
  table.add({"clock", clock_in_words(report.played, report.spec)});
  table.add({"power", to_string(cost.power)});
  table.add({"energy", to_string(report.played.energy)});
  return fmt::format("{} on {}\n", report.played.programs.front().program, report.device) + table.lines() +
         detailed_in_words(report.played, report.spec);
}

std::string to_json(const ProgramReport& report) {
  const KernelCost& cost = report.played.cost;
  Json json;
  json["schema"] = 1;
  json["device"] = report.device;
  json["duration_us"] = cost.duration.microseconds();
  json["launch_us"] = report.played.gap.microseconds();
  json["power_w"] = cost.power.value();
  json["energy_j"] = report.played.energy.value();
  if (!report.ideals.empty()) {
    json["ideal"] = {{"free", in_words(report.ideals)},
                     {"real_duration_us", report.real.microseconds()},
                     {"gain", report.real.seconds() / cost.duration.seconds()}};
  }
  json["detailed"] = detailed_json(report.played, report.spec);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace warploom
