// SPDX-License-Identifier: Apache-2.0
// The replay of memory deltas, and its peak.
#include "sim/play/memory.hpp"

#include <algorithm>
#include <numeric>

#include "sim/core/errors.hpp"

namespace warploom {

std::vector<std::vector<MemoryChange>> memory_changes(const Program& program, const Timeline& timeline) {
  std::vector<std::vector<MemoryChange>> changes(program.roles.size());
  for (RowId row = 0; row < program.size(); ++row) {
    const auto deltas = program.memory_deltas(row);
    if (deltas.empty()) continue;
    auto& of_role = changes[program.role_of(row)];
    for (const auto& delta : deltas) {
      if (delta.bytes == 0) continue;
      of_role.push_back({delta.at_end ? timeline.end[row] : timeline.begin[row], delta.part, delta.bytes});
    }
  }
  for (auto& of_role : changes) {
    std::sort(of_role.begin(), of_role.end(), [](const MemoryChange& a, const MemoryChange& b) { return a.at < b.at; });
  }
  return changes;
}

std::vector<MemoryReport> peak_memory(const Program& program, const Machine& machine, const Timeline& timeline) {
  const auto changes = memory_changes(program, timeline);
  std::vector<MemoryReport> reports;
  reports.reserve(program.roles.size());
  for (RoleId role = 0; role < program.roles.size(); ++role) {
    const Role& of_role = program.roles[role];
    WARPLOOM_CHECK(of_role.device_class < machine.device_classes.size(), "role `{}` is of device class {} of {}",
                   of_role.name, of_role.device_class, machine.device_classes.size());
    const DeviceClass& device = machine.device_classes[of_role.device_class];
    MemoryByPart held = of_role.resident_bytes;
    std::int64_t total = std::accumulate(held.begin(), held.end(), std::int64_t{0});
    MemoryReport report;
    report.role = of_role.name;
    report.parts = held;
    report.peak_bytes = total;
    for (std::size_t i = 0; i < changes[role].size(); ++i) {
      const auto& change = changes[role][i];
      held[static_cast<std::size_t>(change.part)] += change.bytes;
      total += change.bytes;
      const bool is_last_of_its_moment = i + 1 == changes[role].size() || changes[role][i + 1].at != change.at;
      if (is_last_of_its_moment && total > report.peak_bytes) {
        report.peak_bytes = total;
        report.parts = held;
        report.peak_at = change.at;
      }
    }
    report.capacity_raw = device.memory_raw;
    report.capacity_usable = device.memory_usable;
    report.fits = report.peak_bytes <= device.memory_usable.count();
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace warploom
