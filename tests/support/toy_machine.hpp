// SPDX-License-Identifier: Apache-2.0
// A machine for tests whose every time is written in the program: kernels last `size[0]` ps, calls last as said here.
#pragma once

#include <memory>
#include <utility>

#include "sim/play/ports.hpp"

namespace warploom::testing {

// Kernel family "fixed": size[0] = duration in ps, size[1] = HBM bytes; it wants every SM.
inline Kernel fixed_kernel(Time duration, Bytes hbm = Bytes{0}) {
  Kernel kernel;
  kernel.family = "fixed";
  kernel.size[0] = duration.ps();
  kernel.size[1] = hbm.count();
  return kernel;
}

class FixedTimer final : public KernelTimer {
 public:
  KernelCost cost(const Kernel& kernel) const override {
    KernelCost cost;
    cost.duration = Time::picoseconds(kernel.size[0]);
    cost.hbm_bytes = Bytes{kernel.size[1]};
    return cost;
  }
};

// A call of n bytes moves n bytes at `bandwidth` after `latency`, alone on its wire.
struct WireSpec {
  Time latency = Time::zero();
  Bandwidth bandwidth{1e12};
  int sms = 0;
  double hbm_bytes_per_wire_byte = 0;
};

class WirePlanner final : public CollectivePlanner {
 public:
  explicit WirePlanner(WireSpec spec) : spec_(spec) {}
  Plan plan(const Call& call, const Group&) const override {
    Plan plan;
    plan.algorithm = "wire";
    plan.protocol = "simple";
    plan.sms = spec_.sms;
    plan.hbm_bytes_per_wire_byte = spec_.hbm_bytes_per_wire_byte;
    PlanStep step;
    step.latency = spec_.latency;
    if (call.bytes > Bytes{0})
      step.bundles.push_back({{FlowPattern::ring, call.group}, true, call.bytes, spec_.bandwidth});
    plan.steps.push_back(std::move(step));
    return plan;
  }

 private:
  WireSpec spec_;
};

// Every bundle goes at its flow limit: no links, no sharing.
class WireFabric final : public Fabric, public EventSink {
 public:
  WireFabric(Engine& engine, BundleListener& listener) : engine_(engine), listener_(listener) {}
  void prepare(std::span<const Group>, std::span<const Traffic>) override {}
  BundleId start(const Bundle& bundle, std::uint64_t token) override {
    engine_.at(engine_.now() + bundle.bytes_per_flow / bundle.flow_limit, *this, token);
    return next_++;
  }
  void limit(BundleId, Bandwidth) override {}
  FabricCounters counters() const override { return {}; }

 private:
  void on_event(std::uint64_t token) override { listener_.on_bundle_done(token, true); }
  Engine& engine_;
  BundleListener& listener_;
  BundleId next_ = 0;
};

inline Machine toy_machine(WireSpec wire = {}, Bandwidth hbm = Bandwidth{1e12}, int sm_count = 100) {
  Machine machine;
  machine.name = "toy";
  DeviceClass device;
  device.name = "toy";
  device.timer = std::make_shared<FixedTimer>();
  device.sm_count = sm_count;
  device.hbm_bandwidth = hbm;
  device.memory_raw = Bytes{1'000'000};
  device.memory_usable = Bytes{900'000};
  device.peak = FlopRate{1e12};
  machine.device_classes.push_back(device);
  machine.planner = std::make_shared<WirePlanner>(wire);
  machine.fabric = [](Engine& engine, BundleListener& listener) {
    return std::make_unique<WireFabric>(engine, listener);
  };
  return machine;
}

// A program with `roles` roles of one device each, a compute and a communication stream each.
struct ToyProgram {
  explicit ToyProgram(std::uint32_t roles) {
    for (std::uint32_t i = 0; i < roles; ++i) {
      Role role;
      role.name = "role" + std::to_string(i);
      role.ranks = {RankBox{static_cast<Rank>(i), {}}};
      program.add_role(role);
      compute.push_back(program.add_stream({i, StreamKind::compute, "compute"}));
      communication.push_back(program.add_stream({i, StreamKind::communication, "communication"}));
    }
    group = program.add_group({RankBox{0, {{static_cast<std::int64_t>(roles), 1}}}, {RankBox{}}});
  }

  RowId kernel(RoleId role, Time duration, std::vector<RowId> after = {}, Cause cause = Cause::gemm) {
    Operation row;
    row.stream = compute[role];
    row.cause = cause;
    row.phase = Phase::forward;
    row.kernel = program.add_kernel(fixed_kernel(duration));
    return program.add(row, after);
  }
  RowId meet(RoleId role, MeetingId meeting, OperationKind kind, std::vector<RowId> after = {},
             Cause cause = Cause::exposed_other) {
    Operation row;
    row.kind = kind;
    row.stream = communication[role];
    row.cause = cause;
    row.meeting = meeting;
    return program.add(row, after);
  }
  MeetingId meeting(Bytes bytes, std::uint32_t parties, CollectiveKind kind = CollectiveKind::all_reduce) {
    return program.add_meeting(program.add_call({kind, bytes, DataType::bf16, group}), parties);
  }

  Program program;
  std::vector<StreamId> compute;
  std::vector<StreamId> communication;
  GroupId group = 0;
};

}  // namespace warploom::testing
