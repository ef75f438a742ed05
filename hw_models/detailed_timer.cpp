// SPDX-License-Identifier: Apache-2.0
// Plays a kernel at the clock that its own power allows.
#include "hw_models/detailed_timer.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "hw_models/detailed_cache.hpp"
#include "hw_models/operating_point.hpp"
#include "hw_models/programs/kernel_programs.hpp"

namespace warploom {

namespace {

using Results = std::vector<DetailedResult>;

class PlayedKernel {
 public:
  PlayedKernel(const KernelPlan& plan, const DeviceSpec& device, Time gap, const DetailedOptions& options)
      : plan_(plan), device_(device), gap_(gap), options_(options) {}

  const Results& at(Frequency clock) {
    const auto known = played_.find(clock.value());
    if (known != played_.end()) return known->second;
    Results results;
    for (const KernelProgram& program : plan_.programs) {
      results.push_back(simulate_detailed(program, device_, clock, options_));
    }
    return played_.emplace(clock.value(), std::move(results)).first->second;
  }

  // Where it was not played at the clock: cycles of the nearest clocks, in proportion.
  double seconds_at(Frequency clock) const {
    const auto above = played_.lower_bound(clock.value());
    if (above == played_.begin()) return cycles(above->second, clock) / clock.value() + gaps();
    const auto below = std::prev(above);
    if (above == played_.end()) return cycles(below->second, clock) / clock.value() + gaps();
    const double share = (clock.value() - below->first) / (above->first - below->first);
    const double between = cycles(below->second, clock) * (1 - share) + cycles(above->second, clock) * share;
    return between / clock.value() + gaps();
  }

  double nearest(Frequency clock) const {
    double nearest = 0;
    for (const auto& [hertz, results] : played_) {
      if (std::abs(hertz - clock.value()) < std::abs(nearest - clock.value())) nearest = hertz;
    }
    return nearest;
  }

  Activity activity(const Results& results) const {
    const EnergyConstants& energy = device_.architecture.energy;
    Activity activity{};
    for (std::size_t i = 0; i < results.size(); ++i) {
      const DetailedResult& result = results[i];
      const KernelProgram& program = plan_.programs[i];
      activity.core += tensor_flop_energy(device_, program.type) * (program.flops.value() * program.flop_energy) +
                       energy.vector_flop * (result.scale * result.sm.vector_flops) +
                       energy.l2_byte * (result.from_l2() + result.written());
      activity.memory += energy.memory_byte * (result.from_memory() + result.to_memory());
    }
    return activity;
  }

  // The gap before the first is the caller's, as in every cost of a kernel.
  double gaps() const {
    const auto launches = std::ranges::count(plan_.programs, false, &KernelProgram::joins_before);
    return gap_.seconds() * static_cast<double>(launches - 1);
  }

 private:
  // A prologue that may run under the kernel before is hidden as far as the gap before it lasts, where the blocks of
  // both find places.
  double cycles(const Results& results, Frequency clock) const {
    double cycles = 0;
    for (const DetailedResult& result : results) {
      const bool has_room = result.waves <= 0.5;
      cycles += result.cycles - (has_room ? std::min(result.prologue, gap_.seconds() * clock.value()) : 0);
    }
    return cycles;
  }

