// SPDX-License-Identifier: Apache-2.0
// Loads alike, or drawn from a power law.
//
// Alike: token t goes to experts t + i ceil(experts / top_k), i < top_k, or t + floor(i experts / top_k) where one
// would come twice; fewer tokens than experts / top_k spread out.
//
// Power law: load x with density ~ x^-a between 1 and 0.8 tokens (0.01 and 2 where there are no more assignments than
// experts), x(u) = ((h^(1-a) - l^(1-a)) u + l^(1-a))^(1/(1-a)), scaled to all assignments, rounded, at most all tokens;
// what is over or missing goes by `leftovers`. The device with the most tokens comes first. Tokens take experts from
// the one with the most to the one with the least, all tokens of an expert in a row. With groups a token then keeps to
// the half of them with most of its two best experts, and ties take the first: what a router makes of such logits.
//
// Source: the routing that aiconfigurator's collectors draw (collector/helper.py); DeepSeek-V3, arXiv:2412.19437.
#include "hw_models/kernels/expert_loads.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "hw_models/kernels/tensor_bytes.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/random.hpp"

namespace warploom {

namespace {

using Counts = std::vector<std::int64_t>;

constexpr int draws = 8;

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

// [0, 1): the same on every machine.
double uniform(std::uint64_t& state) { return static_cast<double>(splitmix64(state) >> 11) * 0x1.0p-53; }

std::int64_t total(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}); }

std::int64_t stride_of(const Routing& routing) { return (routing.experts + routing.top_k - 1) / routing.top_k; }

// Behind a token's first expert. Even strides, as the collectors', would come round to the first where there are few
// experts a choice.
std::int64_t offset_of(const Routing& routing, std::int64_t choice) {
  const std::int64_t stride = stride_of(routing);
  return stride * (routing.top_k - 1) < routing.experts ? choice * stride : choice * routing.experts / routing.top_k;
}

std::int64_t alike_expert(const Routing& routing, std::int64_t token, std::int64_t choice) {
  const std::int64_t stride = stride_of(routing);
  const std::int64_t first = routing.tokens >= stride ? token % routing.experts : token * stride / routing.tokens;
  return (first + offset_of(routing, choice)) % routing.experts;
}

Counts alike(const Routing& routing) {
  Counts counts(index(routing.experts), routing.tokens / routing.experts * routing.top_k);
  const std::int64_t rest = routing.tokens % routing.experts;
  if (routing.tokens < stride_of(routing)) {
    for (std::int64_t token = 0; token < rest; ++token) {
      for (std::int64_t i = 0; i < routing.top_k; ++i) ++counts[index(alike_expert(routing, token, i))];
    }
    return counts;
  }
  // One more each for `rest` experts from every start.
  Counts starts(counts.size());
  for (std::int64_t i = 0; i < routing.top_k; ++i) ++starts[index(alike_expert(routing, 0, i))];
  std::int64_t running = 0;
  for (std::int64_t back = 1; back < rest; ++back) running += starts[index(routing.experts - back)];
  for (std::int64_t expert = 0; expert < routing.experts && rest > 0; ++expert) {
    running += starts[index(expert)];
    counts[index(expert)] += running;
    running -= starts[index((expert - rest + 1 + routing.experts) % routing.experts)];
  }
  return counts;
}

Counts rounded_power_law(const Routing& routing, std::uint64_t& state) {
  const bool is_dense = routing.tokens * routing.top_k > routing.experts;
  const double low = is_dense ? 1 : 0.01;
  const double high = is_dense ? std::max(1.1, 0.8 * as_double(routing.tokens)) : 2;
  const double power = std::abs(1 - routing.exponent) < 1e-6 ? 1e-6 : 1 - routing.exponent;
  const double from = std::pow(low, power);
  const double to = std::pow(high, power);
  std::vector<double> shares(index(routing.experts));
  for (double& share : shares) share = std::pow((to - from) * uniform(state) + from, 1 / power);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  Counts counts(shares.size());
  std::transform(shares.begin(), shares.end(), counts.begin(),
                 [&](double share) { return std::llround(share / sum * as_double(routing.tokens * routing.top_k)); });
  return counts;
}

