// SPDX-License-Identifier: Apache-2.0
// Rounds of the algorithms and their flows.
#include "workloads/astra_sim/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace warploom {

AstraCounts astra_counts(const AstraPhase& phase) {
  using C = AstraCollective;
  const std::int64_t n = phase.members;
  const bool is_ring = phase.how.algorithm == AstraAlgorithm::ring;
  AstraCounts counts;
  counts.message = phase.kind == C::all_gather ? phase.bytes : phase.bytes / n;
  switch (phase.kind) {
    case C::all_reduce:
      counts.rounds = is_ring ? 2 * (n - 1) : 2;
      counts.reductions = is_ring ? n - 1 : 1;
      break;
    case C::reduce_scatter:
      counts.rounds = is_ring ? n - 1 : 1;
      counts.reductions = is_ring ? n - 1 : 1;
      break;
    case C::all_gather:
      counts.rounds = is_ring ? n - 1 : 1;
      break;
    case C::all_to_all:
      counts.rounds = is_ring ? n * (n - 1) / 2 : 1;
      break;
  }
  return counts;
}

std::int64_t astra_direct_rounds(const AstraPhase& phase) {
  const std::int64_t peers = phase.members - 1;
  const std::int64_t window = phase.how.window > 0 ? phase.how.window : peers;
  return (peers + window - 1) / window;
}

namespace {

// Of a binary heap of n nodes: the level of node i is floor(log2(i + 1)).
int tree_levels(std::int64_t n) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))); }

std::vector<AstraRound> halving_doubling(const AstraPhase& phase) {
  using C = AstraCollective;
  std::vector<AstraRound> rounds;
  const std::int64_t n = phase.members;
  if (phase.kind != C::all_gather) {
    std::int64_t bytes = phase.bytes / 2;
    for (std::int64_t distance = n / 2; distance > 0; distance /= 2, bytes /= 2) {
      rounds.push_back({distance, 0, false, bytes, true});
    }
  }
  if (phase.kind != C::reduce_scatter) {
    std::int64_t bytes = phase.kind == C::all_gather ? phase.bytes : phase.bytes / n;
    for (std::int64_t distance = 1; distance < n; distance *= 2, bytes *= 2) {
      rounds.push_back({distance, 0, false, bytes, false});
    }
  }
  return rounds;
}

}  // namespace

std::vector<AstraRound> astra_rounds(const AstraPhase& phase) {
  if (phase.how.algorithm == AstraAlgorithm::halving_doubling) return halving_doubling(phase);
  std::vector<AstraRound> rounds;
  const int levels = tree_levels(phase.members);
  for (int level = levels - 1; level > 0; --level) rounds.push_back({0, level, true, phase.bytes, true});
  for (int level = 1; level < levels; ++level) rounds.push_back({0, level, false, phase.bytes, false});
  return rounds;
}

std::string astra_phase_name(const AstraPhase& phase) {
  constexpr std::array<std::string_view, 4> algorithms = {"ring", "direct", "halving-doubling", "binary tree"};
  constexpr std::array<std::string_view, 4> kinds = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"};
  return fmt::format("{} {} of {}", algorithms[static_cast<std::size_t>(phase.how.algorithm)],
                     kinds[static_cast<std::size_t>(phase.kind)], phase.members);
}

// ---- Bundles ------------------------------------------------------------------------------------------------------

AstraStepWriter::AstraStepWriter(const AstraPhase& phase, const AstraMembers& members, GroupId group)
    : phase_(phase), members_(members), group_(group) {
  if (phase.digit < 0) return;
  std::int64_t stride = 1;
  for (int d = 0; d < phase.digit; ++d) stride *= members.digits[static_cast<std::size_t>(d)].count;
  axis_ = {stride, phase.members};
  if (members.digits.size() == 1) axis_ = {};
}

Bundle AstraStepWriter::bundle(FlowPattern pattern, std::int64_t bytes) const {
  Bundle made;
  made.traffic.pattern = pattern;
  made.traffic.group = group_;
  made.traffic.axis = axis_;
  made.coupled = true;  // as fabrics want it of all but single pairs
  made.bytes_per_flow = Bytes(bytes);
  return made;
}

Bundle AstraStepWriter::listed(const std::vector<std::pair<std::int64_t, std::int64_t>>& pairs,
                               std::int64_t bytes) const {
  auto list = std::make_shared<std::vector<MemberPair>>();
  // Members that are no box are members of the whole network: their numbers are their ranks.
  const bool by_rank = members_.digits.empty();
  for (const auto& [from, to] : pairs) {
    const auto number = [&](std::int64_t member) {
      return static_cast<std::int32_t>(by_rank ? members_.ranks[static_cast<std::size_t>(member)] : member);
    };
    list->push_back({number(from), number(to), 1});
  }
  Bundle made = bundle(FlowPattern::pairs, bytes);
  made.traffic.pairs = std::move(list);
  return made;
}

Bundle AstraStepWriter::ring(std::int64_t bytes, std::int64_t first) const {
  if (!members_.digits.empty()) {
    Bundle made = bundle(FlowPattern::ring, bytes);
    made.first = Bytes(first);
    return made;
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::int64_t i = 0; i < phase_.members; ++i) pairs.emplace_back(i, (i + 1) % phase_.members);
  return listed(pairs, bytes);
}

std::vector<std::vector<Bundle>> AstraStepWriter::direct(std::int64_t message) const {
  const std::int64_t n = phase_.members;
  const std::int64_t rounds = astra_direct_rounds(phase_);
  if (members_.digits.empty() || rounds == 1) {
    if (!members_.digits.empty()) return {{bundle(FlowPattern::all_pairs, message)}};
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        if (i != j) pairs.emplace_back(i, j);
      }
    }
    return {{listed(pairs, message)}};
  }
  std::vector<std::vector<Bundle>> result;
  for (std::int64_t round = 0; round < rounds; ++round) {
    std::vector<Bundle> bundles;
    const std::int64_t end = std::min(n, 1 + (round + 1) * phase_.how.window);
    for (std::int64_t distance = 1 + round * phase_.how.window; distance < end; ++distance) {
      bundles.push_back(bundle(FlowPattern::shift, message));
      bundles.back().traffic.distance = distance;
    }
    result.push_back(std::move(bundles));
  }
  return result;
}

Bundle AstraStepWriter::rooted(bool is_chain, bool is_inward, std::int64_t bytes) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::int64_t i = 1; i < phase_.members; ++i) {
    const std::int64_t other = is_chain ? i - 1 : 0;
    pairs.emplace_back(is_inward ? i : other, is_inward ? other : i);
  }
  return listed(pairs, bytes);
}

Bundle AstraStepWriter::round(const AstraRound& round) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  if (round.distance > 0) {
    if (!members_.digits.empty()) {
      Bundle made = bundle(FlowPattern::exchange, round.bytes);
      made.traffic.distance = round.distance;
      return made;
    }
    for (std::int64_t i = 0; i < phase_.members; ++i) pairs.emplace_back(i, i ^ round.distance);
    return listed(pairs, round.bytes);
  }
  const std::int64_t first = (std::int64_t{1} << round.level) - 1;
  for (std::int64_t child = first; child < std::min(phase_.members, 2 * first + 1); ++child) {
    const std::int64_t parent = (child - 1) / 2;
    pairs.emplace_back(round.up ? child : parent, round.up ? parent : child);
  }
  return listed(pairs, round.bytes);
}

}  // namespace warploom
