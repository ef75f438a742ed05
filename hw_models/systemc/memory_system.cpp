// SPDX-License-Identifier: Apache-2.0
// Rates and latencies of the memories, in cycles of the SMs' clock.
#include "hw_models/systemc/memory_system.hpp"

#include <algorithm>

namespace warploom::detailed {

namespace {

double far_share(const DeviceSpec& device, Bytes footprint) {
  const double near = static_cast<double>(device.l2.capacity.count()) / 2;
  const double bytes = static_cast<double>(footprint.count());
  return bytes > near ? 1 - near / bytes : 0;
}

}  // namespace

MemorySystem::MemorySystem(const DeviceSpec& device, Frequency clock, const KernelProgram& program, bool is_of_all)
    : is_of_all_(is_of_all) {
  const double sharers = is_of_all ? 1 : device.sm.count;
  l2_bytes_ = device.l2.bytes_per_cycle_per_sm * device.sm.count / sharers;
  memory_bytes_ = device.reached_bandwidth().value() / clock.value() / sharers;
  const auto& pipeline = device.architecture.pipeline;
  write_buffer_ = pipeline.write_buffer * static_cast<double>(device.l2.capacity.count()) / sharers;
  short_rows_ = pipeline.short_rows;
  short_row_writes_ = pipeline.short_row_writes;
  l2_latency_ = device.l2.latency.value() + far_share(device, program.footprint) * pipeline.far_latency.value();
  // The memory's own clock does not follow that of the SMs.
  beyond_latency_ = std::max(0.0, device.memory.latency.value() - device.l2.latency.value()) *
                    (clock.value() / device.clock.max.value());
}

double MemorySystem::read(const TileStream& stream, double bytes, double now, SmCounts& counts) {
  const double read = bytes / stream.cluster;
  const double missed = read * stream.from_memory;
  counts.from_l2 += read;
  counts.from_memory += missed;
  double end = l2_.serve(now, read * load_ / l2_bytes_) + l2_latency_;
  if (missed > 0) {
    const double rate = memory_bytes_ * (stream.has_short_rows ? short_rows_ : 1);
    end = std::max(end, memory_.serve(now, missed * load_ / rate) + l2_latency_ + beyond_latency_);
  }
  return end;
}

double MemorySystem::write(const TileStream& stream, double bytes, double now, SmCounts& counts) {
  counts.written += bytes;
  counts.to_memory += bytes * stream.from_memory;
  double end = l2_.serve(now, bytes * load_ / l2_bytes_);
  // Lines that are written push older ones out.
  if (stream.from_memory > 0) {
    const double rate = memory_bytes_ * (stream.has_short_rows ? short_row_writes_ : 1);
    const double back = memory_.serve(now, bytes * stream.from_memory * load_ / rate);
    end = std::max(end, back - write_buffer_ * load_ / rate);
  }
  return end + l2_latency_;
}

}  // namespace warploom::detailed
