// SPDX-License-Identifier: Apache-2.0
// What runs on the devices of every role right now, and how fast: kernels advance, are slowed by calls, and end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/engine.hpp"
#include "sim/play/ports.hpp"
#include "sim/play/sharing.hpp"
#include "sim/work/program.hpp"

namespace warploom {

// Hears what follows from sharing.
class SharingListener {
 public:
  virtual ~SharingListener() = default;
  virtual void on_kernel_done(RowId row) = 0;
  // Role `role` now lets the flows of call `call_run` go at most at `wire_rate` (0: as fast as they can).
  virtual void on_call_limit(std::uint32_t call_run, RoleId role, Bandwidth wire_rate) = 0;
};

class DeviceSharing final : public EventSink {
 public:
  DeviceSharing(Engine& engine, const Program& program, const Machine& machine, SharingListener& listener);

  // A kernel begins now; it would take `alone` without sharing.
  void start_kernel(RoleId role, RowId row, Time alone, const KernelCost& cost);
  // A call begins or ends to use the role's devices.
  void start_call(RoleId role, std::uint32_t call_run, const Plan& plan);
  void end_call(RoleId role, std::uint32_t call_run);

 private:
  struct ActiveKernel {
    RowId row = none;
    KernelDemand demand;
    double remaining_ps = 0;  // of its time alone
    Time updated = Time::zero();
    Engine::EventId end;
  };
  struct ActiveCall {
    std::uint32_t run = none;
    CallDemand demand;
    double hbm_bytes_per_wire_byte = 0;
    bool limited = false;
  };
  struct Device {
    std::vector<ActiveKernel> kernels;
    std::vector<ActiveCall> calls;
  };

  void on_event(std::uint64_t payload) override;
  void solve(RoleId role);
  const DeviceClass& device_class(RoleId role) const {
    return machine_.device_classes[program_.roles[role].device_class];
  }

  Engine& engine_;
  const Program& program_;
  const Machine& machine_;
  SharingListener& listener_;
  std::vector<Device> devices_;  // one a role
  std::vector<KernelDemand> kernel_demands_;
  std::vector<CallDemand> call_demands_;
};

}  // namespace warploom