// Lifts the lowest, up to `most` each; returns what found no room.
std::int64_t fill_lowest(std::span<std::int64_t> counts, std::int64_t amount, std::int64_t most) {
  while (amount > 0) {
    const std::int64_t lowest = *std::min_element(counts.begin(), counts.end());
    if (lowest >= most) break;
    std::int64_t next = most;
    std::int64_t many = 0;
    for (const std::int64_t count : counts) {
      if (count > lowest) next = std::min(next, count);
      many += count == lowest ? 1 : 0;
    }
    const std::int64_t each = std::min(next - lowest, amount / many);
    std::int64_t rest = each < next - lowest ? amount - each * many : 0;
    amount -= each * many + rest;
    for (std::int64_t& count : counts) {
      if (count != lowest) continue;
      count += each + (rest > 0 ? 1 : 0);
      rest -= rest > 0 ? 1 : 0;
    }
  }
  return amount;
}

// Returns what found no room.
std::int64_t give_by_turns(Counts& counts, std::int64_t amount, const Routing& routing) {
  const std::int64_t devices = routing.experts / routing.local_experts;
  for (std::int64_t before = amount + 1; amount > 0 && amount < before;) {
    before = amount;
    for (std::int64_t device = 0; device < devices; ++device) {
      const std::int64_t part = before / devices + (device < before % devices ? 1 : 0);
      const std::span<std::int64_t> own{counts.data() + device * routing.local_experts, index(routing.local_experts)};
      amount -= part - fill_lowest(own, part, routing.tokens);
    }
  }
  // Fewer than devices, and those whose turn it is are full: to the experts with the least of the others.
  return fill_lowest(counts, amount, routing.tokens);
}

void take_by_turns(Counts& counts, std::int64_t amount, const Routing& routing) {
  const std::int64_t devices = routing.experts / routing.local_experts;
  for (std::int64_t turn = 0; amount > 0; ++turn) {
    const auto first = counts.begin() + turn % devices * routing.local_experts;
    const auto largest = std::max_element(first, first + routing.local_experts);
    if (*largest == 0) continue;
    --*largest;
    --amount;
  }
}

std::vector<std::size_t> largest_first(const Counts& counts) {
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return counts[a] > counts[b]; });
  return order;
}

// What is over all tokens fills up the experts with the least; what rounding leaves adds one to each of them by turns.
// What is over and finds no room is no more missing.
void settle_one_by_one(Counts& counts, std::int64_t over, std::int64_t missing, std::int64_t tokens) {
  std::vector<std::size_t> order = largest_first(counts);
  for (auto it = order.rbegin(); it != order.rend() && over > 0; ++it) {
    const std::int64_t more = std::min(over, tokens - counts[*it]);
    counts[*it] += more;
    over -= more;
  }
  missing += over;
  order = largest_first(counts);
  for (bool has_room = true; missing > 0 && has_room;) {
    has_room = false;
    for (auto it = order.rbegin(); it != order.rend() && missing > 0; ++it) {
      if (counts[*it] >= tokens) continue;
      ++counts[*it];
      --missing;
      has_room = true;
    }
  }
  for (auto it = order.rbegin(); missing < 0; ++missing) {
    auto& smallest = counts[*it];
    --(smallest > 0 ? smallest : *std::max_element(counts.begin(), counts.end()));
    if (++it == order.rend()) it = order.rbegin();
  }
}

Counts drawn(const Routing& routing, std::uint64_t& state) {
  Counts counts = rounded_power_law(routing, state);
  std::int64_t over = 0;
  for (std::int64_t& count : counts) {
    over += std::max<std::int64_t>(0, count - routing.tokens);
    count = std::min(count, routing.tokens);
  }
  std::int64_t missing = routing.tokens * routing.top_k - over - total(counts);
  if (routing.leftovers == Leftovers::one_by_one) {
    settle_one_by_one(counts, over, missing, routing.tokens);
  } else {
    missing += give_by_turns(counts, over, routing);
    give_by_turns(counts, std::max<std::int64_t>(missing, 0), routing);
    take_by_turns(counts, std::max<std::int64_t>(-missing, 0), routing);
  }
  auto heaviest = counts.begin();
  std::int64_t most = -1;
  for (auto it = counts.begin(); it != counts.end(); it += routing.local_experts) {
    const std::int64_t sum = std::accumulate(it, it + routing.local_experts, std::int64_t{0});
    if (sum > most) {
      most = sum;
      heaviest = it;
    }
  }
  if (heaviest != counts.begin()) std::swap_ranges(counts.begin(), counts.begin() + routing.local_experts, heaviest);
  return counts;
}

