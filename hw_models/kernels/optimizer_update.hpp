// SPDX-License-Identifier: Apache-2.0
// Adam on a shard of the parameters: reads gradient and state, writes state and the parameters of the model.
#pragma once

#include <cstdint>

#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily;

struct OptimizerUpdateShape {
  std::int64_t parameters = 0;          // of this device's shard
  DataType gradient = DataType::fp32;   // read
  DataType parameter = DataType::bf16;  // written for the model
  DataType state = DataType::fp32;      // both moments: read and written
  bool has_master = true;               // an fp32 copy of the parameters: read and written (else `parameter` is read)
};

Kernel optimizer_update(const OptimizerUpdateShape& shape);
OptimizerUpdateShape optimizer_update_shape(const Kernel& kernel);
const KernelFamily& optimizer_update_family();

}  // namespace warploom
