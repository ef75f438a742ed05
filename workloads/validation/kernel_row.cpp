// SPDX-License-Identifier: Apache-2.0
// Times kernels through the product's own timer.
#include "workloads/validation/kernel_row.hpp"

#include <fmt/format.h>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/detailed_cache.hpp"
#include "hw_models/device.hpp"
#include "hw_models/kernels.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/device_lookup.hpp"

namespace warploom {

double alone_us(const Kernel& kernel, const FoundDevice& device, const DeviceSpec& spec, LaunchMode launch) {
  const KernelFamily& family = kernel_family(kernel.family);
  family.check(kernel);
  if (device.model == KernelModel::detailed) {
    const DetailedKernel played = play_cached(kernel, spec, launch, {}, device.cache.get());
    return (played.cost.duration - played.gap + spec.architecture.streaming.fixed).microseconds();
  }
  return family.cost(kernel, spec).duration.microseconds();
}

double benchmark_us(const Kernel& kernel, const FoundDevice& device, LaunchMode launch) {
  const KernelFamily& family = kernel_family(kernel.family);
  family.check(kernel);
  if (device.model == KernelModel::detailed) {
    return play_cached(kernel, device.spec, launch, {}, device.cache.get(), device.key).cost.duration.microseconds();
  }
  return (family.cost(kernel, device.spec).duration + launch_gap(device.spec, launch)).microseconds();
}

void add_features(const Kernel& kernel, BaselineFeatures& features) {
  features.flops += flops(kernel).value();
  features.bytes += static_cast<double>(bytes(kernel).count());
}

std::int64_t elements_of(std::int64_t rows, std::int64_t width) {
  std::int64_t elements = 0;
  if (__builtin_mul_overflow(rows, width, &elements)) throw UserError("rows x width are out of range");
  return elements;
}

DataType data_type_of(std::string_view text) {
  if (const auto type = find_data_type(text)) return *type;
  if (text == "float16" || text == "half") return DataType::fp16;
  if (text == "bfloat16") return DataType::bf16;
  if (text == "float32" || text == "float") return DataType::fp32;
  throw UserError(fmt::format("the data type {} is not modelled", warploom::quoted(text)));
}

std::string gemm_size_class(std::int64_t m, std::int64_t n, std::int64_t k, double measured_us) {
  if (n >= 1024 && k >= 1024 && m >= 16) return "llm";
  if (m < 16) return "skinny";
  return measured_us < 5 ? "tiny" : "other";
}

}  // namespace warploom