// The experts of one token after it has kept to half of the groups: its own there, then the first of them.
std::vector<std::int64_t> kept_to_groups(const std::vector<std::int64_t>& own, const Routing& routing) {
  const std::int64_t size = routing.experts / routing.groups;
  Counts score(index(routing.groups));
  std::vector<bool> is_own(index(routing.experts));
  for (const std::int64_t expert : own) {
    std::int64_t& one = score[index(expert / size)];
    one = std::min<std::int64_t>(one + 1, 2);
    is_own[index(expert)] = true;
  }
  std::vector<bool> is_kept(score.size());
  std::int64_t room = (routing.groups + 1) / 2;
  for (std::int64_t wanted = 2; wanted >= 0; --wanted) {
    for (std::size_t group = 0; group < score.size() && room > 0; ++group) {
      if (score[group] != wanted) continue;
      is_kept[group] = true;
      --room;
    }
  }
  std::vector<std::int64_t> kept;
  kept.reserve(own.size());
  for (const std::int64_t expert : own) {
    if (is_kept[index(expert / size)]) kept.push_back(expert);
  }
  for (std::int64_t first = 0; first < routing.experts && std::ssize(kept) < routing.top_k; first += size) {
    if (!is_kept[index(first / size)]) continue;
    for (std::int64_t expert = first; expert < first + size && std::ssize(kept) < routing.top_k; ++expert) {
      if (!is_own[index(expert)]) kept.push_back(expert);
    }
  }
  return kept;
}

// From a sample to all: largest remainder, so that no assignment is lost.
void scale_up(Counts& counts, std::int64_t from, std::int64_t to, std::int64_t sum) {
  Counts remainders(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    remainders[i] = counts[i] * to % from;
    counts[i] = counts[i] * to / from;
  }
  const std::int64_t lost = sum - total(counts);
  const std::vector<std::size_t> order = largest_first(remainders);
  for (std::int64_t i = 0; i < lost; ++i) ++counts[order[index(i)]];
}

// Every token's choice where there are few tokens, else of a sample.
Counts grouped(const Counts& counts, const Routing& routing) {
  const std::int64_t sample = std::min<std::int64_t>(2048, (1 << 17) / routing.top_k);
  const std::vector<std::size_t> order = largest_first(counts);
  Counts ends(order.size());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < order.size(); ++i) ends[i] = sum += counts[order[i]];
  const std::int64_t asked = std::min(routing.tokens, sample);
  Counts result(counts.size());
  std::vector<std::int64_t> own(index(routing.top_k));
  for (std::int64_t i = 0; i < asked; ++i) {
    const std::int64_t token = i * routing.tokens / asked;
    for (std::int64_t choice = 0; choice < routing.top_k; ++choice) {
      const auto place = std::upper_bound(ends.begin(), ends.end(), choice * routing.tokens + token) - ends.begin();
      own[index(choice)] =
          routing.exponent > 0 ? static_cast<std::int64_t>(order[index(place)]) : alike_expert(routing, token, choice);
    }
    for (const std::int64_t expert : kept_to_groups(own, routing)) ++result[index(expert)];
  }
  scale_up(result, asked, routing.tokens, routing.tokens * routing.top_k);
  return result;
}

void check_all_assigned(const Counts& counts, const Routing& routing) {
  if (total(counts) != routing.tokens * routing.top_k) throw InternalError("loads of experts lost assignments");
}

}  // namespace

std::vector<std::vector<std::int64_t>> expert_loads(const Routing& routing) {
  const bool is_drawn = routing.exponent > 0;
  std::vector<Counts> result;
  std::uint64_t state = 1;
  for (int i = 0; i < (is_drawn ? draws : 1); ++i) {
    Counts counts = is_drawn ? drawn(routing, state) : alike(routing);
    check_all_assigned(counts, routing);
    if (routing.groups > 1) {
      counts = grouped(counts, routing);
      check_all_assigned(counts, routing);
    }
    counts.resize(index(routing.local_experts));
    result.push_back(std::move(counts));
  }
  return result;
}

}  // namespace warploom
