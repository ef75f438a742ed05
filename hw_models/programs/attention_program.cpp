// SPDX-License-Identifier: Apache-2.0
// The kernels of one attention operation.
#include "hw_models/programs/attention_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/programs/attention_backward_program.hpp"
#include "hw_models/programs/attention_serving.hpp"
#include "hw_models/programs/attention_work.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

enum class Style { warps, groups, block };

Style style_of(const DeviceSpec& device) {
  const bool has_roles = device.architecture.attention.is_pipelined;
  if (!has_roles || device.architecture.pipeline.tensor_unit == TensorUnit::mma) return Style::warps;
  return device.architecture.pipeline.tensor_unit == TensorUnit::wgmma ? Style::groups : Style::block;
}

AttentionTiling tiling_of(const AttentionShape& shape, const DeviceSpec& device) {
  switch (style_of(device)) {
    case Style::groups:
      return tiling_of_groups(shape, device);
    case Style::block:
      return tiling_of_block(shape, device);
    default:
      return tiling_of_warps(shape, device);
  }
}

KernelProgram main_program(const AttentionWork& work) {
  switch (style_of(work.device)) {
    case Style::groups:
      return attention_by_groups(work);
    case Style::block:
      return attention_by_block(work);
    default:
      return attention_by_warps(work);
  }
}

}  // namespace

std::vector<KernelProgram> attention_programs(const AttentionShape& shape, const DeviceSpec& device) {
  constexpr int least_bits = 8;
  for (const DataType type : {shape.type, kv_type(shape)}) {
    if (bits(type) < least_bits) {
      throw UserError(fmt::format("the detailed model has no attention kernel for {}", name(type)),
                      "it has those of 8 and 16 bits; `--model analytic` has others");
    }
  }
  if (shape.backward) return attention_backward_programs(shape, device);
  const AttentionTiling tiling = tiling_of(shape, device);
  std::vector<KernelProgram> programs;
  if (shape.serving) {
    programs.push_back(cache_write_program(shape, device));
    // Planned once a step for all layers; FlashAttention-3 resets its counter of tiles where no sum of parts does.
    const bool resets = style_of(device) != Style::groups || tiling.parts == 1;
    if (device.architecture.attention.is_pipelined && resets) programs.push_back(planning_program(shape, device));
  }
  // A serving engine hands over queries that are narrow already.
  if (tiling.product != shape.type && !shape.serving)
    programs.push_back(query_narrowing_program(shape, tiling.product, device));
  const bool copies = shape.serving && tiling.is_decode && tiling.packs &&
                      device.architecture.attention.decode.copies_groups && shape.batch > 1 && shape.kv_heads > 1;
  if (copies) programs.push_back(query_copy_program(shape, device));
  programs.push_back(main_program(attention_work(shape, device, tiling)));
  if (tiling.parts > 1) programs.push_back(combine_program(shape, tiling, device));
  if (copies) programs.push_back(query_copy_program(shape, device));
  return programs;
}

}  // namespace warploom
