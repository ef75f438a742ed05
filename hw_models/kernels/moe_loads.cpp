// SPDX-License-Identifier: Apache-2.0
// Means over the draws.
#include "hw_models/kernels/moe_loads.hpp"

#include <cmath>

#include "hw_models/kernels/expert_loads.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"

namespace warploom {

double MoeLoads::tiles(double rows_a_tile) const {
  double sum = 0;
  for (const auto& draw : draws) {
    for (const std::int64_t load : draw) sum += std::ceil(as_double(load) / rows_a_tile);
  }
  return sum / static_cast<double>(draws.size());
}

MoeLoads moe_loads(const MoeShape& shape) {
  MoeLoads loads;
  Routing routing{shape.tokens, shape.top_k, shape.experts, shape.local_experts, as_double(shape.skew) / 100};
  routing.groups = shape.groups;
  routing.leftovers = shape.leaves_one_by_one ? Leftovers::one_by_one : Leftovers::by_turns;
  loads.draws = expert_loads(routing);
  for (const auto& draw : loads.draws) {
    for (const std::int64_t load : draw) {
      loads.rows += as_double(load);
      loads.busy += load > 0 ? 1 : 0;
    }
  }
  loads.rows /= static_cast<double>(loads.draws.size());
  loads.busy /= static_cast<double>(loads.draws.size());
  return loads;
}

}  // namespace warploom
