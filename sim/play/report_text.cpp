// SPDX-License-Identifier: Apache-2.0
// The report as people read it in a terminal: headline, where the time goes, roles, memory, what was assumed.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "sim/play/report.hpp"
#include "sim/play/text_table.hpp"

namespace warploom {

namespace {

constexpr std::size_t roles_shown_in_full = 8;
constexpr int bar_width = 24;

// ---- Numbers ------------------------------------------------------------------------------------------------------

// One unit for all times of a table, so that they can be compared.
struct TimeUnit {
  std::string_view name;
  double seconds;
  std::string operator()(double s) const {
    if (s > 0 && s < 0.0005 * seconds) return fmt::format("<0.001 {}", name);
    return fmt::format("{:.3f} {}", s / seconds, name);
  }
};

TimeUnit unit_for(double seconds) {
  static constexpr TimeUnit units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}};
  for (const auto& unit : units) {
    if (seconds >= unit.seconds) return unit;
  }
  return {"ns", 1e-9};
}

std::string percent(double share) {
  return share > 0 && share < 0.0005 ? "<0.1%" : fmt::format("{:.1f}%", share * 100);
}

std::string whole(std::int64_t n) {
  std::string digits = std::to_string(n);
  for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > (n < 0 ? 1 : 0); i -= 3) {
    digits.insert(static_cast<std::size_t>(i), ",");
  }
  return digits;
}

// 2.59 M, 158, 0.25.
std::string count(double n) {
  static constexpr std::pair<double, const char*> prefixes[] = {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e4, " k"}};
  for (const auto& [size, prefix] : prefixes) {
    if (n >= size) return fmt::format("{:.3g}{}", n / (size == 1e4 ? 1e3 : size), prefix);
  }
  return n >= 1000 ? fmt::format("{:.0f}", n) : fmt::format("{:.3g}", n);
}

// Broken between words at the width of a page; the lines after the first are indented.
std::string wrapped(std::string_view text, std::size_t indent) {
  constexpr std::size_t page = 110;
  std::string lines;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, length);
    const bool is_first = lines.empty();
    if (!is_first && column + 1 + shown_width(word) > page) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!is_first) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += shown_width(word);
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return lines;
}

std::string devices(std::int64_t n) { return whole(n) + (n == 1 ? " device" : " devices"); }

double sum_of(const Breakdown& breakdown, Cause first, Cause last) {
  double sum = 0;
  for (auto i = static_cast<std::size_t>(first); i <= static_cast<std::size_t>(last); ++i)
    sum += breakdown[i].seconds();
  return sum;
}

// ---- Which roles to show -------------------------------------------------------------------------------------------

struct ShownRole {
  std::size_t index;
  std::string label;  // "stage0 (first)"
};

struct ShownRoles {
  std::vector<ShownRole> roles;
  std::string note;  // says what was left out
};

// All roles, or the first, the median, the one with the most of `measure`, and the last.
ShownRoles choose_roles(std::size_t roles, std::string_view most, std::string_view of_what,
                        const std::function<std::string(std::size_t)>& name,
                        const std::function<double(std::size_t)>& measure) {
  ShownRoles shown;
  std::vector<std::size_t> order(roles);
  std::iota(order.begin(), order.end(), 0);
  if (roles <= roles_shown_in_full) {
    for (const auto i : order) shown.roles.push_back({i, name(i)});
    return shown;
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return measure(a) != measure(b) ? measure(a) < measure(b) : a < b; });
  std::map<std::size_t, std::string> labels;
  const auto say = [&](std::size_t index, std::string_view what) {
    auto& label = labels[index];
    label += fmt::format("{}{}", label.empty() ? "" : ", ", what);
  };
  say(0, "first");
  say(roles - 1, "last");
  say(order[roles / 2], "median");
  const auto first_with_most =
      std::find_if(order.begin(), order.end(), [&](std::size_t i) { return measure(i) == measure(order.back()); });
  say(*first_with_most, most);
  for (const auto& [index, label] : labels) shown.roles.push_back({index, fmt::format("{} ({})", name(index), label)});
  shown.note = fmt::format("; of {} roles the first, the last, and the median and {} by {}", roles, most, of_what);
  return shown;
}

// ---- Sections ------------------------------------------------------------------------------------------------------

