// SPDX-License-Identifier: Apache-2.0
// Kernels by ratios of predictions, collectives as calls.
#include "workloads/replay/retime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/detailed_cache.hpp"
#include "network/collective_estimate.hpp"
#include "sim/core/errors.hpp"
#include "traces/metrics.hpp"
#include "traces/recorded_time.hpp"
#include "workloads/replay/collective_call.hpp"
#include "workloads/replay/op_kernel.hpp"

namespace warploom {

namespace {

// A kernel's own time: traces do not count the gap before it.
class OwnTime {
 public:
  explicit OwnTime(const DeviceSpec& device)
      : timer_(device, LaunchMode::stream), gap_(launch_gap(device, LaunchMode::stream)) {}
  // Nothing for what the device cannot run.
  std::optional<Time> operator()(const Kernel& kernel) const {
    try {
      return std::max(timer_.cost(kernel).duration - gap_, Time::picoseconds(1));
    } catch (const UserError&) {
      return std::nullopt;
    }
  }
  const DeviceSpec& device() const { return timer_.device(); }

 private:
  AnalyticTimer timer_;
  Time gap_;
};

struct Answer {
  Basis basis = Basis::kept;
  double ratio = 1;      // of anchored and scaled
  Nanoseconds time = 0;  // of modelled
};

// From one device to another.
class KernelRetiming {
 public:
  KernelRetiming(const DeviceSpec* source, const ReplayTarget& target)
      : target_(target.device), ignores_shapes_(target.ignores_shapes) {
    if (source == nullptr) return;
    source_.emplace(*source);
    is_same_ = device_numbers(*source) == device_numbers(target.device);
  }

  Answer of(const Capture& capture, std::uint32_t index, const DeviceOpDetail* detail) {
    if (is_same_) return {};
    const auto& op = capture.device_ops[index];
    if (op.kind == DeviceOpKind::copy || op.kind == DeviceOpKind::fill) return of_memory(capture, op);
    if (const auto kernel = ignores_shapes_ ? std::nullopt : kernel_of(capture, op, detail)) {
      if (const auto answer = of_shapes(*kernel)) return *answer;
    }
    return of_class(capture, op);
  }

 private:
  // Copies within the device move bytes through its memory; others cross to the host.
  Answer of_memory(const Capture& capture, const DeviceOp& op) const {
    const std::string_view name = capture.texts[op.name];
    const bool within = op.kind == DeviceOpKind::fill || name.find("DtoD") != std::string_view::npos ||
                        name.find("Device -> Device") != std::string_view::npos;
    if (!within || !source_) return {};
    return {Basis::scaled,
            source_->device().reached_bandwidth().value() / target_.device().reached_bandwidth().value()};
  }

  std::optional<Kernel> kernel_of(const Capture& capture, const DeviceOp& op, const DeviceOpDetail* detail) {
    OperatorTexts texts;
    std::tuple<const Capture*, TextId, TextId, TextId, TextId, OpClass> key;
    if (detail != nullptr && detail->shapes != nothing) {
      texts = {capture.texts[detail->type], capture.texts[detail->shapes], capture.texts[detail->types], {}};
      key = {&capture, detail->type, detail->shapes, detail->types, nothing, op.op_class};
    } else if (op.host_op != nothing) {
      const auto& host = capture.host_ops[op.host_op];
      if (host.shapes == nothing) return std::nullopt;
      texts = {capture.texts[host.name], capture.texts[host.shapes], capture.texts[host.types],
               capture.texts[host.values]};
      key = {&capture, host.name, host.shapes, host.types, host.values, op.op_class};
    } else {
      return std::nullopt;
    }
    const auto [place, is_new] = kernels_.try_emplace(key);
    if (is_new) place->second = kernel_of_operator(texts, op.op_class);
    return place->second;
  }

  std::optional<Answer> of_shapes(const Kernel& kernel) {
    const auto there = target_(kernel);
    if (!there) return std::nullopt;
    if (!source_) return Answer{Basis::modelled, 1, nanoseconds(*there)};
    const auto here = (*source_)(kernel);
    if (!here) return std::nullopt;
    return Answer{Basis::anchored, *there / *here};
  }

