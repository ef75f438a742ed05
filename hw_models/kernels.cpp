// SPDX-License-Identifier: Apache-2.0
// The list of kernel families.
#include "hw_models/kernels.hpp"

#include <fmt/format.h>

#include "hw_models/kernels/activation.hpp"
#include "hw_models/kernels/attention.hpp"
#include "hw_models/kernels/cast.hpp"
#include "hw_models/kernels/cross_entropy.hpp"
#include "hw_models/kernels/dropout.hpp"
#include "hw_models/kernels/element_wise.hpp"
#include "hw_models/kernels/embedding.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/mla.hpp"
#include "hw_models/kernels/moe.hpp"
#include "hw_models/kernels/norm.hpp"
#include "hw_models/kernels/optimizer_update.hpp"
#include "hw_models/kernels/quantize.hpp"
#include "hw_models/kernels/rotary.hpp"
#include "hw_models/kernels/sampling.hpp"
#include "hw_models/kernels/softmax.hpp"
#include "hw_models/kernels/unscale.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

std::span<const KernelFamily* const> kernel_families() {
  static const KernelFamily* const families[] = {
      &gemm_family(),         &attention_family(), &mla_family(),           &moe_family(),
      &quantize_family(),     &norm_family(),      &activation_family(),    &rotary_family(),
      &element_wise_family(), &embedding_family(), &cross_entropy_family(), &optimizer_update_family(),
      &cast_family(),         &softmax_family(),   &dropout_family(),       &unscale_family(),
      &sampling_family(),
  };
  return families;
}

const KernelFamily& kernel_family(std::string_view name) {
  for (const KernelFamily* family : kernel_families()) {
    if (family->name() == name) return *family;
  }
  throw InternalError(fmt::format("no kernel family `{}` is listed", name));
}

void KernelFamily::check(const Kernel& kernel) const {
  constexpr std::int64_t largest = std::int64_t{1} << 48;
  for (std::size_t i = 0; i < parameters().size(); ++i) {
    const KernelParameter& parameter = parameters()[i];
    if (kernel.size[i] >= parameter.least && kernel.size[i] <= largest) continue;
    throw UserError(fmt::format("{}: expected `{}` from {} to 2^48, got {}", kernel.family, parameter.name,
                                parameter.least, kernel.size[i]));
  }
  for (const DataType type : {kernel.input, kernel.output}) {
    if (bits(type) >= least_bits()) continue;
    throw UserError(fmt::format("{}: expected values of at least {} bits, got {}", kernel.family, least_bits(),
                                warploom::name(type)));
  }
  check_together(kernel);
}

Flops flops(const Kernel& kernel) {
  const KernelFamily& family = kernel_family(kernel.family);
  family.check(kernel);
  return family.flops(kernel);
}

Bytes bytes(const Kernel& kernel) {
  const KernelFamily& family = kernel_family(kernel.family);
  family.check(kernel);
  return family.bytes(kernel);
}

}  // namespace warploom
