// SPDX-License-Identifier: Apache-2.0
// The words and keys of a kernel's prediction.
#include "bindings/report/kernel_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bindings/report/band_json.hpp"
#include "bindings/report/detailed_json.hpp"
#include "bindings/report/detailed_report.hpp"
#include "hw_models/kernels.hpp"
#include "sim/play/text_table.hpp"

namespace warploom {

namespace {

using Json = nlohmann::ordered_json;

constexpr int schema = 1;

// "m 8192, n 8192, k 8192"; what has its usual value is left out where that says nothing (one batch, no window), not
// where it is a size like the others (two experts a token). Flags after them.
std::string shape_in_words(const Kernel& kernel) {
  const KernelFamily& family = kernel_family(kernel.family);
  std::string text;
  for (std::size_t i = 0; i < family.parameters().size(); ++i) {
    const KernelParameter& parameter = family.parameters()[i];
    if (parameter.usual == kernel.size[i] && kernel.size[i] <= 1) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", parameter.name, kernel.size[i]);
  }
  for (const KernelFlag& flag : family.flags()) {
    if ((kernel.flags & flag.bit) != 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", flag.name);
  }
  return text;
}

std::string types_in_words(const Kernel& kernel) {
  std::string text{name(kernel.input)};
  if (kernel.weight != kernel.input) text += fmt::format(" x {}", name(kernel.weight));
  if (kernel.output != kernel.input) text += fmt::format(" -> {}", name(kernel.output));
  return text;
}

std::string_view meaning(Bound bound) {
  switch (bound) {
    case Bound::tensor:
      return "tensor cores";
    case Bound::vector:
      return "vector and special function units";
    case Bound::operand_bandwidth:
      return "operands from the L2, or load and store instructions";
    case Bound::hbm:
      return "device memory bandwidth";
    case Bound::latency:
      return "start, end and latencies";
    case Bound::launch:
      return "the gap between kernels";
    case Bound::power:
      return "tensor cores, at the power limit";
  }
  return "?";
}

// A kernel that is shorter than the governor's average may draw more than the limit.
std::string power_in_words(Power power, Power limit) {
  if (limit <= Power(0)) return to_string(power);
  return fmt::format("{} of {}{}", to_string(power), to_string(limit), power > limit ? ", a burst" : "");
}

// With what is free and without.
std::string gain_in_words(const KernelPrediction& p) {
  return fmt::format("{}: {} instead of {}, {:.2f} times as fast", in_words(p.ideals), to_string(p.cost.duration),
                     to_string(p.real), p.gain());
}

// Of the candidate that runs: `128 x 256, by the rule`.
std::string choice_in_words(const KernelChoice& choice) {
  const auto chosen = std::ranges::find(choice.candidates, true, &KernelCandidate::is_chosen);
  if (chosen == choice.candidates.end()) return {};
  return fmt::format("{}, chosen by the {}", chosen->what, choice.by);
}

std::string candidates_in_words(const KernelChoice& choice) {
  if (choice.candidates.empty()) return "\nThis family has one way to do it.\n";
  TextTable table({"", "tile", "waves", "steps", "parts", "rule's cycles", "predicted", "why"});
  table.align_left(1);
  table.align_left(7);
  for (const KernelCandidate& one : choice.candidates) {
    const bool has_rule = one.nominal > Cycles(0);
    table.add({one.is_chosen ? "*" : "", one.what, fmt::format("{:.2f}", one.waves),
               has_rule ? fmt::format("{:.0f}", one.steps) : "-", fmt::format("{:.0f}", one.parts),
               has_rule ? fmt::format("{:.0f}", one.nominal.value()) : "-",
               one.duration > Time::zero() ? to_string(one.duration) : "-", one.is_chosen ? "taken" : one.why});
  }
  std::string text = fmt::format("\nWhich kernel (* is taken, by the {}: {})\n", choice.by, choice.why);
  text += table.to_string();
  if (choice.left_out > 0) text += fmt::format("and {} more that the rule counts as slower\n", choice.left_out);
  return text;
}

Json candidate_json(const KernelCandidate& one) {
  Json json = {{"what", one.what},
               {"waves", one.waves},
               {"steps", one.steps},
               {"parts", one.parts},
               {"nominal_cycles", one.nominal.value()}};
  if (one.duration > Time::zero()) json["duration_us"] = one.duration.microseconds();
  json["is_chosen"] = one.is_chosen;
  json["why"] = one.why;
  return json;
}

Json choice_json(const KernelChoice& choice) {
  Json json = {{"by", choice.by}, {"why", choice.why}};
  const auto chosen = std::ranges::find(choice.candidates, true, &KernelCandidate::is_chosen);
  if (chosen != choice.candidates.end()) json["what"] = chosen->what;
  return json;
}

Json shape_json(const Kernel& kernel) {
  const KernelFamily& family = kernel_family(kernel.family);
  Json json = Json::object();
  for (std::size_t i = 0; i < family.parameters().size(); ++i) {
    json[std::string(family.parameters()[i].name)] = kernel.size[i];
  }
  for (const KernelFlag& flag : family.flags()) json[std::string(flag.name)] = (kernel.flags & flag.bit) != 0;
  return json;
}

}  // namespace

std::string to_text(const KernelReport& report) {
  const KernelPrediction& p = report.prediction;
  TextTable table({"", ""});
  table.align_left(1);
  const auto row = [&](const char* what, std::string value) { table.add({what, std::move(value)}); };
  row("duration", fmt::format("{}, of which {} is the gap before it", to_string(p.cost.duration), to_string(p.launch)));
  if (!p.ideals.empty()) row("free", gain_in_words(p));
  if (!p.detailed && p.ideals.empty()) row("error band", in_words(report.band, p.cost.duration));
  if (const std::string choice = choice_in_words(report.choice); !choice.empty()) row("tile", choice);
  row("bound by", fmt::format("{}: {}", name(p.cost.bound_by), meaning(p.cost.bound_by)));
  row("arithmetic", fmt::format("{}, {} reached", to_string(p.flops), to_string(p.achieved())));
  row("memory",
      fmt::format("{} at least, at {}; {} moved, at {}", to_string(p.bytes), to_string(p.achieved_bandwidth()),
                  to_string(p.cost.hbm_bytes), to_string(p.moved_bandwidth())));
  row("roofline", fmt::format("{} by {}; the kernel takes {:.2f} times that", to_string(p.roofline),
                              p.is_roofline_compute ? "arithmetic" : "memory", p.times_roofline()));
  row("SMs", fmt::format("{:.0f}% of the device", 100 * p.cost.sm_share));
  row("power", power_in_words(p.cost.power, report.power_limit));
  if (p.detailed) {
    row("clock", clock_in_words(*p.detailed, report.spec));
    row("energy", to_string(p.energy()));
  }
  std::string text = fmt::format("{} {} ({}) on {}{}\n", p.kernel.family, shape_in_words(p.kernel),
                                 types_in_words(p.kernel), report.device, p.detailed ? ", played in detail" : "");
  text += table.lines();
  if (p.detailed) text += detailed_in_words(*p.detailed, report.spec);
  return report.explains ? text + candidates_in_words(report.choice) : text;
}

std::string to_json(const KernelReport& report) {
  const KernelPrediction& p = report.prediction;
  Json json;
  json["schema"] = schema;
  json["family"] = p.kernel.family;
  json["device"] = report.device;
  json["shape"] = shape_json(p.kernel);
  json["dtype"] = name(p.kernel.input);
  json["weight_dtype"] = name(p.kernel.weight);
  json["output_dtype"] = name(p.kernel.output);
  json["duration_us"] = p.cost.duration.microseconds();
  json["launch_us"] = p.launch.microseconds();
  json["bound_by"] = name(p.cost.bound_by);
  json["flops"] = p.flops.value();
  json["bytes"] = p.bytes.count();
  json["hbm_bytes"] = p.cost.hbm_bytes.count();
  json["l2_bytes"] = p.cost.l2_bytes.count();
  json["achieved_tflops"] = p.achieved().value() / 1e12;
  json["achieved_gb_per_s"] = p.achieved_bandwidth().value() / 1e9;
  json["moved_gb_per_s"] = p.moved_bandwidth().value() / 1e9;
  json["roofline_us"] = p.roofline.microseconds();
  json["times_roofline"] = p.times_roofline();
  json["roofline_bound_by"] = p.is_roofline_compute ? "compute" : "memory";
  json["sm_share"] = p.cost.sm_share;
  json["power_w"] = p.cost.power.value();
  if (report.power_limit > Power(0)) json["power_limit_w"] = report.power_limit.value();
  json["energy_j"] = p.energy().value();
  json["error_band"] = band_json(report.band, p.cost.duration);
  json["model"] = p.detailed ? "detailed" : "analytic";
  if (!p.ideals.empty()) {
    Json free = Json::array();
    for (const Ideal ideal : p.ideals) free.push_back(enum_name(ideal));
    json["ideal"] = {{"free", std::move(free)}, {"real_duration_us", p.real.microseconds()}, {"gain", p.gain()}};
  }
  if (p.detailed) json["detailed"] = detailed_json(*p.detailed, report.spec);
  if (!report.choice.by.empty()) json["choice"] = choice_json(report.choice);
  if (report.explains) {
    json["candidates"] = Json::array();
    for (const KernelCandidate& one : report.choice.candidates) json["candidates"].push_back(candidate_json(one));
    json["candidates_left_out"] = report.choice.left_out;
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace warploom
