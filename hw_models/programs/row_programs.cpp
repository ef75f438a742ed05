// SPDX-License-Identifier: Apache-2.0
// Kernels over rows of PyTorch, vLLM and TensorRT-LLM.
//
// vLLM@v0.2 (layernorm_kernels.cu): a block a row of at most 1,024 threads over single values, once for the sum of
// squares and once for the results. PyTorch@v2.1 (layer_norm_kernel.cu): 128 threads, loads of four values, Welford's
// moments; (PersistentSoftmax.cuh, SoftMax.cu): up to 1,024 elements a row in a warp's registers, longer ones by blocks
// of 32 to 512 threads, loads of 16 B and three passes.
#include "hw_models/programs/row_programs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "hw_models/kernels/cross_entropy.hpp"
#include "hw_models/kernels/norm.hpp"
#include "hw_models/kernels/softmax.hpp"
#include "hw_models/programs/streaming_parts.hpp"

namespace warploom {

namespace {

// ---- Norms ------------------------------------------------------------------------------------------------------

StreamingShape serving_norm(const NormShape& shape, double cold, const DeviceSpec& device) {
  constexpr std::int64_t most_threads = 1024;
  const double value = width(shape.type);
  const bool is_layer = shape.kind == NormKind::layer;
  // More than 32 registers a thread: two blocks of 1,024 threads do not fit one SM.
  StreamingShape kernel = row_kernel("norm", shape.rows, shape.width, most_threads);
  kernel.registers = 40;
  StreamingPass first;
  first.reads = {{"x", value, cold}};
  first.work = {is_layer ? 2.0 : 1.0, 1, 0};
  first.sum_over = SumOver::block;
  first.sums = is_layer ? 2 : 1;
  StreamingPass second;
  second.reads = {again(first.reads[0], device, kernel, kernel.elements * value * 2), {"weight", value, 0, true}};
  second.writes = {{"y", value, cold}};
  second.work = {is_layer ? 3.0 : 2.0, 2, 0};
  kernel.passes = {first, second};
  return kernel;
}

StreamingShape framework_norm(const NormShape& shape, double cold, const DeviceSpec& device) {
  constexpr int threads = 128;
  constexpr int a_load = 4;
  const double value = width(shape.type);
  StreamingShape kernel{.name = "layer norm", .blocks = shape.rows, .threads = threads};
  kernel.elements = as_double(shape.width);
  const ElementWork welford = ElementWork{5, 0, 0} + ElementWork{2, 2, 1};  // with the reciprocal of the count
  StreamingPass first;
  first.reads = {{"x", value, cold}};
  first.work = welford;
  first.vector = a_load;
  first.sum_over = SumOver::block;
  first.sums = 3;
  first.sum_work = {4, 1, 0};
  StreamingPass second;
  second.reads = {again(first.reads[0], device, kernel, kernel.elements * value * 2), {"weights", 2 * value, 0, true}};
  second.reads[0].in_l1 = false;
  second.writes = {{"y", value, cold}};
  second.work = {3, 0, 0};
  second.vector = a_load;
  kernel.passes = {first, second};
  return kernel;
}

// Apex: the row stays in registers between its sums and the result.
StreamingShape norm_gradient(const NormShape& shape, double cold) {
  const double value = width(shape.type);
  const int a_load = static_cast<int>(16 / value);
  StreamingShape kernel{.name = "norm backward", .blocks = shape.rows, .registers = 64};
  kernel.threads = static_cast<int>(std::clamp<std::int64_t>(shape.width / a_load / 2 / 32 * 32, 32, 512));
  kernel.elements = as_double(shape.width);
  StreamingPass first;
  first.reads = {{"x", value, cold}, {"dy", value, cold}, {"weight", value, 0, true}};
  first.work = {shape.kind == NormKind::rms ? 4.0 : 6.0, 2, 0};
  first.vector = a_load;
  first.in_flight = 2;
  first.sum_over = SumOver::block;
  first.sums = shape.kind == NormKind::rms ? 1 : 2;
  StreamingPass second;
  second.writes = {{"dx", value, cold}};
  second.work = {4, 1, 0};
  second.vector = a_load;
  second.in_flight = 2;
  kernel.passes = {first, second};
  return kernel;
}

// ---- Softmax ----------------------------------------------------------------------------------------------------

// A warp a row (two where it is short), all of it in registers.
StreamingShape warp_softmax(std::int64_t rows, std::int64_t row, double value, double cold) {
  constexpr int warps = 4;
  constexpr std::int64_t sector = 32;
  const auto padded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(row)));
  const std::int64_t rows_a_warp = padded <= 128 ? 2 : 1;
  const std::int64_t a_block = warps * rows_a_warp;
  StreamingShape kernel{.name = "softmax, a warp a row", .blocks = (rows + a_block - 1) / a_block, .threads = 128};
  kernel.elements = as_double(a_block * row);
  kernel.registers = static_cast<int>(std::min<std::int64_t>(24 + padded / 32 * rows_a_warp, 128));
  // Rows that do not begin at a sector: 128 B touch five instead of four.
  const double touched = std::fmod(as_double(row) * value, as_double(sector)) != 0 ? 1.25 : 1;
  const int all = static_cast<int>(std::max<std::int64_t>((row + 31) / 32 * rows_a_warp, 1));
  StreamingPass first;
  first.reads = {{"x", value, cold}};
  first.work = {0, 1, 0};
  first.in_flight = all;
  first.sum_over = SumOver::warp;
  first.sums = static_cast<int>(rows_a_warp);
  StreamingPass second;
  second.work = exponential + ElementWork{2, 0, 0};
  second.in_flight = all;
  second.sum_over = SumOver::warp;
  second.sums = static_cast<int>(rows_a_warp);
  StreamingPass third;
  third.writes = {{"y", value * touched, cold / touched}};
  third.work = division;
  third.in_flight = all;
  kernel.passes = {first, second, third};
  return kernel;
}

