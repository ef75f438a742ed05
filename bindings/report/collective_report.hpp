// SPDX-License-Identifier: Apache-2.0
// One collective's estimate as text and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bindings/report/prediction_band.hpp"
#include "network/collective_estimate.hpp"
#include "sim/work/call.hpp"

namespace warploom {

// Another call at the same time.
struct BesideReport {
  std::string call;
  Time alone;
  Time together;
};

struct CollectiveReport {
  Call call;
  std::string cluster;
  std::int64_t ranks = 0;
  std::string fabric;  // "fluid", "packet"
  CollectiveEstimate estimate;
  // With those beside it; `estimate` is of the call alone, but for its packets, which are of all together.
  std::optional<Time> together;  // the call's duration
  Time together_end;             // of the last
  BusiestLink bottleneck_together;
  std::vector<BesideReport> beside;
  std::optional<PredictionBand> band;
  bool has_explanation = false;
};

std::string to_text(const CollectiveReport& report);
std::string to_json(const CollectiveReport& report);

}  // namespace warploom