  Answer of_class(const Capture& capture, const DeviceOp& op) {
    if (!source_ || op.duration <= 0) return {};
    const DataType fallback = source_->device().has(DataType::bf16) ? DataType::bf16 : DataType::fp16;
    const DataType type = op.op_class == OpClass::gemm || op.op_class == OpClass::attention
                              ? type_in_name(capture.texts[op.name], fallback)
                              : DataType::bf16;
    // Three digits of the duration are enough for a ratio.
    const auto digits = static_cast<std::int64_t>(std::llround(std::log10(static_cast<double>(op.duration)) * 200));
    const auto [place, is_new] = ratios_.try_emplace(std::tuple(op.op_class, type, digits));
    if (is_new) place->second = ratio_of_class(op.op_class, type, recorded_time(op.duration));
    if (!place->second) return {};
    return {Basis::scaled, *place->second};
  }

  std::optional<double> ratio_of_class(OpClass op_class, DataType type, Time duration) const {
    // Types that one of the devices lacks: the next that both have.
    for (const DataType candidate : {type, DataType::fp16, DataType::fp32}) {
      bool runs = true;
      const auto here = [&](const Kernel& kernel) {
        const auto time = (*source_)(kernel);
        runs = runs && time.has_value();
        return time.value_or(Time::max());
      };
      const auto kernel = kernel_of_duration(op_class, candidate, duration, here);
      if (!runs) continue;
      // Shorter than any such kernel: it is latency, which devices share.
      if (!kernel) return 1.0;
      if (const auto there = target_(*kernel)) return *there / here(*kernel);
    }
    return std::nullopt;
  }

  std::optional<OwnTime> source_;
  OwnTime target_;
  bool is_same_ = false;  // all is as it was measured
  bool ignores_shapes_ = false;
  std::map<std::tuple<const Capture*, TextId, TextId, TextId, TextId, OpClass>, std::optional<Kernel>> kernels_;
  std::map<std::tuple<OpClass, DataType, std::int64_t>, std::optional<double>> ratios_;
};

class CollectiveRetiming {
 public:
  CollectiveRetiming(const CapturedRun& run, const ReplaySource& source, const ReplayTarget& target, Retimed& result)
      : run_(run), source_(source), target_(target), result_(result) {}

  void run() {
    const auto& collectives = run_.matching.collectives;
    result_.retiming.collectives.resize(collectives.size());
    for (std::size_t i = 0; i < collectives.size(); ++i) result_.collectives.push_back(plan(i));
    if (beyond_ > 0) {
      result_.notes.push_back(fmt::format("{} collectives have ranks beyond the {} that are played: kept as recorded",
                                          beyond_, target_.devices));
    }
    if (irregular_ > 0) {
      result_.notes.push_back(
          fmt::format("{} collectives are of ranks in no even distance: kept as recorded", irregular_));
    }
    if (doubtful_ > 0) {
      result_.notes.push_back(
          fmt::format("{} collectives contradict themselves (see the repairs): kept as recorded", doubtful_));
    }
    if (far_ > 0) {
      result_.notes.push_back(fmt::format(
          "{} collectives took less than 1/{} or more than {} times what is planned on the source: anchored "
          "by that much at most",
          far_, most_stretch, most_stretch));
    }
  }