StreamingShape block_softmax(std::int64_t rows, std::int64_t row, double value, double cold, const DeviceSpec& device) {
  const auto a_load = static_cast<std::int64_t>(16 / value);
  const std::int64_t wanted = std::min<std::int64_t>(row / a_load, 1024);
  std::int64_t threads = 32;
  while (threads < wanted / 2) threads *= 2;
  StreamingShape kernel{.name = "softmax, a block a row", .blocks = rows, .threads = static_cast<int>(threads)};
  kernel.elements = as_double(row);
  const std::int64_t whole = row / (a_load * threads) * a_load * threads;
  const StreamedTensor x{"x", value, cold};
  const StreamedTensor later = again(x, device, kernel, 2 * as_double(row) * value);
  const ElementWork works[] = {
      {0, 1, 0}, exponential + ElementWork{2, 0, 0}, exponential + ElementWork{1, 0, 0} + division};
  for (int i = 0; i < 3; ++i) {
    StreamingPass pass;
    pass.reads = {i == 0 ? x : later};
    if (i == 2) pass.writes = {{"y", value, cold}};
    pass.work = works[i];
    pass.vector = static_cast<int>(a_load);
    pass.elements = as_double(whole);
    if (whole > 0) kernel.passes.push_back(pass);
    if (whole < row) {
      pass.vector = 1;
      pass.elements = as_double(row - whole);
      kernel.passes.push_back(pass);
    }
    if (i < 2) kernel.passes.back().sum_over = SumOver::block;
  }
  return kernel;
}

// Megatron-LM's fused kernel: a row in registers, loads of 8 B where it has four values.
StreamingShape fused_softmax(const SoftmaxShape& shape, double cold) {
  const std::int64_t rows = shape.matrices * shape.rows;
  const double value = width(shape.type);
  const double masked = as_double(shape.causal ? shape.rows - 1 : 0) / 2;
  const double seen = 1 - masked / as_double(shape.width);
  StreamingShape kernel = warp_softmax(rows, shape.width, value, cold);
  if (shape.width > 1024) {
    kernel.blocks = rows;
    kernel.elements = as_double(shape.width);
    for (StreamingPass& pass : kernel.passes) {
      pass.in_flight = static_cast<int>(std::min<std::int64_t>((shape.width + 127) / 128, 32));
      if (pass.sum_over == SumOver::warp) pass.sum_over = SumOver::block;
    }
  }
  kernel.passes[0].reads[0].bytes = value * seen;
  if (shape.backward) {
    kernel.passes[0].reads.push_back({"dy", value * seen, cold});
    kernel.passes[0].work = {2, 2, 0};
    kernel.passes.erase(kernel.passes.begin() + 1);
    kernel.passes[1].work = {2, 1, 0};
  }
  return kernel;
}

}  // namespace

KernelPlan plan_norm(const Kernel& kernel, const DeviceSpec& device) {
  const NormShape shape = norm_shape(kernel);
  const double bytes = as_double(shape.rows) * as_double(shape.width) * width(shape.type) * (shape.backward ? 3 : 2);
  const double cold = cold_share(kernel, bytes, device);
  if (shape.backward) return one(norm_gradient(shape, cold));
  return one(shape.framework ? framework_norm(shape, cold, device) : serving_norm(shape, cold, device));
}

KernelPlan plan_softmax(const Kernel& kernel, const DeviceSpec& device) {
  constexpr std::int64_t longest_of_a_warp = 1024;
  const SoftmaxShape shape = softmax_shape(kernel);
  const double value = width(shape.type);
  const std::int64_t rows = shape.matrices * shape.rows;
  const double bytes = as_double(rows) * as_double(shape.width) * value * (shape.backward ? 3 : 2);
  const double cold = cold_share(kernel, bytes, device);
  if (!shape.framework) return one(fused_softmax(shape, cold));
  return one(shape.width <= longest_of_a_warp ? warp_softmax(rows, shape.width, value, cold)
                                              : block_softmax(rows, shape.width, value, cold, device));
}

KernelPlan plan_cross_entropy(const Kernel& kernel, const DeviceSpec& device) {
  constexpr int threads = 1024;
  const CrossEntropyShape shape = cross_entropy_shape(kernel);
  const double value = width(shape.type);
  const double tensor = as_double(shape.tokens) * as_double(shape.vocabulary) * value;
  const double cold = cold_share(kernel, tensor, device);
  StreamingShape streaming{.name = "cross entropy", .blocks = shape.tokens, .threads = threads};
  streaming.elements = as_double(shape.vocabulary);
  StreamingPass pass;
  pass.reads = {{"logits", value, cold}};
  pass.vector = static_cast<int>(16 / value);
  switch (shape.part) {
    case CrossEntropyPart::maximum:
      pass.work = {0, 2, 0};
      break;
    case CrossEntropyPart::sum:
      pass.work = {2, 1, 1};
      break;
    case CrossEntropyPart::backward:
      pass.work = {3, 2, 1};
      pass.writes = {{"gradient", value, cold}};
      break;
  }
  if (shape.part != CrossEntropyPart::backward) pass.sum_over = SumOver::block;
  streaming.passes = {pass};
  return one(streaming);
}

}  // namespace warploom
