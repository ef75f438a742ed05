// SPDX-License-Identifier: Apache-2.0
// Which units of a chunk share a gradient bucket: gradients are reduced, and parameters gathered, a bucket at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/training/training_job.hpp"

namespace warploom {

struct GradientBucket {
  std::int64_t parameters = 0;
  std::size_t first_unit = 0;  // in forward order; its gradient is the bucket's last
  std::size_t last_unit = 0;
};

// Parameters of each unit in forward order.
std::vector<std::int64_t> unit_parameters(const TrainingJob& job, const Chunk& chunk);

// In the order in which their gradients are complete: from the chunk's end to its start. Units are added until a bucket
// has the least number of parameters (Megatron-LM: the larger of 40 million and 1 million x replicas).
std::vector<GradientBucket> gradient_buckets(const TrainingJob& job, const Chunk& chunk);

}  // namespace warploom
