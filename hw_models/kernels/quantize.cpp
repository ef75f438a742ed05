// SPDX-License-Identifier: Apache-2.0
// What quantising activations costs: a stream over the values, and fixed costs of several small kernels where a
// framework searches the scale.
//
// Equation: as streaming.hpp, with bytes = rows x width x (bytes of `from` + bytes of `to`) + scales: 4 B a row, or 4 B
// a block (128 values of DeepSeek-V3), or 1 B a block of up to 32 values (NVFP4, MXFP4, MXFP8). One scale a row or
// block: B depends on how the kernel searches (`quantize`, `quantize_block`, `quantize_4bit`); a row stays in registers
// between search and division. One scale a tensor is two kernels. The search: 1,024 threads a block, each waiting for
// `scale_search_loads` values of 2 B at a time, and a memset and one atomic a block (`scale_search_fixed`). The
// division: blocks of 256 threads and 8 values a thread, whose starts set its pace (`quantize_cast`) until all of at
// most 65,536 blocks have started; what is left goes as fast as memory. Behind the search it finds in the L2 what of
// the values fits: the last blocks' slices, spread over the tensor, so that the share falls with a power of the size.
// Source: TensorRT-LLM's cudaFp8Utils.cu (Apache-2.0) for the kernels; quantize.csv and gemm_quantized.csv of
// aiconfigurator@095f58a5 for the constants.
#include "hw_models/kernels/quantize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hw_models/kernels/streaming_family.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::uint32_t scale_flag = 1;
constexpr std::uint32_t cast_flag = 2;
constexpr std::uint32_t warm_flag = 4;
constexpr std::uint32_t after_search_flag = 8;
constexpr std::int64_t scale_bytes = 4;
constexpr int search_threads = 1024;                       // of a block
constexpr std::int64_t first_values = 65'536L * 256L * 8;  // that blocks of the division begin with, at most

}  // namespace

QuantizeShape quantize_shape(const Kernel& kernel) {
  QuantizeShape shape;
  shape.rows = kernel.size[0];
  shape.width = kernel.size[1];
  shape.block = kernel.size[2];
  shape.from = kernel.input;
  shape.to = kernel.output;
  shape.part = (kernel.flags & scale_flag) != 0  ? QuantizePart::scale
               : (kernel.flags & cast_flag) != 0 ? QuantizePart::cast
                                                 : QuantizePart::both;
  shape.is_warm = (kernel.flags & warm_flag) != 0;
  shape.after_search = (kernel.flags & after_search_flag) != 0;
  return shape;
}

namespace {

// That the kernel writes; the scale of a tensor is known before its division.
Bytes scales_of(const QuantizeShape& shape) {
  constexpr std::int64_t longest_micro_block = 32;
  if (shape.block > 0) {
    const std::int64_t a_row = (shape.width + shape.block - 1) / shape.block;
    return Bytes(shape.rows) * a_row * (shape.block <= longest_micro_block ? 1 : scale_bytes);
  }
  return Bytes(shape.part == QuantizePart::both ? shape.rows : 0) * scale_bytes;
}

StreamingWork work_of(const QuantizeShape& shape, const StreamingConstants& constants) {
  StreamingWork work;
  const auto values = static_cast<double>(shape.rows) * static_cast<double>(shape.width);
  work.read = bytes_of({shape.rows, shape.width}, shape.from);
  work.vector_flops = 2 * values;
  if (shape.part == QuantizePart::scale) {
    work.written = Bytes(scale_bytes);
    return work;
  }
  work.written = bytes_of({shape.rows, shape.width}, shape.to) + scales_of(shape);
  work.bytes_per_cycle_per_sm = shape.part == QuantizePart::cast ? constants.quantize_cast
                                : bits(shape.to) < 8             ? constants.quantize_4bit
                                : shape.block > 0                ? constants.quantize_block
                                                                 : constants.quantize;
  if (shape.part == QuantizePart::cast) {
    work.memory_share = constants.quantize_cast_memory;
    work.paced = work.bytes() * std::min(1.0, static_cast<double>(first_values) / values);
  }
  return work;
}

// What the L2 holds of the values when the kernel begins, and of the results when it is done.
void find_in_l2(StreamingWork& work, const QuantizeShape& shape, const DeviceSpec& device) {
  const Bytes values = bytes_of({shape.rows, shape.width}, shape.from);
  const Bytes round = values + bytes_of({shape.rows, shape.width}, shape.to);  // between two runs of a benchmark
  if (shape.is_warm) work.share_in_l2 = share_found_in_l2(round, device);
  if (shape.part == QuantizePart::cast && shape.after_search) {
    work.written_share_in_l2 = work.share_in_l2;
    work.share_in_l2 = share_found_after_search(values, device);
  }
}

class Quantize final : public KernelFamily {
 public:
  std::string_view name() const override { return "quantize"; }
  std::string_view meaning() const override { return "values into a narrower type, with scales"; }

