// SPDX-License-Identifier: Apache-2.0
// What quantising activations costs: a stream over the values, and fixed costs of several small kernels where a
// framework searches the scale.
//
// Equation: as streaming.hpp, with bytes = rows x width x (bytes of `from` + bytes of `to`) + 4 B a scale; the search
// for a tensor's scale reads the values and adds `scale_search_fixed`. B depends on how the kernel searches: `quantize`
// (a row), `quantize_block` (blocks of a row). Assumes that a row stays in registers between search and division.
// Source: quantize.csv and gemm_quantized.csv of aiconfigurator@095f58a5.
#include "hw_models/kernels/quantize.hpp"

#include <algorithm>

#include "hw_models/kernels/streaming_family.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"

namespace warploom {

namespace {

constexpr std::uint32_t scale_flag = 1;
constexpr std::uint32_t cast_flag = 2;
constexpr std::uint32_t warm_flag = 4;
constexpr std::int64_t scale_bytes = 4;

QuantizeShape shape_of(const Kernel& kernel) {
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
  return shape;
}

StreamingWork work_of(const QuantizeShape& shape, const StreamingConstants& constants) {
  StreamingWork work;
  const auto values = static_cast<double>(shape.rows) * static_cast<double>(shape.width);
  work.read = bytes_of({shape.rows, shape.width}, shape.from);
  work.vector_flops = 2 * values;
  if (shape.part == QuantizePart::scale) {
    work.written = Bytes(scale_bytes);
    work.bytes_per_cycle_per_sm = constants.scale_search;
    return work;
  }
  work.written = bytes_of({shape.rows, shape.width}, shape.to);
  if (shape.block > 0)
    work.written += Bytes(scale_bytes) * (shape.rows * ((shape.width + shape.block - 1) / shape.block));
  work.bytes_per_cycle_per_sm = shape.part == QuantizePart::cast ? constants.quantize_cast
                                : bits(shape.to) < 8             ? constants.quantize_4bit
                                : shape.block > 0                ? constants.quantize_block
                                                                 : constants.quantize;
  return work;
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
        {"scale", scale_flag, "only the search for a tensor's scale, by single operators of a framework"},
        {"cast", cast_flag, "only the division by a known scale"},
        {"warm", warm_flag, "what fits the L2 is still there, as when one tensor is quantised again and again"},
    };
    return list;
  }

  Flops flops(const Kernel& kernel) const override { return Flops(work_of(shape_of(kernel), {}).vector_flops); }
  Bytes bytes(const Kernel& kernel) const override { return work_of(shape_of(kernel), {}).bytes(); }

  KernelCost cost(const Kernel& kernel, const DeviceSpec& device) const override {
    const QuantizeShape shape = shape_of(kernel);
    const StreamingConstants& constants = device.architecture.streaming;
    StreamingWork work = work_of(shape, constants);
    if (shape.is_warm) {
      const double kept = static_cast<double>(device.l2.capacity.count()) * device.architecture.gemm.l2_share;
      work.share_in_l2 = std::clamp(2 - static_cast<double>(work.bytes().count()) / kept, 0.0, 1.0);
    }
    KernelCost cost = streaming_cost(work, device);
    if (shape.part == QuantizePart::scale) cost.duration += constants.scale_search_fixed;
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
                 (shape.is_warm ? warm_flag : 0);
  return kernel;
}

const KernelFamily& quantize_family() {
  static const Quantize family;
  return family;
}

}  // namespace warploom
