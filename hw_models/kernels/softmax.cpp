// SPDX-License-Identifier: Apache-2.0
// What a softmax over rows costs: one pass over memory, its exponentials, and what its instructions can move.
//
// Equations, x = matrices x rows x width elements, s of them seen (causal: the triangle, else all): forward reads s and
// writes x (zeros where masked); backward reads s of the gradient and s of the result and writes x. One exponential and
// 6 vector FLOPs a seen element forward (scale, maximum, difference, sum, division), 5 FLOPs backward. One block a row.
// Assumes that a row stays in registers or shared memory between its passes. Source: Megatron-LM's fused
// scale-mask-softmax kernels.
#include "hw_models/kernels/softmax.hpp"

#include <fmt/format.h>

#include "hw_models/kernels/streaming_family.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::uint32_t causal_flag = 1;
constexpr std::uint32_t backward_flag = 2;

SoftmaxShape shape_of(const Kernel& kernel) {
  return {kernel.size[0],
          kernel.size[1],
          kernel.size[2],
          (kernel.flags & causal_flag) != 0,
          (kernel.flags & backward_flag) != 0,
          kernel.input};
}

class Softmax final : public StreamingFamily {
 public:
  std::string_view name() const override { return "softmax"; }
  std::string_view meaning() const override { return "scale, mask and softmax over rows"; }

  std::span<const KernelParameter> parameters() const override {
    static constexpr KernelParameter list[] = {
        {"matrices", "sequences x heads", 1},
        {"rows", "of one matrix: queries"},
        {"width", "elements a row: keys"},
    };
    return list;
  }
  std::span<const KernelFlag> flags() const override {
    static constexpr KernelFlag list[] = {
        {"causal", causal_flag, "row i sees the columns up to i + width - rows"},
        {"backward", backward_flag, "the gradient"},
    };
    return list;
  }

  void check_together(const Kernel& kernel) const override {
    const SoftmaxShape shape = shape_of(kernel);
    if (shape.causal && shape.rows > shape.width) {
      throw UserError(
          fmt::format("softmax: causal rows expect `width` of at least `rows`, {}, got {}", shape.rows, shape.width));
    }
  }

  StreamingWork work(const Kernel& kernel, const StreamingConstants& constants) const override {
    const SoftmaxShape shape = shape_of(kernel);
    const Bytes rows = Bytes(shape.matrices) * shape.rows;
    const Bytes all = rows * shape.width * (bits(shape.type) / 8);
    const auto masked = static_cast<double>(shape.causal ? shape.rows - 1 : 0) / 2;  // elements of a row, on average
    const double seen_share = 1 - masked / static_cast<double>(shape.width);
    const double seen = static_cast<double>(rows.count()) * static_cast<double>(shape.width) * seen_share;
    StreamingWork work;
    work.read = all * seen_share * (shape.backward ? 2 : 1);
    work.written = all;
    work.vector_flops = seen * (shape.backward ? 5 : 6);
    work.exponentials = shape.backward ? 0 : seen;
    work.bytes_per_cycle_per_sm = constants.softmax;
    work.blocks = rows.count();
    return work;
  }
};

}  // namespace

Kernel softmax(const SoftmaxShape& shape) {
  Kernel kernel;
  kernel.family = "softmax";
  kernel.size = {shape.matrices, shape.rows, shape.width};
  kernel.input = shape.type;
  kernel.output = shape.type;
  kernel.flags = (shape.causal ? causal_flag : 0) | (shape.backward ? backward_flag : 0);
  return kernel;
}

const KernelFamily& softmax_family() {
  static const Softmax family;
  return family;
}

}  // namespace warploom
