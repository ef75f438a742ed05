// SPDX-License-Identifier: Apache-2.0
// Max-min fair rates by progressive filling: all rates rise together until a link is full or a limit reached, what is
// stopped there is frozen, the others rise on.
//
// Equation, a link: level = (capacity - sum over frozen (flows x rate)) / (sum over rising flows). The sums are whole
// units a level, multiplied once, so that a folded and an unfolded network give bit-identical rates. The next link to
// fill comes from a sorted list and a heap: a level only rises (but for rounding), so that an entry may wait until it
// surfaces; O(path length x log links) a job. Source: Bertsekas and Gallager, Data Networks, section 6.5.2.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "network/fabrics/fold.hpp"

namespace warploom {

class WaterFilling {
 public:
  static constexpr double unlimited = std::numeric_limits<double>::infinity();

  struct Job {
    VariableId variable = 0;
    double limit = unlimited;
    double rate = 0;                    // answer
    LinkClassId stopped_at = no_class;  // answer; no_class: its limit
    bool is_background = false;         // counts on links that are opened as exact only
  };

  explicit WaterFilling(const Folding& folding);

  // Fills in the rates of jobs that share no link with any other running job. A variable may have several jobs.
  void solve(std::span<Job> jobs);

  // The same where only some links matter: open those, then fill.
  void begin();
  // All that crosses the link is among the jobs.
  void open(LinkClassId link) { open(link, 0, true, folding_.links[link].capacity); }
  // Jobs of the background are not counted one by one: together they take `frozen` of `capacity`.
  void open_beside(LinkClassId link, double frozen, double capacity) { open(link, frozen, false, capacity); }
  // A part of `frozen` that is among the jobs after all.
  void release(LinkClassId link, double rate) {
    if (!links_[link].counts_background) links_[link].frozen -= rate;
  }
  void fill(std::span<Job> jobs);
  // The level at which an open link became full; unlimited if it did not.
  double full_at(LinkClassId link) const { return links_[link].is_full ? links_[link].level : unlimited; }

 private:
  // One cache line.
  struct alignas(64) Link {
    std::uint32_t epoch = 0;
    bool counts_background = true;
    bool is_full = false;
    std::int64_t rising = 0;    // units
    std::int64_t freezing = 0;  // units, in this round
    double capacity = 0;
    double frozen = 0;  // bytes a second
    double level = 0;   // once full, the level at which it was
    double key = 0;     // of its waiting entry, never above its level
    std::uint32_t first_job = 0;
    std::uint32_t job_count = 0;
  };
  using Entry = std::pair<double, LinkClassId>;

  void open(LinkClassId link, double frozen, bool counts_background, double capacity);
  void list_jobs(std::span<const Job> jobs);
  double level_of(const Link& link) const;
  void push(LinkClassId id, double key);
  const Entry* first_entry() const;
  void pop();
  double lowest_level();
  void take_full(std::span<Job> jobs, double level);
  void take_limited(std::span<Job> jobs, double level);
  void freeze(std::span<Job> jobs, std::uint32_t job, double level, LinkClassId at);
  void settle(double level);

  const Folding& folding_;
  double units_per_flow_;
  std::vector<Link> links_;
  std::uint32_t epoch_ = 0;
  std::vector<LinkClassId> open_;
  std::vector<Share> shares_;  // of all jobs, of the open links
  std::vector<std::uint32_t> first_share_;
  std::vector<std::uint32_t> jobs_of_links_;
  std::vector<Entry> sorted_;  // as all began, ascending
  std::size_t next_sorted_ = 0;
  std::vector<Entry> heap_;                               // of those whose levels have changed
  std::vector<std::pair<double, std::uint32_t>> limits_;  // ascending
  std::size_t next_limit_ = 0;
  std::vector<LinkClassId> touched_;
  std::vector<bool> is_frozen_;
  std::size_t rising_ = 0;
};

}  // namespace warploom
