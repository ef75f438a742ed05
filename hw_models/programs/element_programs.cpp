// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels of PyTorch, vLLM and Apex.
//
// PyTorch@v2.1 (MemoryAccess.cuh, CUDALoops.cuh): 128 threads of four elements, in one access where the type allows.
// vLLM@v0.2 (activation_kernels.cu, pos_encoding_kernels.cu): a block a token of at most 1,024 (rotary: 512) threads
// over single values, one a turn. Apex
// (multi_tensor_apply.cuh): 512 threads, four elements of each stream at once. PyTorch's look-up (Indexing.cu,
// indexSelectLargeIndex): at most 8 blocks of 128 threads an SM that divide their place by the row for every value.
#include "hw_models/programs/element_programs.hpp"

#include <algorithm>
#include <cmath>

#include "hw_models/kernels/activation.hpp"
#include "hw_models/kernels/cast.hpp"
#include "hw_models/kernels/dropout.hpp"
#include "hw_models/kernels/element_wise.hpp"
#include "hw_models/kernels/embedding.hpp"
#include "hw_models/kernels/optimizer_update.hpp"
#include "hw_models/kernels/rotary.hpp"
#include "hw_models/kernels/unscale.hpp"
#include "hw_models/programs/streaming_parts.hpp"

namespace warploom {

namespace {

constexpr int framework_threads = 128;
constexpr int elements_of_a_thread = 4;
constexpr int apex_threads = 512;
// More than 32 registers a thread: two blocks of 1,024 threads do not fit one SM.
constexpr int serving_registers = 40;

// Reads and writes so many bytes an element, four elements of each stream at once.
KernelPlan flat(const Kernel& kernel, std::int64_t elements, int threads, double read, double written,
                const ElementWork& work, const DeviceSpec& device) {
  const double cold = cold_share(kernel, as_double(elements) * (read + written), device);
  StreamingPass pass;
  if (read > 0) pass.reads = {{"in", read, cold}};
  if (written > 0) pass.writes = {{"out", written, cold}};
  pass.work = work;
  pass.vector = elements_of_a_thread;
  return one(flat_kernel(std::string(kernel.family), elements, threads, pass));
}

// A serving engine's: a block a row.
StreamingShape serving_kernel(const char* name, std::int64_t rows, std::int64_t row, std::int64_t most_threads,
                              const StreamingPass& pass) {
  StreamingShape kernel = row_kernel(name, rows, row, most_threads);
  kernel.registers = serving_registers;
  kernel.passes = {pass};
  return kernel;
}

}  // namespace

KernelPlan plan_element_wise(const Kernel& kernel, const DeviceSpec& device) {
  const ElementWiseShape shape = element_wise_shape(kernel);
  // 16-bit values are converted one by one or in pairs.
  return flat(kernel, shape.elements, framework_threads, as_double(shape.bytes_read), as_double(shape.bytes_written),
              {as_double(shape.flops), 1, 0}, device);
}

KernelPlan plan_cast(const Kernel& kernel, const DeviceSpec& device) {
  const CastShape shape = cast_shape(kernel);
  return flat(kernel, shape.elements, framework_threads, width(shape.from), width(shape.to), {0, 1, 0}, device);
}

KernelPlan plan_unscale(const Kernel& kernel, const DeviceSpec& device) {
  const UnscaleShape shape = unscale_shape(kernel);
  return flat(kernel, shape.elements, apex_threads, width(shape.input), width(shape.output), {1, 2, 0}, device);
}

KernelPlan plan_dropout(const Kernel& kernel, const DeviceSpec& device) {
  const DropoutShape shape = dropout_shape(kernel);
  const double value = width(shape.type);
  // Philox-4x32-10: ten rounds of two wide products and four exclusive-ors for four numbers.
  if (!shape.backward)
    return flat(kernel, shape.elements, framework_threads, value * (shape.adds ? 2 : 1), value + 1, {2, 25, 0}, device);
  return flat(kernel, shape.elements, framework_threads, value * (shape.bias ? 2 : 1) + 1, value, {2, 2, 0}, device);
}

KernelPlan plan_optimizer_update(const Kernel& kernel, const DeviceSpec& device) {
  const OptimizerUpdateShape shape = optimizer_update_shape(kernel);
  const double master = shape.has_master ? 4 : 0;
  const double read =
      width(shape.gradient) + 2 * width(shape.state) + master + (shape.has_master ? 0 : width(shape.parameter));
  const double written = 2 * width(shape.state) + width(shape.parameter) + master;
  // Both moments, their corrections, root and quotient, decay.
  return flat(kernel, shape.parameters, apex_threads, read, written, ElementWork{12, 2, 1} + division, device);
}

KernelPlan plan_activation(const Kernel& kernel, const DeviceSpec& device) {
  constexpr std::int64_t most_threads = 1024;
  const ActivationShape shape = activation_shape(kernel);
  const double value = width(shape.type);
  const bool is_gelu = shape.kind == ActivationKind::gelu;
  const double inputs = is_gelu ? 1 : 2;
  const ElementWork conversions{0, inputs + 1, 0};
  // x / (1 + exp(-x)) times the gate; GELU by tanh of a cubic.
  const ElementWork work = conversions + exponential + division + ElementWork{is_gelu ? 6.0 : 3.0, 0, 0};
  if (shape.backward) {
    const double again = shape.bias ? inputs : 0;
    return flat(kernel, shape.rows * shape.width, framework_threads, value * (inputs + 1 + again), value * inputs,
                work + ElementWork{6, 1, 0}, device);
  }
  // Models whose MLP has no gate take PyTorch's operator, those with one the serving engine's.
  if (is_gelu) return flat(kernel, shape.rows * shape.width, framework_threads, value, value, work, device);
  const double cold = cold_share(kernel, as_double(shape.rows) * as_double(shape.width) * value * (inputs + 1), device);
  StreamingPass pass;
  pass.reads = {{"x", value, cold}, {"gate", value, cold}};
  pass.writes = {{"out", value, cold}};
  pass.work = work;
  return one(serving_kernel("activation", shape.rows, shape.width, most_threads, pass));
}

KernelPlan plan_rotary(const Kernel& kernel, const DeviceSpec& device) {
  constexpr std::int64_t most_threads = 512;
  const RotaryShape shape = rotary_shape(kernel);
  const double value = width(shape.type);
  const std::int64_t pairs = shape.heads * shape.head_dim / 2;
  const double cold = cold_share(kernel, as_double(shape.tokens) * as_double(pairs) * value * 4, device);
  StreamingPass pass;  // of a pair: both halves in place, so that no load may go before the last store
  pass.reads = {{"angles", 2 * value, 0, true}, {"x", value, cold}, {"y", value, cold}};
  pass.writes = {{"x'", value, cold}, {"y'", value, cold}};
  pass.work = {4, 6, 0};
  pass.divisions = 1;
  StreamingShape streaming = serving_kernel("rotary", shape.tokens, pairs, most_threads, pass);
  streaming.lookups = 2;  // the token's place, its angles
  return one(streaming);
}

KernelPlan plan_embedding(const Kernel& kernel, const DeviceSpec& device) {
  constexpr std::int64_t blocks_an_sm = 8;
  const EmbeddingShape shape = embedding_shape(kernel);
  const double value = width(shape.type);
  const std::int64_t elements = shape.tokens * shape.width;
  StreamingPass pass;  // index, then the value, then its store
  // All values of a row have one index; a turn later each block is rows further on, so that the L1 has none of them.
  constexpr double sector = 32;
  pass.reads = {{.name = "index", .bytes = sector / 32, .from_memory = 0, .is_address = true},
                {"table", value, cold_share(kernel, 0, device)}};
  pass.writes = {{"out", value, 1}};
  if (shape.backward) {
    pass.reads.push_back({"gradient", width(shape.gradient), 1});
    pass.writes = {{"gradients", width(shape.gradient), 1}};
  }
  pass.work = {shape.backward ? 1.0 : 0.0, 8, 0};
  pass.divisions = 3;  // into row and place, and each of the two into an offset
  return one(flat_kernel("embedding", elements, framework_threads, pass, device.sm.count * blocks_an_sm));
}

}  // namespace warploom
