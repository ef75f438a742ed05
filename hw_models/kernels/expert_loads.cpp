// SPDX-License-Identifier: Apache-2.0
// Loads alike, or as a power law has them.
//
// Equation: load x with density ~ x^-a between 1 and 0.8 tokens (0.01 and 2 where there are fewer assignments than
// experts), that is x(u) = ((h^(1-a) - l^(1-a)) u + l^(1-a))^(1/(1-a)) at u = (i + 1/2) / experts, scaled to all
// assignments, rounded, at most all tokens. Which expert has which load is a fixed shuffle. Source: the routing that
// aiconfigurator's collectors draw at random.
#include "hw_models/kernels/expert_loads.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace warploom {

namespace {

std::vector<double> shares(const Routing& routing) {
  const auto experts = static_cast<std::size_t>(routing.experts);
  std::vector<double> result(experts, 1.0 / static_cast<double>(routing.experts));
  if (routing.exponent <= 0) return result;
  const bool is_dense = routing.tokens * routing.top_k > routing.experts;
  const double low = is_dense ? 1 : 0.01;
  const double high = is_dense ? std::max(1.1, 0.8 * static_cast<double>(routing.tokens)) : 2;
  const double power = std::abs(1 - routing.exponent) < 1e-6 ? 1e-6 : 1 - routing.exponent;
  const double from = std::pow(low, power);
  const double to = std::pow(high, power);
  double sum = 0;
  for (std::size_t i = 0; i < experts; ++i) {
    const double u = (static_cast<double>(i) + 0.5) / static_cast<double>(routing.experts);
    result[i] = std::pow((to - from) * u + from, 1 / power);
    sum += result[i];
  }
  for (double& share : result) share /= sum;
  return result;
}

// Whole tokens, most at the experts with the largest shares, none above all tokens.
std::vector<std::int64_t> whole(const std::vector<double>& shares, const Routing& routing) {
  const std::int64_t all = routing.tokens * routing.top_k;
  std::vector<std::int64_t> loads(shares.size());
  std::int64_t given = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    loads[i] = std::min(routing.tokens, static_cast<std::int64_t>(shares[i] * static_cast<double>(all)));
    given += loads[i];
  }
  for (bool has_room = true; given < all && has_room;) {
    has_room = false;
    const std::int64_t open =
        std::count_if(loads.begin(), loads.end(), [&](auto load) { return load < routing.tokens; });
    if (open == 0) break;
    const std::int64_t each = std::max<std::int64_t>(1, (all - given) / open);
    for (std::size_t i = shares.size(); i-- > 0 && given < all;) {
      const std::int64_t more = std::min({each, routing.tokens - loads[i], all - given});
      loads[i] += more;
      given += more;
      has_room = has_room || more > 0;
    }
  }
  return loads;
}

// Fisher and Yates with a multiplicative generator: the same on every machine.
void shuffle(std::vector<std::int64_t>& values) {
  std::uint64_t state = 0x9e3779b97f4a7c15ULL;
  for (std::size_t i = values.size(); i > 1; --i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::swap(values[i - 1], values[static_cast<std::size_t>((state >> 33) % i)]);
  }
}

}  // namespace

std::vector<std::int64_t> expert_loads(const Routing& routing) {
  std::vector<std::int64_t> loads = whole(shares(routing), routing);
  if (routing.local_experts >= routing.experts) return loads;
  if (routing.exponent > 0) shuffle(loads);
  const auto local = static_cast<std::ptrdiff_t>(routing.local_experts);
  auto heaviest = loads.begin();
  std::int64_t most = -1;
  for (auto it = loads.begin(); loads.end() - it >= local; it += local) {
    const std::int64_t sum = std::accumulate(it, it + local, std::int64_t{0});
    if (sum > most) {
      most = sum;
      heaviest = it;
    }
  }
  return {heaviest, heaviest + local};
}

}  // namespace warploom
