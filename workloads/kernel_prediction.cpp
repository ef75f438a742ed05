// SPDX-License-Identifier: Apache-2.0
// A kernel's cost beside its roofline.
#include "workloads/kernel_prediction.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hw_models/detailed_cache.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

// The fastest way to its products, whatever bounds the kernel. Attention may multiply in the type of its keys.
FlopRate peak_of(const Kernel& kernel, const DeviceSpec& device) {
  FlopRate peak = device.vector_peak_at(device.clock.max);
  if (kernel.family == "gemm" && gemm_shape(kernel).is_sparse) {
    const DataType type = product_type(gemm_shape(kernel));
    return FlopRate(device.sm.count * device.sparse_flops_per_cycle(type) * device.clock.data_sheet.value());
  }
  if (device.has(kernel.input)) peak = std::max(peak, device.peak(kernel.input));
  const bool is_attention = kernel.family == "attention" || kernel.family == "mla";
  if (is_attention && device.has(kernel.weight)) peak = std::max(peak, device.peak(kernel.weight));
  return peak;
}

// Fills in the costs.
void answer(const KernelQuestion& question, const DeviceSpec& device, KernelPrediction& prediction) {
  prediction.launch = launch_gap(device, question.launch);
  if (question.model == KernelModel::analytic) {
    prediction.cost = AnalyticTimer(device, question.launch).cost(prediction.kernel);
    return;
  }
  prediction.detailed = play_cached(prediction.kernel, device, question.launch, question.detailed, question.cache);
  prediction.cost = prediction.detailed->cost;
}

}  // namespace

KernelPrediction predict_kernel(const Kernel& kernel, const DeviceSpec& device, const KernelQuestion& question) {
  const KernelFamily& family = kernel_family(kernel.family);
  family.check(kernel);
  KernelPrediction prediction;
  prediction.kernel = kernel;
  prediction.flops = family.flops(kernel);
  prediction.bytes = family.bytes(kernel);
  answer(question, device, prediction);
  prediction.real = prediction.cost.duration;
  if (!question.ideals.empty()) {
    prediction.ideals = question.ideals;
    answer(question, with_free(device, question.ideals), prediction);
  }
  const Time compute = prediction.flops / peak_of(kernel, device);
  const Time memory = prediction.bytes / device.memory.bandwidth;
  prediction.roofline = std::max({compute, memory, Time::picoseconds(1)});
  prediction.is_roofline_compute = compute >= memory;
  return prediction;
}

Kernel kernel_from_names(const KernelFamily& family, const std::map<std::string, std::int64_t, std::less<>>& sizes,
                         const std::vector<std::string>& flags) {
  Kernel kernel;
  kernel.family = family.name();
  std::vector<std::string> known;
  for (std::size_t i = 0; i < family.parameters().size(); ++i) {
    const KernelParameter& parameter = family.parameters()[i];
    known.emplace_back(parameter.name);
    const auto given = sizes.find(parameter.name);
    if (given == sizes.end() && !parameter.usual) {
      throw UserError(fmt::format("a `{}` kernel needs `{}`: {}", family.name(), parameter.name, parameter.meaning));
    }
    kernel.size[i] = given != sizes.end() ? given->second : *parameter.usual;
  }
  for (const auto& [name, size] : sizes) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw UserError(fmt::format("a `{}` kernel has no size {}", family.name(), warploom::quoted(name)),
                    suggestion(name, known, "it has " + join(known)));
  }
  std::vector<std::string> known_flags;
  for (const KernelFlag& flag : family.flags()) known_flags.emplace_back(flag.name);
  for (const std::string& name : flags) {
    const auto flag = std::ranges::find(family.flags(), name, &KernelFlag::name);
    if (flag == family.flags().end()) {
      throw UserError(fmt::format("a `{}` kernel has no flag {}", family.name(), warploom::quoted(name)),
                      suggestion(name, known_flags, "it has " + join(known_flags)));
    }
    kernel.flags |= flag->bit;
  }
  return kernel;
}

}  // namespace warploom
