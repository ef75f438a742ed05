// SPDX-License-Identifier: Apache-2.0
// An SM's rates from a device file.
#include "hw_models/systemc/sm_rates.hpp"

namespace warploom::detailed {

SmRates rates_of(const DeviceSpec& device) {
  constexpr double warp = 32;
  const auto interval = [](double lanes) { return warp * sub_partitions / lanes; };
  const PipelineConstants& pipeline = device.architecture.pipeline;
  SmRates rates{};
  rates.fma_interval = interval(device.sm.vector_lanes);
  rates.alu_interval = interval(device.sm.integer_lanes);
  rates.sfu_interval = interval(device.sm.special_function_lanes);
  rates.shared_bytes = device.sm.shared_memory_bytes_per_cycle;
  rates.tensor_memory_bytes = pipeline.tensor_memory_port;
  rates.port_bytes = pipeline.l2_port;
  rates.shared_latency = pipeline.shared_latency.value();
  rates.copy_latency = pipeline.copy_latency.value();
  rates.math_latency = pipeline.math_latency.value();
  rates.sfu_latency = pipeline.special_latency.value();
  rates.tensor_latency = pipeline.tensor_latency.value();
  rates.barrier_latency = pipeline.barrier_latency.value();
  rates.fetch_latency = device.l2.latency.value();
  rates.block_start = pipeline.block_start.value();
  rates.warp_start = pipeline.warp_start.value();
  rates.block_interval = pipeline.block_dispatch.value() * device.sm.count;
  rates.part_of_sector = pipeline.part_of_sector;
  rates.warp_products = pipeline.warp_products;
  rates.device = &device;
  return rates;
}

}  // namespace warploom::detailed