 private:
  Basis plan(std::size_t index) {
    const auto& collective = run_.matching.collectives[index];
    if (collective.is_doubtful) {
      ++doubtful_;
      return Basis::kept;
    }
    const auto& first = collective.members.front();
    const auto& capture = run_.captures[first.capture];
    auto call = captured_call(capture, capture.device_ops[first.op]);
    if (!call) return Basis::kept;
    if (call->ranks.empty()) call->ranks = ranks_of(collective, call->size);
    if (call->ranks.size() < 2) return Basis::kept;
    if (*std::max_element(call->ranks.begin(), call->ranks.end()) >= target_.devices) {
      ++beyond_;
      return Basis::kept;
    }
    const auto group = group_of_ranks(call->ranks, target_.devices, target_.fills);
    if (!group) {
      ++irregular_;
      return Basis::kept;
    }
    Basis basis = Basis::modelled;
    if (!call->bytes) {
      call->bytes = bytes_by_duration(*call, collective.transfer);
      if (!call->bytes) return Basis::kept;
      basis = Basis::scaled;
    }
    if (call->bytes->count() < 1) return Basis::kept;
    Call planned;
    planned.kind = call->kind;
    planned.bytes = *call->bytes;
    planned.type = call->type;
    planned.group = group_id(*group);
    PlannedCall one{planned};
    // The least duration of all members is a transfer where all end together, and all were captured.
    const bool is_measured = collective.is_complete && collective.synchronises;
    if (is_measured || basis == Basis::scaled) {
      const auto ratio = measured_over_planned(planned, *group, collective.transfer);
      if (ratio) {
        // On its own network it takes what it took, whatever the plan leaves out.
        one.stretch = source_.is_target ? *ratio : std::clamp(*ratio, 1 / most_stretch, most_stretch);
        if (one.stretch != *ratio) ++far_;
        if (basis == Basis::modelled) basis = Basis::anchored;
      }
    }
    result_.retiming.collectives[index] = one;
    return basis;
  }

  // How many times as long it took as is planned on the source's idle network; nothing where that is not known.
  std::optional<double> measured_over_planned(const Call& call, const Group& group, Nanoseconds transfer) {
    if (source_.network == nullptr) return std::nullopt;
    const auto [place, is_new] = planned_.try_emplace(std::tuple(call.kind, call.bytes, call.type, call.group));
    if (is_new) {
      try {
        place->second = estimate_chosen(*source_.network, call, group).duration;
      } catch (const UserError&) {
        place->second = Time::zero();  // the source's network does not have these ranks, or no way to do it
      }
    }
    if (place->second == Time::zero()) return std::nullopt;
    return recorded_time(transfer) / place->second;
  }

  std::vector<std::int64_t> ranks_of(const MatchedCollective& collective, std::int64_t size) const {
    std::vector<std::int64_t> ranks;
    if (collective.members.size() > 1) {
      for (const auto& member : collective.members) {
        ranks.push_back(known_rank(run_.captures[member.capture]).value_or(member.capture));
      }
      return ranks;
    }
    // Of a single member: all, where its group is the world (or nobody says what it is).
    const auto& capture = run_.captures[collective.members.front().capture];
    if (size != 0 && size != capture.world_size.value_or(target_.devices)) return {};
    for (std::int64_t rank = 0; rank < target_.devices; ++rank) ranks.push_back(rank);
    return ranks;
  }

  GroupId group_id(const Group& group) {
    auto& groups = result_.retiming.groups;
    const auto place = std::find(groups.begin(), groups.end(), group);
    if (place != groups.end()) return static_cast<GroupId>(place - groups.begin());
    groups.push_back(group);
    return static_cast<GroupId>(groups.size() - 1);
  }

  // The size at which the source's network needs as long; times rise with sizes.
  std::optional<Bytes> bytes_by_duration(const CapturedCall& captured, Nanoseconds transfer) {
    if (source_.network == nullptr) return std::nullopt;
    const auto size = static_cast<std::int64_t>(captured.ranks.size());
    const auto digits = static_cast<std::int64_t>(std::llround(std::log10(static_cast<double>(transfer) + 1) * 100));
    const auto [place, is_new] = bytes_.try_emplace(std::tuple(captured.kind, size, digits));
    if (!is_new) return place->second;
    const auto group = group_of_ranks(captured.ranks, target_.devices, false);
    if (!group) return std::nullopt;
    const auto takes = [&](int exponent) {
      Call call;
      call.kind = captured.kind;
      call.bytes = Bytes(static_cast<std::int64_t>(std::llround(1024 * std::exp2(exponent / 4.0))));
      return std::pair(call.bytes, estimate_chosen(*source_.network, call, *group).duration);
    };
    try {
      int low = 0;
      int high = 4 * 24;  // 16 GiB
      while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (takes(middle).second <= recorded_time(transfer)) {
          low = middle;
        } else {
          high = middle - 1;
        }
      }
      place->second = takes(low).first;
    } catch (const UserError&) {
      return std::nullopt;  // ranks that the source's network does not have
    }
    return place->second;
  }

