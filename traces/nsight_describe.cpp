// SPDX-License-Identifier: Apache-2.0
// What the report says of itself: versions, processes, threads, GPUs, and from them the ranks.
#include "traces/nsight_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/core/errors.hpp"

namespace warploom::nsight {

void Report::name_threads() {
  auto rows = database_.rows("ThreadNames", {"globalTid", "nameId"});
  while (rows.next()) {
    const std::int64_t global_thread = rows.integer_or(0, 0);
    Process* owner = known_process(process_of(global_thread));
    if (owner == nullptr) continue;
    const auto thread = owner->threads().find(global_thread);
    const auto name = strings_.find(rows.integer_or(1, -1));
    if (thread == owner->threads().end() || name == strings_.end()) continue;
    owner->capture().threads[thread->second].name = name->second;
  }
}

void Report::describe() {
  std::map<std::string, std::string> facts;
  for (const std::string_view table : {"EXPORT_META_DATA", "META_DATA_EXPORT"}) {
    auto rows = database_.rows(table, {"name", "value"});
    while (rows.next()) {
      if (rows.text(0) == "EXPORT_PRODUCT_VERSION") facts["product_version"] = rows.text(1);
      if (rows.text(0) == "EXPORT_SCHEMA_VERSION") facts["schema"] = rows.text(1);
    }
  }
  std::optional<Nanoseconds> epoch;
  auto start = database_.rows("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"});
  if (start.next()) epoch = start.integer(0);
  auto names = database_.rows("PROCESSES", {"globalPid", "name"});
  while (names.next()) {
    if (Process* owner = known_process(names.integer_or(0, 0))) {
      if (!names.text(1).empty()) owner->capture().facts["process_name"] = names.text(1);
    }
  }
  for (auto& [key, owner] : processes_) {
    owner.capture().base_time = epoch;
    owner.capture().facts.insert(facts.begin(), facts.end());
  }
  describe_devices();
  tell_ranks();
}

// deviceId of the work is CUDA's number within the process; TARGET_INFO_CUDA_DEVICE leads to the GPU.
void Report::describe_devices() {
  std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> numbers;  // by process id: GPU -> CUDA's number
  auto mapped = database_.rows("TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid"});
  while (mapped.next()) numbers[mapped.integer_or(2, 0)][mapped.integer_or(0, 0)] = mapped.integer_or(1, 0);
  auto rows = database_.rows("TARGET_INFO_GPU", {"id", "name", "totalMemory", "smCount", "cuDevice"});
  while (rows.next()) {
    const std::int64_t gpu = rows.integer_or(0, 0);
    for (auto& [key, owner] : processes_) {
      CapturedDevice device;
      device.id = rows.integer_or(4, gpu);
      if (const auto own = numbers.find(owner.id()); own != numbers.end()) {
        const auto number = own->second.find(gpu);
        if (number == own->second.end()) continue;
        device.id = number->second;
      }
      device.name = rows.text(1);
      device.memory_bytes = std::max<std::int64_t>(0, rows.integer_or(2, 0));
      device.sm_count = std::max<std::int64_t>(0, rows.integer_or(3, 0));
      owner.capture().devices.push_back(std::move(device));
    }
  }
}

// A report says nothing of ranks (unless MPI named its threads). Several processes with one device each, all
// different, are the ranks of one host, in the order of their devices; it is said where that came from.
void Report::tell_ranks() {
  if (processes_.size() < 2) return;
  std::map<std::int64_t, Process*> by_device;
  for (auto& [key, owner] : processes_) {
    const Capture& capture = owner.capture();
    if (capture.rank || capture.device_ops.empty()) return;
    const std::int64_t device = capture.streams[capture.device_ops.front().stream].device;
    const bool is_alone = std::all_of(capture.device_ops.begin(), capture.device_ops.end(),
                                      [&](const DeviceOp& op) { return capture.streams[op.stream].device == device; });
    if (!is_alone || !by_device.emplace(device, &owner).second) return;
  }
  std::int64_t rank = 0;
  for (auto& [device, owner] : by_device) {
    owner->capture().rank = rank++;
    owner->capture().facts["rank_from"] = "the order of the devices";
  }
}

}  // namespace warploom::nsight
