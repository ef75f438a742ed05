// SPDX-License-Identifier: Apache-2.0
// The report's numbers: means over devices, rates, shares and utilisation, from breakdown, memory and critical path.
#include "sim/play/report.hpp"

#include <algorithm>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

using detail::int128;

double ratio(double a, double b) { return b != 0 ? a / b : 0; }

// Picoseconds x devices, exact.
int128 device_time(const Report& report, Cause cause) {
  int128 sum = 0;
  for (const auto& role : report.roles) {
    sum += static_cast<int128>(role.breakdown[static_cast<std::size_t>(cause)].ps()) * role.devices;
  }
  return sum;
}

// seconds = sum over roles of devices x time / devices in all.
void add_breakdown(Report& report, const Program& program, const Timeline& timeline) {
  const auto times = break_down(program, timeline);
  int128 work = 0;
  for (RoleId role = 0; role < program.roles.size(); ++role) {
    const std::int64_t devices = program.roles[role].device_count();
    report.roles.push_back({program.roles[role].name, devices, times[role].by_cause, times[role].forward_backward});
    work += static_cast<int128>(times[role].forward_backward.ps()) * devices;
  }
  for (std::size_t cause = 0; cause < cause_count; ++cause) {
    const auto sum = static_cast<double>(device_time(report, static_cast<Cause>(cause)));
    report.seconds[cause] = ratio(sum, static_cast<double>(report.devices)) / 1e12;
    if (is_exposed_communication(static_cast<Cause>(cause))) report.exposed_comm_share += report.seconds[cause];
  }
  const double step = report.step_time.seconds();
  report.exposed_comm_share = ratio(report.exposed_comm_share, step);
  report.bubble_share = ratio(report.seconds[static_cast<std::size_t>(Cause::bubble)], step);
  report.bubble_over_ideal = ratio(static_cast<double>(device_time(report, Cause::bubble)), static_cast<double>(work));
}

// Utilisation = FLOPs of the step over what the devices' peaks would do in its time.
void add_rates(Report& report, const Program& program, const Machine& machine) {
  const double step = report.step_time.seconds();
  const auto devices = static_cast<double>(report.devices);
  double peak = 0;
  for (const auto& role : program.roles) {
    peak += machine.device_classes[role.device_class].peak.value() * static_cast<double>(role.device_count());
  }
  const Worth& worth = program.worth;
  report.tokens_per_s = ratio(worth.tokens, step);
  report.tokens_per_s_per_device = ratio(report.tokens_per_s, devices);
  report.tflops_per_device = ratio(ratio(worth.model_flops.value(), step), devices) / 1e12;
  report.flop_convention = worth.flop_convention;
  report.mfu = ratio(worth.model_flops.value(), peak * step);
  report.hfu = ratio(worth.hardware_flops.value(), peak * step);
}

}  // namespace

Report make_report(const Program& program, const Machine& machine, const Timeline& timeline) {
  for (const auto& role : program.roles) {
    WARPLOOM_CHECK(role.device_class < machine.device_classes.size(), "role `{}` is of device class {} of {}",
                   role.name, role.device_class, machine.device_classes.size());
  }
  Report report;
  report.machine = machine.name;
  report.simulator.operations = program.size();
  report.simulator.events = timeline.events;
  report.simulator.roles = program.roles.size();
  report.step_time = timeline.makespan;
  report.devices = program.device_count();
  report.folding = timeline.members_alike ? "exact" : "slowest_member";
  add_breakdown(report, program, timeline);
  add_rates(report, program, machine);
  report.memory = peak_memory(program, machine, timeline);
  report.fits = std::all_of(report.memory.begin(), report.memory.end(), [](const auto& role) { return role.fits; });
  report.critical_path = critical_path(program, timeline);
  for (const auto& part : report.critical_path) {
    report.critical_path_by_cause[static_cast<std::size_t>(part.cause)] += part.end - part.begin;
  }
  return report;
}

}  // namespace warploom
