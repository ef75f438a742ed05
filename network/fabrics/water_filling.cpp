// SPDX-License-Identifier: Apache-2.0
// The filling itself.
#include "network/fabrics/water_filling.hpp"

#include <algorithm>
#include <functional>

#include "sim/core/errors.hpp"

namespace warploom {

WaterFilling::WaterFilling(const Folding& folding)
    : folding_(folding), units_per_flow_(static_cast<double>(folding.units_per_flow)), links_(folding.links.size()) {}

void WaterFilling::begin() {
  if (++epoch_ == 0) {
    for (Link& link : links_) link.epoch = 0;
    ++epoch_;
  }
  open_.clear();
}

void WaterFilling::open(LinkClassId id, double frozen, bool counts_background, double capacity) {
  Link& link = links_[id];
  if (link.epoch == epoch_) return;
  link = {};
  link.epoch = epoch_;
  link.capacity = capacity;
  link.frozen = frozen;
  link.counts_background = counts_background;
  open_.push_back(id);
}

void WaterFilling::solve(std::span<Job> jobs) {
  begin();
  for (const Job& job : jobs) {
    for (const Share& share : folding_.variables[job.variable].links) open(share.id);
  }
  fill(jobs);
}

// The open links of each job one after another, and the jobs of each link.
void WaterFilling::list_jobs(std::span<const Job> jobs) {
  shares_.clear();
  first_share_.clear();
  for (const Job& job : jobs) {
    first_share_.push_back(static_cast<std::uint32_t>(shares_.size()));
    for (const Share& share : folding_.variables[job.variable].links) {
      Link& link = links_[share.id];
      if (link.epoch != epoch_ || (job.is_background && !link.counts_background)) continue;
      link.rising += share.units;
      ++link.job_count;
      shares_.push_back(share);
    }
  }
  first_share_.push_back(static_cast<std::uint32_t>(shares_.size()));
  std::uint32_t at = 0;
  for (const LinkClassId id : open_) {
    links_[id].first_job = at;
    at += links_[id].job_count;
    links_[id].job_count = 0;
  }
  jobs_of_links_.resize(at);
  for (std::uint32_t j = 0; j < jobs.size(); ++j) {
    for (std::uint32_t i = first_share_[j]; i < first_share_[j + 1]; ++i) {
      Link& link = links_[shares_[i].id];
      jobs_of_links_[link.first_job + link.job_count++] = j;
    }
  }
}

double WaterFilling::level_of(const Link& link) const {
  return (link.capacity - link.frozen) / (static_cast<double>(link.rising) / units_per_flow_);
}

void WaterFilling::push(LinkClassId id, double key) {
  links_[id].key = key;
  heap_.emplace_back(key, id);
  std::ranges::push_heap(heap_, std::greater{});
}

const WaterFilling::Entry* WaterFilling::first_entry() const {
  const bool has_sorted = next_sorted_ < sorted_.size();
  if (!heap_.empty() && (!has_sorted || heap_.front() < sorted_[next_sorted_])) return &heap_.front();
  return has_sorted ? &sorted_[next_sorted_] : nullptr;
}

void WaterFilling::pop() {
  if (next_sorted_ < sorted_.size() && first_entry() == &sorted_[next_sorted_]) {
    ++next_sorted_;
    return;
  }
  std::ranges::pop_heap(heap_, std::greater{});
  heap_.pop_back();
}

// Of links on which something rises.
double WaterFilling::lowest_level() {
  while (const Entry* entry = first_entry()) {
    const auto [key, id] = *entry;
    const Link& link = links_[id];
    const bool is_current = link.rising > 0 && key == link.key;
    if (is_current && link.level == key) return key;
    pop();
    if (is_current) push(id, link.level);
  }
  return unlimited;
}

void WaterFilling::freeze(std::span<Job> jobs, std::uint32_t index, double level, LinkClassId at) {
  if (is_frozen_[index]) return;
  is_frozen_[index] = true;
  --rising_;
  Job& job = jobs[index];
  job.rate = level;
  job.stopped_at = at;
  for (std::uint32_t i = first_share_[index]; i < first_share_[index + 1]; ++i) {
    Link& link = links_[shares_[i].id];
    if (link.freezing == 0) touched_.push_back(shares_[i].id);
    link.freezing += shares_[i].units;
  }
}

void WaterFilling::take_full(std::span<Job> jobs, double level) {
  while (const Entry* entry = first_entry()) {
    const auto [key, id] = *entry;
    if (key > level) return;
    pop();
    Link& link = links_[id];
    if (link.rising == 0 || key != link.key) continue;
    if (link.level > level) {
      push(id, link.level);
      continue;
    }
    link.is_full = true;
    link.level = level;
    for (std::uint32_t i = 0; i < link.job_count; ++i) freeze(jobs, jobs_of_links_[link.first_job + i], level, id);
  }
}

void WaterFilling::take_limited(std::span<Job> jobs, double level) {
  for (; next_limit_ < limits_.size() && limits_[next_limit_].first <= level; ++next_limit_)
    freeze(jobs, limits_[next_limit_].second, level, no_class);
}

// What was frozen at this level no longer rises.
void WaterFilling::settle(double level) {
  for (const LinkClassId id : touched_) {
    Link& link = links_[id];
    link.frozen += static_cast<double>(link.freezing) / units_per_flow_ * level;
    link.rising -= link.freezing;
    link.freezing = 0;
    if (link.rising == 0 || link.is_full) continue;
    link.level = level_of(link);
    if (link.level < link.key) push(id, link.level);  // by rounding
  }
  touched_.clear();
}

void WaterFilling::fill(std::span<Job> jobs) {
  list_jobs(jobs);
  is_frozen_.assign(jobs.size(), false);
  rising_ = jobs.size();
  limits_.clear();
  next_limit_ = 0;
  for (std::uint32_t j = 0; j < jobs.size(); ++j) {
    if (jobs[j].limit < unlimited) limits_.emplace_back(jobs[j].limit, j);
  }
  std::ranges::sort(limits_);
  heap_.clear();
  sorted_.clear();
  next_sorted_ = 0;
  for (const LinkClassId id : open_) {
    Link& link = links_[id];
    if (link.rising == 0) continue;
    link.level = link.key = level_of(link);
    sorted_.emplace_back(link.key, id);
  }
  std::ranges::sort(sorted_);
  double level = 0;
  while (rising_ > 0) {
    while (next_limit_ < limits_.size() && is_frozen_[limits_[next_limit_].second]) ++next_limit_;
    const double limit = next_limit_ < limits_.size() ? limits_[next_limit_].first : unlimited;
    const double next = std::min(lowest_level(), limit);
    WARPLOOM_CHECK(next < unlimited, "a flow that crosses no link and has no limit");
    level = std::max(level, next);  // rounding may put a link a hair below the last level
    take_full(jobs, level);
    take_limited(jobs, level);
    settle(level);
  }
}

}  // namespace warploom
