// SPDX-License-Identifier: Apache-2.0
// What every role holds at every moment: its resident bytes plus the memory deltas of its rows, replayed in time.
//
// What is held for no time does not count: changes of one picosecond are applied together before the total is looked
// at, so a row that begins when another ends takes over its memory.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/play/ports.hpp"
#include "sim/play/timeline.hpp"
#include "sim/work/program.hpp"

namespace warploom {

using MemoryByPart = std::array<std::int64_t, memory_part_names.size()>;

struct MemoryChange {
  Time at;
  MemoryPart part = MemoryPart::activations;
  std::int64_t bytes = 0;
};

// By role, in order of time.
std::vector<std::vector<MemoryChange>> memory_changes(const Program& program, const Timeline& timeline);

struct MemoryReport {
  std::string role;
  MemoryByPart parts{};  // at the moment of the peak
  std::int64_t peak_bytes = 0;
  Time peak_at = Time::zero();
  Bytes capacity_raw{0};
  Bytes capacity_usable{0};
  bool fits = true;  // in the usable capacity
};

// One entry a role.
std::vector<MemoryReport> peak_memory(const Program& program, const Machine& machine, const Timeline& timeline);

}  // namespace warploom
