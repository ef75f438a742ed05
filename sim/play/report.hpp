// SPDX-License-Identifier: Apache-2.0
// Where every picosecond of every device went, what it is worth, whether it fits, and which chain set the time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/play/breakdown.hpp"
#include "sim/play/critical_path.hpp"
#include "sim/play/memory.hpp"
#include "sim/play/ports.hpp"
#include "sim/play/timeline.hpp"
#include "sim/work/cause.hpp"
#include "sim/work/program.hpp"

namespace warploom {

struct RoleReport {
  std::string name;
  std::int64_t devices = 0;
  Breakdown breakdown{};
  Time forward_backward = Time::zero();  // forward and backward work, see RoleTime
};

struct SimulatorCost {
  double wall_s = 0;
  std::int64_t peak_rss_bytes = 0;
  std::uint64_t operations = 0;
  std::uint64_t events = 0;
  std::size_t roles = 0;
};

struct Report {
  // Identity, filled by whoever made the program.
  std::string name;
  std::string version;
  std::string config_hash;
  std::uint64_t seed = 0;
  std::string model;
  std::string machine;
  std::vector<std::string> assumptions;
  std::vector<std::string> fallbacks;
  std::vector<std::string> warnings;
  SimulatorCost simulator;

  // Computed by `make_report`.
  Time step_time;
  std::int64_t devices = 0;
  double tokens_per_s = 0;
  double tokens_per_s_per_device = 0;
  double tflops_per_device = 0;  // model FLOPs
  std::string flop_convention;
  double mfu = 0;
  double hfu = 0;
  std::string folding;                        // "exact", "slowest_member", "sampled"
  std::array<double, cause_count> seconds{};  // mean over devices; adds up to the step
  std::vector<RoleReport> roles;
  double bubble_share = 0;       // bubble device-time over step x devices
  double bubble_over_ideal = 0;  // bubble device-time over the device-time of forward and backward work
  double exposed_comm_share = 0;
  std::vector<MemoryReport> memory;
  bool fits = true;
  std::vector<PathPart> critical_path;
  std::array<Time, cause_count> critical_path_by_cause{};
};

// Reads timeline, program and machine; fills everything but the identity.
Report make_report(const Program& program, const Machine& machine, const Timeline& timeline);

// The text that people read.
std::string to_text(const Report& report, const Program& program);

}  // namespace warploom