std::string headline(const Report& report) {
  std::string text =
      fmt::format("{}: {} a step\n", report.name.empty() ? "step" : report.name, to_string(report.step_time));
  const auto line = [&](std::string_view what, const std::string& value) {
    text += fmt::format("  {:<9} {}\n", what, wrapped(value, 12));
  };
  if (!report.model.empty()) line("model", report.model);
  line("machine", fmt::format("{}{}", report.machine.empty() ? "" : report.machine + ", ", devices(report.devices)));
  if (report.tokens_per_s > 0) {
    line("tokens", fmt::format("{} tokens/s, {} tokens/s per device", count(report.tokens_per_s),
                               count(report.tokens_per_s_per_device)));
  }
  if (report.tflops_per_device > 0) {
    line("compute", fmt::format("{:.4g} TFLOP/s per device; MFU {}, HFU {}", report.tflops_per_device,
                                percent(report.mfu), percent(report.hfu)));
    line("FLOPs", report.flop_convention);
  }
  const auto fullest = std::max_element(report.memory.begin(), report.memory.end(), [](const auto& a, const auto& b) {
    return a.peak_bytes - a.capacity_usable.count() < b.peak_bytes - b.capacity_usable.count();
  });
  if (fullest != report.memory.end()) {
    line("memory",
         fmt::format("{}: {} of {} usable on {}", report.fits ? "fits" : "DOES NOT FIT",
                     to_string(Bytes(fullest->peak_bytes)), to_string(fullest->capacity_usable), fullest->role));
  }
  line("folding", report.folding);
  if (!report.version.empty()) {
    line("identity", fmt::format("warploom {}, config {}, seed {}", report.version, report.config_hash, report.seed));
  }
  return text;
}

std::string where_the_time_goes(const Report& report) {
  const double step = report.step_time.seconds();
  const TimeUnit unit = unit_for(step);
  const auto share = [&](double seconds) { return step > 0 ? seconds / step : 0; };
  std::vector<std::size_t> causes;
  for (std::size_t cause = 0; cause < cause_count; ++cause) {
    if (report.seconds[cause] > 0 || report.critical_path_by_cause[cause] > Time::zero()) causes.push_back(cause);
  }
  std::sort(causes.begin(), causes.end(), [&](std::size_t a, std::size_t b) {
    return report.seconds[a] != report.seconds[b] ? report.seconds[a] > report.seconds[b] : a < b;
  });
  TextTable table({"cause", "mean", "share", "", "critical path", "share"});
  table.align_left(3);
  double sum = 0;
  const double most = causes.empty() ? 0 : share(report.seconds[causes.front()]);
  for (const auto cause : causes) {
    const double mean = report.seconds[cause];
    const double path = report.critical_path_by_cause[cause].seconds();
    sum += mean;
    table.add({std::string(cause_names[cause]), unit(mean), percent(share(mean)),
               text_bar(most > 0 ? share(mean) / most : 0, bar_width), path > 0 ? unit(path) : "-",
               path > 0 ? percent(share(path)) : "-"});
  }
  table.add({"step", unit(sum), percent(share(sum)), "", unit(step), percent(share(step))});
  std::string text =
      fmt::format("\nWhere the time goes (mean over {})\n{}", devices(report.devices), table.to_string());
  text += fmt::format(
      "  bubble {} of the step, {} of the forward and backward work; exposed communication {} of the step\n",
      percent(report.bubble_share), percent(report.bubble_over_ideal), percent(report.exposed_comm_share));
  return text;
}

