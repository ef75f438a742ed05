// SPDX-License-Identifier: Apache-2.0
// Keeps every role's running kernels and calls, and moves the kernels' ends when their speed changes.
#include "sim/play/device_sharing.hpp"

#include <algorithm>
#include <cmath>

namespace warploom {

namespace {

// HBM traffic of a device per second while the plan's fastest bundle goes as fast as its flows can.
double hbm_demand(const Plan& plan) {
  double fastest = 0;
  for (const auto& step : plan.steps) {
    for (const auto& bundle : step.bundles) fastest = std::max(fastest, bundle.flow_limit.value());
  }
  return fastest * plan.hbm_bytes_per_wire_byte;
}

}  // namespace

DeviceSharing::DeviceSharing(Engine& engine, const Program& program, const Machine& machine, SharingListener& listener)
    : engine_(engine), program_(program), machine_(machine), listener_(listener), devices_(program.roles.size()) {}

void DeviceSharing::start_kernel(RoleId role, RowId row, Time alone, const KernelCost& cost) {
  ActiveKernel kernel;
  kernel.row = row;
  kernel.remaining_ps = static_cast<double>(alone.ps());
  kernel.updated = engine_.now();
  const double seconds = alone.seconds();
  const double bandwidth = device_class(role).hbm_bandwidth.value();
  kernel.demand.sm_share = program_.kind[row] == OperationKind::copy ? 0 : cost.sm_share;
  if (seconds > 0 && bandwidth > 0) {
    kernel.demand.hbm_share = std::min(static_cast<double>(cost.hbm_bytes.count()) / seconds / bandwidth, 1.0);
  }
  kernel.end = engine_.at(engine_.now() + alone, *this, row);
  auto& device = devices_[role];
  device.kernels.push_back(kernel);
  if (device.kernels.size() + device.calls.size() > 1) solve(role);
}

void DeviceSharing::start_call(RoleId role, std::uint32_t call_run, const Plan& plan) {
  const auto& device_class_of_role = device_class(role);
  ActiveCall call;
  call.run = call_run;
  call.hbm_bytes_per_wire_byte = plan.hbm_bytes_per_wire_byte;
  call.demand.sm_share = static_cast<double>(plan.sms) / std::max(device_class_of_role.sm_count, 1);
  const double bandwidth = device_class_of_role.hbm_bandwidth.value();
  if (bandwidth > 0) call.demand.hbm_share = hbm_demand(plan) / bandwidth;
  devices_[role].calls.push_back(call);
  solve(role);
}

void DeviceSharing::end_call(RoleId role, std::uint32_t call_run) {
  std::erase_if(devices_[role].calls, [&](const ActiveCall& call) { return call.run == call_run; });
  solve(role);
}

void DeviceSharing::on_event(std::uint64_t payload) {
  const auto row = static_cast<RowId>(payload);
  const RoleId role = program_.role_of(row);
  auto& device = devices_[role];
  std::erase_if(device.kernels, [&](const ActiveKernel& kernel) { return kernel.row == row; });
  if (!device.kernels.empty() || !device.calls.empty()) solve(role);
  listener_.on_kernel_done(row);
}

void DeviceSharing::solve(RoleId role) {
  auto& device = devices_[role];
  kernel_demands_.clear();
  call_demands_.clear();
  for (const auto& kernel : device.kernels) kernel_demands_.push_back(kernel.demand);
  for (const auto& call : device.calls) call_demands_.push_back(call.demand);
  share_device(kernel_demands_, call_demands_);

  for (std::size_t i = 0; i < device.kernels.size(); ++i) {
    auto& kernel = device.kernels[i];
    const double speed = kernel_demands_[i].speed;
    if (speed == kernel.demand.speed) continue;
    const auto passed = static_cast<double>((engine_.now() - kernel.updated).ps());
    kernel.remaining_ps = std::max(kernel.remaining_ps - passed * kernel.demand.speed, 0.0);
    kernel.updated = engine_.now();
    kernel.demand.speed = speed;
    engine_.cancel(kernel.end);
    kernel.end =
        engine_.at(engine_.now() + Time::picoseconds(std::llround(kernel.remaining_ps / speed)), *this, kernel.row);
  }
  for (std::size_t i = 0; i < device.calls.size(); ++i) {
    auto& call = device.calls[i];
    const bool limited = call_demands_[i].granted < call.demand.hbm_share;
    if (!limited && !call.limited) continue;
    call.limited = limited;
    const double share = limited ? call_demands_[i].granted : 0;
    const double rate = share * device_class(role).hbm_bandwidth.value() / std::max(call.hbm_bytes_per_wire_byte, 1e-9);
    listener_.on_call_limit(call.run, role, Bandwidth{rate});
  }
}

}  // namespace warploom