  const KernelPlan& plan_;
  const DeviceSpec& device_;
  Time gap_;
  DetailedOptions options_;
  std::map<double, Results> played_;
};

// The unit of the longest program that is busiest; where none is busy for long, a latency.
Bytes whole_bytes(double bytes) {
  constexpr double most = 9e18;
  if (bytes > most) throw UserError(fmt::format("a kernel that moves {} bytes is out of range", bytes));
  return Bytes(std::llround(bytes));
}

Bound bound_of(const DetailedKernel& played, const DeviceSpec& device) {
  const DetailedResult& longest = *std::ranges::max_element(played.programs, {}, &DetailedResult::cycles);
  const double seconds = longest.cycles / played.clock.value();
  if (played.gap.seconds() > seconds) return Bound::launch;
  const SmCounts& sm = longest.sm;
  const double hbm = (longest.from_memory() + longest.to_memory()) / seconds / device.reached_bandwidth().value();
  const double l2 = longest.share((sm.from_l2 + sm.written) / device.l2.bytes_per_cycle_per_sm);
  constexpr double is_full = 0.9;
  if (played.is_power_limited && hbm < is_full) return Bound::power;  // at a higher clock it would be faster
  const std::pair<double, Bound> units[] = {
      {longest.share(sm.tensor), Bound::tensor},
      {hbm, Bound::hbm},
      {std::max(l2, longest.share(sm.shared)), Bound::operand_bandwidth},
      {longest.share(std::max({sm.fma, sm.alu, sm.sfu, sm.issued / 4})), Bound::vector}};
  const auto& [busy, bound] = *std::ranges::max_element(units, {}, &std::pair<double, Bound>::first);
  constexpr double is_busy = 0.6;
  return busy > is_busy ? bound : Bound::latency;
}

}  // namespace

DetailedKernel play_kernel(const Kernel& kernel, const DeviceSpec& device, LaunchMode launch,
                           const DetailedOptions& options) {
  return play_plan(kernel_plan(kernel, device), device, launch, options);
}

DetailedKernel play_plan(const KernelPlan& plan, const DeviceSpec& device, LaunchMode launch,
                         const DetailedOptions& options) {
  DetailedKernel result;
  result.gap = launch_gap(device, launch);
  PlayedKernel played(plan, device, result.gap, options);
  constexpr int most_rounds = 5;
  constexpr double close = 0.004;  // of the clock
  Frequency clock = device.clock.highest();
  OperatingPoint point;
  for (int round = 0; round < most_rounds; ++round) {
    const Activity activity = played.activity(played.at(clock));
    point = operating_point_of(device, plan.is_warm, activity, [&](Frequency at) { return played.seconds_at(at); });
    const double nearest = played.nearest(point.clock);
    clock = std::abs(nearest / point.clock.value() - 1) <= close ? Frequency(nearest) : point.clock;
    if (clock.value() == nearest) break;
  }
  result.programs = played.at(clock);
  result.clock = clock;
  result.is_power_limited = point.is_power_limited;
  double from_memory = 0;
  double from_l2 = 0;
  double flops = 0;
  for (std::size_t i = 0; i < result.programs.size(); ++i) {
    from_memory += result.programs[i].from_memory() + result.programs[i].to_memory();
    from_l2 += result.programs[i].from_l2();
    flops += plan.programs[i].flops.value();
  }
  result.cost = cost_at(point, Flops(flops), whole_bytes(from_memory), whole_bytes(from_l2));
  result.energy = Energy(point.power.value() * point.seconds);
  result.cost.duration += result.gap;
  result.cost.sm_share = std::min(1.0, static_cast<double>(result.programs.front().blocks) / device.sm.count);
  result.cost.bound_by = bound_of(result, device);
  return result;
}

DetailedTimer::DetailedTimer(DeviceSpec device, LaunchMode launch, std::shared_ptr<DetailedCache> cache)
    : device_(std::move(device)), launch_(launch), cache_(std::move(cache)) {
  if (cache_) device_key_ = device_key(device_);
}

DetailedTimer::~DetailedTimer() = default;

KernelCost DetailedTimer::cost(const Kernel& kernel) const {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(kernel);
  if (known != known_.end()) return known->second;
  KernelCost cost;
  if (has_programs(kernel.family)) {
    cost = play_cached(kernel, device_, launch_, {}, cache_.get(), device_key_).cost;
  } else {
    cost = AnalyticTimer(device_, launch_).cost(kernel);
    cost.is_fallback = true;
  }
  known_.emplace(kernel, cost);
  return cost;
}

}  // namespace warploom
