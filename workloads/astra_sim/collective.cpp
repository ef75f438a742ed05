// SPDX-License-Identifier: Apache-2.0
// Chunks, phases, closed forms and plans of collectives.
#include "workloads/astra_sim/collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/core/errors.hpp"
#include "workloads/astra_sim/steps.hpp"

namespace warploom {

namespace {

std::int64_t floored(double ns) {
  if (!(ns < 9e15)) throw UserError("a collective takes longer than 100 days", "check its size and the bandwidth");
  return static_cast<std::int64_t>(ns);
}

bool is_power_of_two(std::int64_t n) { return std::has_single_bit(static_cast<std::uint64_t>(n)); }

// What ASTRA-sim has no form for, or fails with, runs as a ring.
AstraImplementation possible(AstraImplementation how, AstraCollective kind, std::int64_t members) {
  const bool all_reduce = kind == AstraCollective::all_reduce;
  if (how.algorithm == AstraAlgorithm::double_binary_tree && !all_reduce) how.algorithm = AstraAlgorithm::ring;
  if (how.algorithm == AstraAlgorithm::halving_doubling &&
      (kind == AstraCollective::all_to_all || !is_power_of_two(members))) {
    how.algorithm = AstraAlgorithm::ring;
  }
  return how;
}

std::int64_t size_after(AstraCollective kind, std::int64_t bytes, std::int64_t members) {
  if (kind == AstraCollective::all_gather) return bytes * members;
  if (kind == AstraCollective::reduce_scatter) return std::max<std::int64_t>(bytes / members, 1);
  return bytes;
}

}  // namespace

std::vector<AstraPhase> AstraCollectives::phases(AstraCollective kind, std::int64_t bytes,
                                                 const AstraMembers& members) const {
  const auto all = static_cast<std::int64_t>(members.ranks.size());
  std::vector<AstraImplementation> how;
  if (const auto place = system_.implementations.find(kind); place != system_.implementations.end()) {
    how = place->second;
  }
  if (how.empty()) how.push_back({});
  if (!members.is_by_dimension || how.front().over_all || members.digits.empty()) {
    AstraImplementation one = members.is_by_dimension ? how.front() : AstraImplementation{};
    return {{kind, possible(one, kind, all), -1, all, bytes}};
  }
  const auto& digits = members.digits;
  std::vector<AstraPhase> result;
  const auto add = [&](AstraCollective part, std::size_t digit) {
    const auto& chosen = how[std::min(digits[digit].dimension, how.size() - 1)];
    const std::int64_t n = digits[digit].count;
    result.push_back({part, possible(chosen, part, n), static_cast<int>(digit), n, bytes});
    bytes = size_after(part, bytes, n);
  };
  if (kind == AstraCollective::all_reduce && system_.optimization == AstraOptimization::local_bandwidth_aware) {
    for (std::size_t d = 0; d + 1 < digits.size(); ++d) add(AstraCollective::reduce_scatter, d);
    add(AstraCollective::all_reduce, digits.size() - 1);
    for (std::size_t d = digits.size() - 1; d > 0; --d) add(AstraCollective::all_gather, d - 1);
  } else {
    for (std::size_t i = 0; i < digits.size(); ++i) {
      add(kind, kind == AstraCollective::all_gather ? digits.size() - 1 - i : i);
    }
  }
  return result;
}

std::int64_t AstraCollectives::chunk_bytes(AstraCollective kind, std::int64_t bytes,
                                           const AstraMembers& members) const {
  const std::int64_t chunk = bytes / system_.splits;
  if (kind == AstraCollective::all_gather) return std::max<std::int64_t>(chunk, 1);
  return std::max(chunk, static_cast<std::int64_t>(members.ranks.size()));
}

void AstraCollectives::require_size(std::int64_t bytes, const AstraMembers& members) {
  if (static_cast<double>(bytes) * static_cast<double>(members.ranks.size()) < 1e18) return;
  throw UserError(fmt::format("a collective of {} bytes among {} ranks is larger than can be counted", bytes,
                              members.ranks.size()));
}

std::int64_t AstraCollectives::reduction_ns(std::int64_t bytes) const {
  if (system_.memory_gb_per_s <= 0) return 0;
  return 3 * floored(static_cast<double>(bytes) / system_.memory_gb_per_s);
}

// ---- Their times --------------------------------------------------------------------------------------------------

AstraCollectives::Link AstraCollectives::link_of(const AstraPhase& phase, const AstraMembers& members) const {
  const auto of_dimension = [this](std::size_t d) {
    const auto& dimension = network_.dimensions[d];
    const double hops = dimension.block == AstraBlock::switched ? 2 : 1;
    return Link{hops * dimension.latency_ns, hops, dimension.bytes_per_ns(), dimension.block};
  };
  if (phase.digit >= 0) return of_dimension(members.digits[static_cast<std::size_t>(phase.digit)].dimension);
  if (members.digits.size() == 1) {
    const auto& digit = members.digits.front();
    Link link = of_dimension(digit.dimension);
    std::int64_t unit = 1;
    for (std::size_t d = 0; d < digit.dimension; ++d) unit *= network_.dimensions[d].npus;
    if (link.block == AstraBlock::ring && digit.stride != unit) {  // not neighbours
      link.hops = static_cast<double>(digit.stride / unit);
      link.latency_ns *= link.hops;
    }
    return link;
  }
  // Over several dimensions: the longest way between members that follow each other, the thinnest dimension.
  Link link;
  Time longest = Time::zero();
  for (std::size_t i = 0; i < members.ranks.size(); ++i) {
    const Rank next = members.ranks[(i + 1) % members.ranks.size()];
    if (next != members.ranks[i]) longest = std::max(longest, topology_->latency(members.ranks[i], next));
  }
  link.latency_ns = static_cast<double>(longest.ps()) / 1000;
  for (const auto& dimension : network_.dimensions) {
    if (link.bytes_per_ns == 0 || dimension.bytes_per_ns() < link.bytes_per_ns) {
      link.bytes_per_ns = dimension.bytes_per_ns();
    }
  }
  return link;
}

std::int64_t AstraCollectives::phase_nanoseconds(const AstraPhase& phase, const AstraMembers& members) const {
  const auto counts = astra_counts(phase);
  const Link link = link_of(phase, members);
  const auto half = static_cast<double>(phase.members / 2);
  const double wire = static_cast<double>(counts.message) / link.bytes_per_ns;
  const bool aware_switch = backend_ == AstraBackend::aware && link.block == AstraBlock::switched;
  const std::int64_t e = system_.endpoint_delay_ns;
  const std::int64_t r = reduction_ns(counts.message);
  std::int64_t step = floored(link.latency_ns + wire);
  if (aware_switch) step = 2 * floored(link.latency_ns / 2 + wire);
  switch (phase.how.algorithm) {
    case AstraAlgorithm::ring:
      return counts.rounds * step + counts.reductions * r + (counts.rounds + 1) * e;
    case AstraAlgorithm::direct: {
      if (aware_switch) step += (phase.members - 2) * floored(wire);
      if (link.block == AstraBlock::ring && phase.digit >= 0) step = floored(half * link.latency_ns + wire);
      const std::int64_t rounds = astra_direct_rounds(phase);
      return counts.rounds * (rounds * step + (rounds - 1) * e) + counts.reductions * r + (counts.rounds + 1) * e;
    }
    case AstraAlgorithm::halving_doubling:
    case AstraAlgorithm::double_binary_tree:
      break;
  }
  std::int64_t sum = e;
  for (const auto& round : astra_rounds(phase)) {
    const double bytes = static_cast<double>(round.bytes);
    const std::int64_t hop = aware_switch ? 2 * floored(link.latency_ns / 2 + bytes / link.bytes_per_ns)
                                          : floored(link.latency_ns + bytes / link.bytes_per_ns);
    sum += hop + e + (round.reduces ? reduction_ns(round.bytes) : 0);
  }
  return sum;
}

// Chunks follow each other through the phases; a dimension takes `active` of them at a time, in the order of arrival.
std::int64_t AstraCollectives::nanoseconds(AstraCollective kind, std::int64_t bytes,
                                           const AstraMembers& members) const {
  if (members.ranks.size() < 2 || bytes == 0) return 0;
  require_size(bytes, members);
  std::vector<std::int64_t> times;
  std::int64_t sum = 0;
  std::int64_t longest = 0;
  for (const auto& phase : phases(kind, chunk_bytes(kind, bytes, members), members)) {
    times.push_back(phase_nanoseconds(phase, members));
    sum += times.back();
    longest = std::max(longest, times.back());
  }
  const std::int64_t chunks = std::min(system_.splits, bytes);
  const std::int64_t waves = (chunks + system_.active_chunks - 1) / system_.active_chunks;
  if (static_cast<double>(longest) * static_cast<double>(waves) > 9e15) floored(1e16);
  // A pipeline of equal jobs: the first goes through, the others leave one by one at the pace of the slowest phase.
  return sum + (waves - 1) * longest;
}

std::int64_t AstraCollectives::send_nanoseconds(std::int64_t bytes, Rank from, Rank to) const {
  AstraMembers pair{{std::min(from, to), std::max(from, to)}, false, {}};
  if (auto box = astra_box(network_, pair.ranks)) pair.digits = *box;
  const Link link = link_of({AstraCollective::all_to_all, {}, -1, 2, bytes}, pair);
  const double latency = static_cast<double>(topology_->latency(from, to).ps()) / 1000;
  const double wire = static_cast<double>(bytes) / link.bytes_per_ns;
  const bool aware_switch = backend_ == AstraBackend::aware && link.block == AstraBlock::switched;
  return aware_switch ? 2 * floored(latency / 2 + wire) : floored(latency + wire);
}

// ---- Plans --------------------------------------------------------------------------------------------------------

namespace {

Time ns(double value) { return Time::from_seconds(value * 1e-9); }

// The i-th step of each phase together.
PlanStep together(const std::vector<const std::vector<PlanStep>*>& phases, std::size_t i) {
  PlanStep step;
  for (const auto* steps : phases) {
    if (i >= steps->size()) continue;
    step.latency = std::max(step.latency, (*steps)[i].latency);
    step.bundles.insert(step.bundles.end(), (*steps)[i].bundles.begin(), (*steps)[i].bundles.end());
  }
  return step;
}

void repeat(PlanStep& step, std::int64_t times) {
  step.latency = step.latency * times;
  for (auto& bundle : step.bundles) bundle.bytes_per_flow = Bytes(bundle.bytes_per_flow.count() * times);
}

// Waves of chunks through the phases: place t of the pipeline holds wave t - p in phase p.
std::vector<PlanStep> pipeline(const std::vector<std::vector<PlanStep>>& phases, std::int64_t waves) {
  const auto count = static_cast<std::int64_t>(phases.size());
  std::vector<PlanStep> plan;
  const auto add_slot = [&](std::int64_t first, std::int64_t last, std::int64_t times) {
    std::vector<const std::vector<PlanStep>*> active;
    std::size_t longest = 0;
    for (std::int64_t p = first; p <= last; ++p) {
      active.push_back(&phases[static_cast<std::size_t>(p)]);
      longest = std::max(longest, active.back()->size());
    }
    for (std::size_t i = 0; i < longest; ++i) {
      plan.push_back(together(active, i));
      repeat(plan.back(), times);
    }
  };
  const std::int64_t deep = std::min(waves, count);  // phases at work in the steady state
  for (std::int64_t t = 0; t < deep - 1; ++t) add_slot(0, t, 1);
  if (waves >= count) {
    add_slot(0, count - 1, waves - count + 1);
  } else {
    for (std::int64_t t = waves - 1; t < count; ++t) add_slot(t - waves + 1, t, 1);
  }
  for (std::int64_t t = 1; t < deep; ++t) add_slot(count - deep + t, count - 1, 1);
  return plan;
}

}  // namespace

std::vector<PlanStep> AstraCollectives::phase_steps(const AstraPhase& phase, const AstraMembers& members,
                                                    GroupId group) const {
  const Link link = link_of(phase, members);
  const AstraStepWriter writer(phase, members, group);
  const auto counts = astra_counts(phase);
  const auto e = static_cast<double>(system_.endpoint_delay_ns);
  const auto r = static_cast<double>(reduction_ns(counts.message));
  const auto rounds = static_cast<double>(counts.rounds);
  if (phase.how.algorithm == AstraAlgorithm::ring) {
    PlanStep step;
    step.latency = ns(rounds * link.latency_ns + static_cast<double>(counts.reductions) * r + (rounds + 1) * e);
    step.bundles.push_back(writer.ring(counts.rounds * counts.message, counts.message));
    return {step};
  }
  std::vector<PlanStep> steps;
  const auto add = [&](std::vector<Bundle> bundles, double more) {
    steps.push_back({ns(link.latency_ns + e + more), std::move(bundles)});
  };
  if (phase.how.algorithm == AstraAlgorithm::direct) {
    const double way = link.block == AstraBlock::ring && phase.digit >= 0
                           ? (static_cast<double>(phase.members / 2) - 1) * link.latency_ns  // to the farthest
                           : 0;
    for (std::int64_t i = 0; i < counts.rounds; ++i) {
      for (auto& bundles : writer.direct(counts.message)) add(std::move(bundles), way);
      if (i == 0 && counts.reductions > 0) steps.back().latency = steps.back().latency + ns(r);
    }
  } else {
    for (const auto& round : astra_rounds(phase)) {
      add({writer.round(round)}, round.reduces ? static_cast<double>(reduction_ns(round.bytes)) : 0);
    }
  }
  if (!steps.empty()) steps.back().latency = steps.back().latency + ns(e);
  return steps;
}

Plan AstraCollectives::plan(AstraCollective kind, std::int64_t bytes, const AstraMembers& members,
                            GroupId group) const {
  Plan plan;
  plan.protocol = "astra_sim";
  if (members.ranks.size() < 2 || bytes == 0) return plan;
  require_size(bytes, members);
  const std::int64_t chunks = std::min(system_.splits, bytes);
  const std::int64_t waves = (chunks + system_.active_chunks - 1) / system_.active_chunks;
  const std::int64_t wave_bytes = std::max<std::int64_t>(bytes / waves, 1);
  const auto cut = phases(kind, wave_bytes, members);
  for (const auto& phase : cut) plan.algorithm += (plan.algorithm.empty() ? "" : ", ") + astra_phase_name(phase);
  if (backend_ != AstraBackend::shared_links) {
    const std::int64_t time = nanoseconds(kind, bytes, members);
    plan.steps.push_back({Time::picoseconds(time * 1000), {}});
    return plan;
  }
  std::vector<std::vector<PlanStep>> steps;
  for (const auto& phase : cut) steps.push_back(phase_steps(phase, members, group));
  plan.steps = pipeline(steps, waves);
  return plan;
}

// To or from member 0: a chain that passes everything on, pieces following each other.
Plan AstraCollectives::rooted_plan(CollectiveKind kind, std::int64_t bytes, const AstraMembers& members,
                                   GroupId group) const {
  Plan plan;
  plan.protocol = "astra_sim";
  const auto n = static_cast<std::int64_t>(members.ranks.size());
  if (n < 2 || bytes == 0) return plan;
  require_size(bytes, members);
  const bool is_chain = kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce;
  const bool is_inward = kind == CollectiveKind::reduce || kind == CollectiveKind::gather;
  const AstraPhase phase{AstraCollective::all_reduce, {}, -1, n, bytes};
  const Link link = link_of(phase, members);
  plan.algorithm = is_chain ? "chain" : "direct";
  PlanStep step;
  const double rounds = is_chain ? static_cast<double>(n - 1) : 1;
  const auto e = static_cast<double>(system_.endpoint_delay_ns);
  const double reduced = kind == CollectiveKind::reduce ? static_cast<double>(reduction_ns(bytes)) : 0;
  step.latency = ns(rounds * link.latency_ns + (rounds + 1) * e + reduced);
  const std::int64_t each = is_chain ? bytes : bytes / n;
  if (backend_ == AstraBackend::shared_links) {
    step.bundles.push_back(AstraStepWriter(phase, members, group).rooted(is_chain, is_inward, each));
  } else {
    const double wire = static_cast<double>(each) / link.bytes_per_ns * (is_chain ? 1 : static_cast<double>(n - 1));
    step.latency = Time::picoseconds(floored(static_cast<double>(step.latency.ps()) / 1000 + wire) * 1000);
  }
  plan.steps.push_back(std::move(step));
  return plan;
}

Plan AstraCollectives::send_plan(std::int64_t bytes, Rank from, Rank to, GroupId group) const {
  Plan plan;
  plan.algorithm = "send";
  plan.protocol = "astra_sim";
  PlanStep step;
  if (backend_ != AstraBackend::shared_links) {
    step.latency = Time::picoseconds(send_nanoseconds(bytes, from, to) * 1000);
  } else {
    step.latency = topology_->latency(from, to);
    if (bytes > 0) step.bundles.push_back({Traffic{FlowPattern::pair, group}, true, Bytes(bytes)});
  }
  plan.steps.push_back(std::move(step));
  return plan;
}

}  // namespace warploom
