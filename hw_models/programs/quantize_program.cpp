// SPDX-License-Identifier: Apache-2.0
// Kernels that quantise activations.
//
// TensorRT-LLM (cudaFp8Utils.cu): the search for the scale of a tensor is a memset and 1,024 blocks of 1,024 threads
// over single values with an atomic each; the division has blocks of 256 threads and 8 values a thread, at most 65,536
// of them. SGLang (sgl-kernel@350439a, per_token_quant_fp8.cu): a scale a token by a block of 256 threads a row, or,
// where there are 16 rows an SM and more, by a warp a row; 16 values a thread at a time, read twice. (...
// per_token_group_quant_8bit.cu): a scale for 128 values by 16 threads; each of the 8 results of a thread is a store of
// one byte. FlashInfer (quantization.cuh): NVFP4 by blocks of 512 threads that go from row to row, 8 values a thread,
// rows of scales padded to 128.
#include "hw_models/programs/quantize_program.hpp"

#include <algorithm>
#include <cmath>

#include "hw_models/kernels/quantize.hpp"
#include "hw_models/programs/streaming_parts.hpp"

namespace warploom {

namespace {

// A search for the largest value, 1,024 blocks over the tensor; then an atomic a block.
StreamingShape scale_search(const QuantizeShape& shape, double cold, int loads) {
  constexpr std::int64_t blocks = 1024;
  constexpr int threads = 1024;
  StreamingPass pass;
  pass.reads = {{"values", width(shape.from), cold}};
  pass.work = {0, 2, 0};  // to FP32 with its sign off, larger
  pass.in_flight = loads;
  pass.sum_over = SumOver::block;
  pass.sum_work = {0, 1, 0};
  StreamingShape kernel = flat_kernel("scale search", shape.rows * shape.width, threads, pass, blocks);
  kernel.blocks = blocks;
  kernel.elements = as_double(shape.rows) * as_double(shape.width) / blocks;
  StreamingPass result;
  result.reads = {{"scale", 4.0, 0}};
  result.work = division;
  result.elements = 1;
  kernel.passes.push_back(result);
  return kernel;
}

StreamingShape memory_set() {
  StreamingPass pass;
  pass.writes = {{"out", 4, 0}};
  return flat_kernel("memset", 1, 32, pass);
}

StreamingShape division_by_scale(const QuantizeShape& shape, double cold_in, double cold_out) {
  constexpr std::int64_t most_blocks = 65'536;
  constexpr int threads = 256;
  StreamingPass pass;
  pass.reads = {{"values", width(shape.from), cold_in}};
  pass.writes = {{"results", width(shape.to), cold_out}};
  pass.work = {1, 1.5, 0};  // unpacked, scaled, packed two at a time
  pass.vector = 8;
  StreamingShape kernel = flat_kernel("division by scale", shape.rows * shape.width, threads, pass, most_blocks);
  kernel.lookups = 1;
  return kernel;
}

constexpr ElementWork largest{0, 2, 0};      // to FP32, larger without its sign
constexpr ElementWork to_8_bits{1, 3.5, 0};  // to FP32, scaled, clamped from both sides, packed two at a time

// Whose activations are quantised again and again in front of their product finds them in the L2 as far as all operands
// of the benchmark's six operations fit (aiconfigurator's collector for SGLang).
double cold_of(const QuantizeShape& shape, const DeviceSpec& device) {
  constexpr std::int64_t operations = 6;
  if (!shape.is_warm) return 1;
  const Bytes round = bytes_of({shape.rows, shape.width}, shape.from) + bytes_of({shape.rows, shape.width}, shape.to);
  return 1 - share_found_in_l2(round * operations, device);
}

StreamingShape row_quantize(const QuantizeShape& shape, const DeviceSpec& device) {
  constexpr int threads = 256;
  constexpr std::int64_t rows_of_a_block = threads / 32;
  const double value = width(shape.from);
  const double cold = cold_of(shape, device);
  const bool has_many_rows = shape.rows >= 2 * rows_of_a_block * device.sm.count;
  const std::int64_t rows = has_many_rows ? rows_of_a_block : 1;
  StreamingShape kernel{.name = "quantize rows", .blocks = (shape.rows + rows - 1) / rows, .threads = threads};
  kernel.elements = as_double(rows * shape.width);
  StreamingPass first;
  first.reads = {{"values", value, cold}};
  first.work = largest;
  first.vector = 16;
  first.sum_over = has_many_rows ? SumOver::warp : SumOver::block;
  first.sum_work = {0, 1, 0};
  StreamingPass second;
  second.reads = {again(first.reads[0], device, kernel, kernel.elements * (value + width(shape.to)))};
  second.writes = {{"results", width(shape.to), 1}};
  second.work = to_8_bits;
  second.vector = 16;
  kernel.passes = {first, second};
  return kernel;
}

StreamingShape block_quantize(const QuantizeShape& shape, const DeviceSpec& device) {
  constexpr int threads = 256;
  constexpr int a_load = 8;
  const double value = width(shape.from);
  StreamingPass first;
  first.reads = {{"values", value, cold_of(shape, device)}};
  first.work = largest;
  first.vector = a_load;
  first.sum_over = SumOver::warp;
  first.sum_work = {0, 1, 0};
  StreamingShape kernel = flat_kernel("quantize blocks", shape.rows * shape.width, threads, first);
  kernel.lookups = 0;
  StreamingPass second;
  second.reads = {{"values again", value, 0, true}};
  second.writes = {{.name = "results", .bytes = width(shape.to), .one_by_one = true}};
  second.work = division + to_8_bits;
  second.vector = a_load;
  kernel.passes.push_back(second);
  return kernel;
}

// Rows of scales are padded: those of no row are set to zero.
StreamingShape micro_block_quantize(const QuantizeShape& shape, const DeviceSpec& device) {
  constexpr std::int64_t most_threads = 512;
  constexpr int a_load = 8;
  constexpr int block_registers = 32;
  const double value = width(shape.from);
  StreamingShape kernel{.name = "quantize micro-blocks", .registers = block_registers};
  kernel.threads = static_cast<int>(std::clamp<std::int64_t>(shape.width / a_load, 32, most_threads));
  const std::int64_t places = std::max(1, device.sm.threads / kernel.threads) * std::int64_t{device.sm.count};
  constexpr std::int64_t padding = 128;
  kernel.blocks = std::min((shape.rows + padding - 1) / padding * padding, places);
  kernel.elements = as_double(shape.rows) * as_double(shape.width) / as_double(std::min(shape.rows, places));
  if (kernel.blocks > shape.rows) kernel.blocks = shape.rows;
  StreamingPass pass;
  pass.reads = {{"values", value, cold_of(shape, device)}};
  pass.writes = {{"results", width(shape.to), 1}, {"scales", 1.0 / as_double(shape.block), 1}};
  // The largest of two at a time, two shuffles a thread, the scale there and back, scaled, eight packed at once.
  pass.work = {1.5, 3, 0.125};
  pass.vector = a_load;
  kernel.passes = {pass};
  return kernel;
}

}  // namespace

KernelPlan plan_quantize(const Kernel& kernel, const DeviceSpec& device) {
  const QuantizeShape shape = quantize_shape(kernel);
  const Bytes values = bytes_of({shape.rows, shape.width}, shape.from);
  const Bytes round = values + bytes_of({shape.rows, shape.width}, shape.to);
  const double cold = shape.is_warm ? 1 - share_found_in_l2(round, device) : 1;
  // What the compiler of the library's build for the architecture makes of the loop.
  const auto loads = static_cast<int>(std::max(1.0, std::round(device.architecture.streaming.scale_search_loads)));
  switch (shape.part) {
    case QuantizePart::scale:
      return {{streaming_program(memory_set()), streaming_program(scale_search(shape, cold, loads))}, false};
    case QuantizePart::cast:
      return one(
          division_by_scale(shape, shape.after_search ? 1 - share_found_after_search(values, device) : cold, cold));
    default:
      if (shape.block == 0) return one(row_quantize(shape, device));
      return one(bits(shape.to) < 8 ? micro_block_quantize(shape, device) : block_quantize(shape, device));
  }
}

}  // namespace warploom
