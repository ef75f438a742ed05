// SPDX-License-Identifier: Apache-2.0
// The list of families with programs.
#include "hw_models/programs/kernel_programs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "hw_models/programs/attention_program.hpp"
#include "hw_models/programs/element_programs.hpp"
#include "hw_models/programs/gemm_program.hpp"
#include "hw_models/programs/mla_program.hpp"
#include "hw_models/programs/moe_program.hpp"
#include "hw_models/programs/quantize_program.hpp"
#include "hw_models/programs/row_programs.hpp"
#include "hw_models/programs/serving_gemm_program.hpp"
#include "hw_models/programs/simt_gemm_program.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

struct FamilyPrograms {
  std::string_view family;
  KernelPlan (*plan)(const Kernel&, const DeviceSpec&);
};

KernelPlan plan_gemm(const Kernel& kernel, const DeviceSpec& device) {
  const GemmShape shape = gemm_shape(kernel);
  if (product_type(shape) == DataType::fp32) return {{simt_gemm_program(shape, device)}, shape.is_warm};
  if (shape.is_serving) return {serving_gemm_programs(shape, device), shape.is_warm};
  return {gemm_programs(shape, device), shape.is_warm};
}

KernelPlan plan_attention(const Kernel& kernel, const DeviceSpec& device) {
  const AttentionShape shape = attention_shape(kernel);
  return {attention_programs(shape, device), shape.warm};
}

KernelPlan plan_mla(const Kernel& kernel, const DeviceSpec& device) {
  const MlaShape shape = mla_shape(kernel);
  return {mla_programs(shape, device), shape.warm};
}

std::span<const FamilyPrograms> families() {
  static constexpr FamilyPrograms list[] = {
      {"gemm", plan_gemm},
      {"attention", plan_attention},
      {"mla", plan_mla},
      {"moe", plan_moe},
      {"norm", plan_norm},
      {"softmax", plan_softmax},
      {"cross_entropy", plan_cross_entropy},
      {"quantize", plan_quantize},
      {"element_wise", plan_element_wise},
      {"cast", plan_cast},
      {"activation", plan_activation},
      {"rotary", plan_rotary},
      {"embedding", plan_embedding},
      {"dropout", plan_dropout},
      {"unscale", plan_unscale},
      {"optimizer_update", plan_optimizer_update},
  };
  return list;
}

}  // namespace

bool has_programs(std::string_view family) {
  return std::ranges::find(families(), family, &FamilyPrograms::family) != families().end();
}

KernelPlan kernel_plan(const Kernel& kernel, const DeviceSpec& device) {
  const auto found = std::ranges::find(families(), kernel.family, &FamilyPrograms::family);
  if (found != families().end()) return found->plan(kernel, device);
  std::vector<std::string> known;
  for (const FamilyPrograms& one : families()) known.emplace_back(one.family);
  throw UserError(fmt::format("the detailed model has no program for `{}`", kernel.family),
                  fmt::format("it has {}; `--model analytic` has all", join(known)));
}

}  // namespace warploom
