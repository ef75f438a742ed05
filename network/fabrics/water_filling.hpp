// SPDX-License-Identifier: Apache-2.0
// Max-min fair rates by progressive filling: all rates rise together until a link is full or a limit reached, what is
// stopped there is frozen, the others rise on.
//
// Equation, a link: level = (capacity - sum over frozen (flows x rate)) / (sum over rising flows). The sums are whole
// units a level, multiplied once, so that a folded and an unfolded network give bit-identical rates. Source: Bertsekas
// and Gallager, Data Networks, section 6.5.2.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "network/fabrics/fold.hpp"

namespace warploom {

class WaterFilling {
 public:
  struct Job {
    VariableId variable = 0;
    double limit = std::numeric_limits<double>::infinity();
    double rate = 0;  // answer
  };

  explicit WaterFilling(const Folding& folding);

  // Fills in the rates of jobs that share no link with any other running job. A variable may have several jobs.
  void solve(std::span<Job> jobs);

 private:
  struct Link {
    std::uint64_t epoch = 0;
    std::int64_t rising = 0;    // units
    std::int64_t freezing = 0;  // units, in this round
    double frozen = 0;          // bytes a second
    double level = 0;
    std::vector<std::uint32_t> jobs;
  };
  void freeze(std::span<Job> jobs, std::uint32_t job);

  const Folding& folding_;
  std::vector<Link> links_;
  std::uint64_t epoch_ = 0;
  std::vector<std::uint32_t> open_links_;
  std::vector<std::uint32_t> rising_;
  std::vector<std::uint32_t> touched_;
  std::vector<bool> is_frozen_;
};

}  // namespace warploom