  std::span<const KernelParameter> parameters() const override {
    static constexpr KernelParameter list[] = {
        {"m", "rows"},
        {"k", "values of a row"},
        {"block", "values of a row that share a scale; 0: all of them", 0, 0},
    };
    return list;
  }
  std::span<const KernelFlag> flags() const override {
    static constexpr KernelFlag list[] = {
        {"scale", scale_flag, "only the search for a tensor's scale"},
        {"cast", cast_flag, "only the division by a known scale"},
        {"warm", warm_flag, "what fits the L2 is still there, as when one tensor is quantised again and again"},
        {"after_search", after_search_flag, "with `cast`: the search has just left in the L2 what fits"},
    };
    return list;
  }

  DataType usual_output(DataType) const override { return DataType::fp8; }

  void check_together(const Kernel& kernel) const override {
    const QuantizeShape shape = quantize_shape(kernel);
    if ((kernel.flags & scale_flag) != 0 && (kernel.flags & cast_flag) != 0)
      throw UserError("quantize: `scale` and `cast` exclude each other", "without both, one kernel does the two");
    if (shape.after_search && shape.part != QuantizePart::cast)
      throw UserError("quantize: `after_search` goes with `cast`: it says what the division finds in the L2");
    if (shape.part != QuantizePart::scale && bits(shape.to) >= bits(shape.from)) {
      throw UserError(fmt::format("quantize: expected a result narrower than the values, {}, got {}",
                                  warploom::name(shape.from), warploom::name(shape.to)),
                      "the type of the result is `--output-dtype`, such as fp8; that of the values `--dtype`");
    }
  }

  Flops flops(const Kernel& kernel) const override { return Flops(work_of(quantize_shape(kernel), {}).vector_flops); }
  Bytes bytes(const Kernel& kernel) const override { return work_of(quantize_shape(kernel), {}).bytes(); }

  KernelCost cost(const Kernel& kernel, const DeviceSpec& device) const override {
    const QuantizeShape shape = quantize_shape(kernel);
    const StreamingConstants& constants = device.architecture.streaming;
    StreamingWork work = work_of(shape, constants);
    find_in_l2(work, shape, device);
    if (shape.part == QuantizePart::scale) {
      const int resident = std::max(1, device.sm.threads / search_threads) * search_threads;
      work.bytes_in_flight_per_sm = resident * constants.scale_search_loads * bits(shape.from) / 8;
    }
    KernelCost cost = streaming_cost(work, device);
    if (shape.part == QuantizePart::scale) cost.duration += constants.scale_search_fixed;
    if (shape.part == QuantizePart::cast) cost.duration += constants.quantize_cast_fixed;
    if (shape.part == QuantizePart::both)
      cost.duration += bits(shape.to) < 8 ? constants.quantize_4bit_fixed
                       : shape.block > 0  ? constants.quantize_block_fixed
                                          : constants.quantize_fixed;
    return cost;
  }
};

}  // namespace

Kernel quantize(const QuantizeShape& shape) {
  Kernel kernel;
  kernel.family = "quantize";
  kernel.size = {shape.rows, shape.width, shape.block};
  kernel.input = shape.from;
  kernel.output = shape.to;
  kernel.flags = (shape.part == QuantizePart::scale  ? scale_flag
                  : shape.part == QuantizePart::cast ? cast_flag
                                                     : 0) |
                 (shape.is_warm ? warm_flag : 0) | (shape.after_search ? after_search_flag : 0);
  return kernel;
}

const KernelFamily& quantize_family() {
  static const Quantize family;
  return family;
}

}  // namespace warploom