  const CapturedRun& run_;
  const ReplaySource& source_;
  const ReplayTarget& target_;
  Retimed& result_;
  // So far apart, the plan and the measurement are not of one thing.
  static constexpr double most_stretch = 4;
  std::int64_t beyond_ = 0;
  std::int64_t irregular_ = 0;
  std::int64_t doubtful_ = 0;
  std::int64_t far_ = 0;
  std::map<std::tuple<CollectiveKind, Bytes, DataType, GroupId>, Time> planned_;  // on the source
  std::map<std::tuple<CollectiveKind, std::int64_t, std::int64_t>, std::optional<Bytes>> bytes_;
};

}  // namespace

Retimed retime(const CapturedRun& run, const ReplaySource& source, const ReplayTarget& target) {
  Retimed result;
  std::map<const DeviceSpec*, KernelRetiming> kernels;  // by source
  bool all_described = true;
  for (std::size_t i = 0; i < run.captures.size(); ++i) {
    const auto& capture = run.captures[i];
    all_described = all_described && source.devices[i] != nullptr;
    auto& from_source = kernels.try_emplace(source.devices[i], source.devices[i], target).first->second;
    std::vector<const DeviceOpDetail*> details(capture.device_ops.size(), nullptr);
    for (const auto& detail : capture.details) details[detail.op] = &detail;
    auto& durations = result.retiming.durations.emplace_back(capture.device_ops.size());
    auto& bases = result.bases.emplace_back(capture.device_ops.size(), Basis::kept);
    for (std::uint32_t k = 0; k < capture.device_ops.size(); ++k) {
      const auto& op = capture.device_ops[k];
      durations[k] = op.duration;
      if (!is_work(op)) continue;
      if (op.op_class == OpClass::communication && op.kind == DeviceOpKind::kernel) {
        durations[k] = run.matching.collectives[run.matching.of_op[i][k]].transfer;
        continue;
      }
      const Answer answer = from_source.of(capture, k, details[k]);
      bases[k] = answer.basis;
      if (answer.basis == Basis::modelled) {
        durations[k] = answer.time;
      } else {
        durations[k] = static_cast<Nanoseconds>(std::llround(static_cast<double>(op.duration) * answer.ratio));
      }
    }
  }
  CollectiveRetiming(run, source, target, result).run();
  if (!all_described) {
    result.notes.emplace_back(
        "the capture's device is not described: kernels with shapes are predicted, the others are kept as recorded");
  }
  return result;
}

void sum_classes(const CapturedRun& run, Retimed& retimed) {
  const auto& retiming = retimed.retiming;
  retimed.classes = {};
  for (std::size_t i = 0; i < run.captures.size(); ++i) {
    for (std::size_t k = 0; k < run.captures[i].device_ops.size(); ++k) {
      const auto& op = run.captures[i].device_ops[k];
      if (!is_work(op) || (!retiming.removed.empty() && retiming.removed[i][k])) continue;
      const std::uint32_t matched = run.matching.of_op[i][k];
      Basis basis = Basis::kept;
      if (matched != nothing && !retimed.collectives.empty()) {
        basis = retimed.collectives[matched];
      } else if (matched == nothing && !retimed.bases.empty()) {
        basis = retimed.bases[i][k];
      }
      auto& sums = retimed.classes[static_cast<std::size_t>(op.op_class)];
      ++sums.count[static_cast<std::size_t>(basis)];
      sums.measured[static_cast<std::size_t>(basis)] +=
          matched == nothing ? op.duration : run.matching.collectives[matched].transfer;
    }
  }
}

}  // namespace warploom
