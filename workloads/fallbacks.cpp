// SPDX-License-Identifier: Apache-2.0
// Counts the operations whose kernel the timer of their device answered from elsewhere.
#include "workloads/fallbacks.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

namespace warploom {

std::vector<std::string> kernel_fallbacks(const Program& program, const Machine& machine) {
  std::map<std::pair<std::uint32_t, KernelId>, bool> known;
  struct Count {
    std::size_t operations = 0;
    std::set<KernelId> shapes;
  };
  std::map<std::string, Count> by_family;
  for (RowId row = 0; row < program.size(); ++row) {
    const KernelId id = program.kernel[row];
    if (program.kind[row] != OperationKind::compute || id == none) continue;
    const std::uint32_t device = program.roles[program.role_of(row)].device_class;
    const auto [found, is_new] = known.try_emplace({device, id}, false);
    if (is_new) found->second = machine.device_classes[device].timer->cost(program.kernels[id]).is_fallback;
    if (!found->second) continue;
    Count& count = by_family[std::string(program.kernels[id].family)];
    ++count.operations;
    count.shapes.insert(id);
  }
  std::vector<std::string> lines;
  for (const auto& [family, count] : by_family) {
    lines.push_back(fmt::format("{}: {} operations of {} shapes that the timer does not know; by the other model",
                                family, count.operations, count.shapes.size()));
  }
  return lines;
}

}  // namespace warploom
