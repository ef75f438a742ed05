// SPDX-License-Identifier: Apache-2.0
// What one SM of a device does in a cycle and how long it waits: all that the model of an SM knows of a device.
#pragma once

#include <array>

#include "hw_models/device.hpp"
#include "hw_models/programs/instruction.hpp"
#include "sim/work/data_type.hpp"

namespace warploom::detailed {

inline constexpr int sub_partitions = 4;

struct SmRates {
  double fma_interval;  // cycles between warp instructions of one sub-partition
  double alu_interval;
  double sfu_interval;
  double shared_bytes;  // a cycle, of the SM
  double tensor_memory_bytes;
  double port_bytes;  // a cycle, from the L2 to this SM
  double shared_latency;
  double copy_latency;
  double math_latency;
  double sfu_latency;
  double tensor_latency;
  double barrier_latency;
  double fetch_latency;  // of instructions, from the L2
  double block_start;
  double warp_start;      // between warps of new blocks
  double block_interval;  // between blocks, where all SMs take one in turn
  double part_of_sector;  // bytes of the port
  double warp_products;   // share of the tensor rate that products of single warps reach
  const DeviceSpec* device;
  double tensor_flops(const Instruction& what) const {
    return what.is_sparse ? device->sparse_flops_per_cycle(what.type) : device->tensor_flops_per_cycle(what.type);
  }
};

SmRates rates_of(const DeviceSpec& device);

}  // namespace warploom::detailed