// What the operations on the critical path are, longest sum first.
std::string critical_operations(const Report& report, const Program& program) {
  constexpr std::size_t shown = 5;
  std::map<std::string, Time> by_name;
  for (const auto& part : report.critical_path) {
    if (part.row >= program.size() || part.cause == Cause::host) continue;
    const NameId id = program.row_name[part.row];
    by_name[id < program.names.size() ? program.names[id] : std::string(name(program.cause[part.row]))] +=
        part.end - part.begin;
  }
  if (by_name.empty()) return {};
  std::vector<std::pair<std::string, Time>> order(by_name.begin(), by_name.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::string text = fmt::format("critical path: {} parts; most time in",
                                 whole(static_cast<std::int64_t>(report.critical_path.size())));
  for (std::size_t i = 0; i < std::min(shown, order.size()); ++i) {
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", order[i].first, to_string(order[i].second));
  }
  return "  " + wrapped(text, 2) + "\n";
}

std::string role_table(const Report& report) {
  struct Column {
    const char* name;
    std::vector<std::pair<Cause, Cause>> causes;
    double of(const Breakdown& breakdown) const {
      double sum = 0;
      for (const auto& [first, last] : causes) sum += sum_of(breakdown, first, last);
      return sum;
    }
  };
  const std::vector<Column> all = {
      {"compute", {{Cause::gemm, Cause::other_compute}}},
      {"recompute", {{Cause::recompute, Cause::recompute}}},
      {"optimizer", {{Cause::optimizer, Cause::optimizer}}},
      {"interference", {{Cause::interference, Cause::interference}}},
      {"exposed", {{Cause::exposed_tp, Cause::exposed_other}}},
      {"bubble", {{Cause::bubble, Cause::bubble}}},
      {"skew", {{Cause::skew, Cause::skew}}},
      {"host, data", {{Cause::host, Cause::data}}},
      {"copy", {{Cause::copy, Cause::checkpoint}}},
      {"idle", {{Cause::idle, Cause::idle}}},
  };
  const auto& roles = report.roles;
  std::vector<Column> columns;
  for (const auto& column : all) {
    if (std::any_of(roles.begin(), roles.end(), [&](const auto& role) { return column.of(role.breakdown) > 0; })) {
      columns.push_back(column);
    }
  }
  const auto shown = choose_roles(
      roles.size(), "busiest", "time in kernels", [&](std::size_t i) { return roles[i].name; },
      [&](std::size_t i) { return sum_of(roles[i].breakdown, Cause::gemm, Cause::interference); });
  std::vector<std::string> header = {"role", "devices"};
  for (const auto& column : columns) header.emplace_back(column.name);
  TextTable table(header);
  const double step = report.step_time.seconds();
  for (const auto& [index, label] : shown.roles) {
    std::vector<std::string> row = {label, whole(roles[index].devices)};
    for (const auto& column : columns) row.push_back(percent(step > 0 ? column.of(roles[index].breakdown) / step : 0));
    table.add(std::move(row));
  }
  return fmt::format("\nRoles (share of the step{})\n{}", shown.note, table.to_string());
}

std::string memory_table(const Report& report) {
  const auto& memory = report.memory;
  const auto shown = choose_roles(
      memory.size(), "fullest", "peak", [&](std::size_t i) { return memory[i].role; },
      [&](std::size_t i) { return static_cast<double>(memory[i].peak_bytes); });
  std::vector<std::size_t> parts;
  for (std::size_t part = 0; part < memory_part_names.size(); ++part) {
    if (std::any_of(memory.begin(), memory.end(), [&](const auto& role) { return role.parts[part] != 0; }))
      parts.push_back(part);
  }
  std::vector<std::string> header = {"role"};
  for (const auto part : parts) header.emplace_back(memory_part_names[part]);
  for (const char* name : {"peak", "usable", "used", "fits"}) header.emplace_back(name);
  TextTable table(header);
  for (const auto& [index, label] : shown.roles) {
    const auto& role = memory[index];
    std::vector<std::string> row = {label};
    for (const auto part : parts) row.push_back(to_string(Bytes(role.parts[part])));
    const auto usable = static_cast<double>(role.capacity_usable.count());
    row.push_back(to_string(Bytes(role.peak_bytes)));
    row.push_back(to_string(role.capacity_usable));
    row.push_back(usable > 0 ? percent(static_cast<double>(role.peak_bytes) / usable) : "-");
    row.emplace_back(role.fits ? "yes" : "NO");
    table.add(std::move(row));
  }
  return fmt::format("\nMemory at the peak (per device{})\n{}", shown.note, table.to_string());
}

std::string list(std::string_view title, const std::vector<std::string>& items) {
  if (items.empty()) return {};
  std::string text = fmt::format("\n{}\n", title);
  for (const auto& item : items) text += fmt::format("  - {}\n", wrapped(item, 4));
  return text;
}

std::string simulator_cost(const SimulatorCost& cost) {
  std::string text = fmt::format("\nSimulated {} operations of {} role{} in {} events",
                                 whole(static_cast<std::int64_t>(cost.operations)), cost.roles,
                                 cost.roles == 1 ? "" : "s", whole(static_cast<std::int64_t>(cost.events)));
  if (cost.wall_s > 0) text += fmt::format(", {}", to_string(Time::from_seconds(cost.wall_s)));
  if (cost.peak_rss_bytes > 0) text += fmt::format(" and {} of memory", to_string(Bytes(cost.peak_rss_bytes)));
  return text + ".\n";
}

}  // namespace

std::string to_text(const Report& report, const Program& program) {
  return headline(report) + where_the_time_goes(report) + critical_operations(report, program) + role_table(report) +
         memory_table(report) + list("Assumptions", report.assumptions) + list("Fallbacks", report.fallbacks) +
         list("Warnings", report.warnings) + simulator_cost(report.simulator);
}

}  // namespace warploom
