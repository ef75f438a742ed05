// SPDX-License-Identifier: Apache-2.0
// Kernels by ratios of predictions, collectives as calls.
#include "workloads/replay/retime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "hw_models/analytic_timer.hpp"
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

class KernelRetiming {
 public:
  KernelRetiming(const std::optional<DeviceSpec>& source, const ReplayTarget& target)
      : target_(target.device), ignores_shapes_(target.ignores_shapes) {
    if (source) source_.emplace(*source);
  }

  Answer of(const Capture& capture, std::uint32_t index, const DeviceOpDetail* detail) {
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
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      const Basis basis = plan(i);
      auto& sums = result_.classes[static_cast<std::size_t>(OpClass::communication)];
      ++sums.count[static_cast<std::size_t>(basis)];
      sums.measured[static_cast<std::size_t>(basis)] += collectives[i].transfer;
    }
    if (beyond_ > 0) {
      result_.notes.push_back(fmt::format("{} collectives have ranks beyond the {} that are played: kept as recorded",
                                          beyond_, target_.devices));
    }
    if (irregular_ > 0) {
      result_.notes.push_back(
          fmt::format("{} collectives are of ranks in no even distance: kept as recorded", irregular_));
    }
  }

 private:
  Basis plan(std::size_t index) {
    const auto& collective = run_.matching.collectives[index];
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
    result_.retiming.collectives[index] = PlannedCall{planned};
    return basis;
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
  std::int64_t beyond_ = 0;
  std::int64_t irregular_ = 0;
  std::map<std::tuple<CollectiveKind, std::int64_t, std::int64_t>, std::optional<Bytes>> bytes_;
};

}  // namespace

Retimed retime(const CapturedRun& run, const ReplaySource& source, const ReplayTarget& target) {
  Retimed result;
  KernelRetiming kernels(source.device, target);
  for (const auto& capture : run.captures) {
    std::vector<const DeviceOpDetail*> details(capture.device_ops.size(), nullptr);
    for (const auto& detail : capture.details) details[detail.op] = &detail;
    auto& durations = result.retiming.durations.emplace_back(capture.device_ops.size());
    for (std::uint32_t i = 0; i < capture.device_ops.size(); ++i) {
      const auto& op = capture.device_ops[i];
      durations[i] = op.duration;
      if (!is_work(op)) continue;
      if (op.op_class == OpClass::communication && op.kind == DeviceOpKind::kernel) {
        durations[i] = run.matching.collectives[run.matching.of_op[result.retiming.durations.size() - 1][i]].transfer;
        continue;
      }
      const Answer answer = kernels.of(capture, i, details[i]);
      if (answer.basis == Basis::modelled) {
        durations[i] = answer.time;
      } else {
        durations[i] = static_cast<Nanoseconds>(std::llround(static_cast<double>(op.duration) * answer.ratio));
      }
      auto& sums = result.classes[static_cast<std::size_t>(op.op_class)];
      ++sums.count[static_cast<std::size_t>(answer.basis)];
      sums.measured[static_cast<std::size_t>(answer.basis)] += op.duration;
      sums.predicted += durations[i];
    }
  }
  CollectiveRetiming(run, source, target, result).run();
  if (!source.device) {
    result.notes.emplace_back(
        "the capture's device is not described: kernels with shapes are predicted, the others are kept as recorded");
  }
  return result;
}

}  // namespace warploom
