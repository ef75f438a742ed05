// SPDX-License-Identifier: Apache-2.0
// The filling itself.
#include "network/fabrics/water_filling.hpp"

#include <algorithm>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr double flows(std::int64_t units) { return static_cast<double>(units) / static_cast<double>(units_per_flow); }

}  // namespace

WaterFilling::WaterFilling(const Folding& folding) : folding_(folding), links_(folding.links.size()) {}

void WaterFilling::freeze(std::span<Job> jobs, std::uint32_t job) {
  if (is_frozen_[job]) return;
  is_frozen_[job] = true;
  for (const auto& share : folding_.variables[jobs[job].variable].links) {
    Link& link = links_[share.id];
    if (link.freezing == 0) touched_.push_back(share.id);
    link.freezing += share.units;
  }
}

void WaterFilling::solve(std::span<Job> jobs) {
  ++epoch_;
  open_links_.clear();
  rising_.clear();
  is_frozen_.assign(jobs.size(), false);
  for (std::uint32_t j = 0; j < jobs.size(); ++j) {
    rising_.push_back(j);
    for (const auto& share : folding_.variables[jobs[j].variable].links) {
      Link& link = links_[share.id];
      if (link.epoch != epoch_) {
        link.epoch = epoch_;
        link.rising = link.freezing = 0;
        link.frozen = 0;
        link.jobs.clear();
        open_links_.push_back(share.id);
      }
      link.rising += share.units;
      link.jobs.push_back(j);
    }
  }
  double level = 0;
  while (!rising_.empty()) {
    double next = std::numeric_limits<double>::infinity();
    for (const auto id : open_links_) {
      Link& link = links_[id];
      link.level = (folding_.links[id].capacity - link.frozen) / flows(link.rising);
      next = std::min(next, link.level);
    }
    for (const auto job : rising_) next = std::min(next, jobs[job].limit);
    WARPLOOM_CHECK(next < std::numeric_limits<double>::infinity(), "a flow that crosses no link and has no limit");
    level = std::max(level, next);  // rounding may put a link a hair below the last level
    touched_.clear();
    for (const auto id : open_links_) {
      if (links_[id].level > level) continue;
      for (const auto job : links_[id].jobs) freeze(jobs, job);
    }
    for (const auto job : rising_) {
      if (jobs[job].limit <= level) freeze(jobs, job);
    }
    for (const auto job : rising_) {
      if (is_frozen_[job]) jobs[job].rate = level;
    }
    std::erase_if(rising_, [this](std::uint32_t job) { return is_frozen_[job]; });
    for (const auto id : touched_) {
      Link& link = links_[id];
      link.frozen += flows(link.freezing) * level;
      link.rising -= link.freezing;
      link.freezing = 0;
    }
    std::erase_if(open_links_, [this](std::uint32_t id) { return links_[id].rising == 0; });
  }
}

}  // namespace warploom
