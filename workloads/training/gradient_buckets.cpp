// SPDX-License-Identifier: Apache-2.0
// Units from the last to the first, cut wherever enough parameters are together.
#include "workloads/training/gradient_buckets.hpp"

#include <algorithm>

namespace warploom {

std::vector<std::int64_t> unit_parameters(const TrainingJob& job, const Chunk& chunk) {
  const ChunkUnits units = units_of(job, chunk);
  std::vector<std::int64_t> parameters;
  if (chunk.has_embedding) parameters.push_back(units.embedding);
  parameters.insert(parameters.end(), static_cast<std::size_t>(chunk.layers), units.layer);
  if (chunk.has_head) parameters.push_back(units.head);
  return parameters;
}

std::vector<GradientBucket> gradient_buckets(const TrainingJob& job, const Chunk& chunk) {
  const std::vector<std::int64_t> parameters = unit_parameters(job, chunk);
  const std::int64_t wanted = job.training.bucket_parameters;
  const std::int64_t least = wanted > 0 ? wanted : std::max<std::int64_t>(40'000'000, 1'000'000 * job.replicas());
  std::vector<GradientBucket> buckets;
  for (std::size_t unit = parameters.size(); unit-- > 0;) {
    if (buckets.empty() || buckets.back().parameters >= least) buckets.push_back({0, unit, unit});
    buckets.back().parameters += parameters[unit];
    buckets.back().first_unit = unit;
  }
  return buckets;
}

}  // namespace warploom
