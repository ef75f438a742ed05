// SPDX-License-Identifier: Apache-2.0
// What a softmax over rows costs: one pass over memory, its exponentials, and what its instructions can move.
//
// Equations, x = matrices x rows x width elements, s of them seen (causal: the triangle, else all): forward reads s and
// writes x (zeros where masked); backward reads s of the gradient and s of the result and writes x. One exponential and
// 6 vector FLOPs a seen element forward (scale, maximum, difference, sum, division), 5 FLOPs backward. One block a row.
// Assumes that a row stays in registers or shared memory between its passes. A framework's softmax keeps rows of up to
// 1,024 elements in a warp's registers; longer ones are blocks of 128 to 512 threads that go over the row for its
// maximum, its sum and its result, with loads of 16 B and, for what is left of the row, of one element. Where rows do
// not begin at a sector of 32 B, each 128 B that a warp writes touch five sectors instead of four. Source:
// Megatron-LM's fused scale-mask-softmax kernels; PyTorch's PersistentSoftmax.cuh and SoftMax.cu, whose grids and
// blocks the rows of memory_bound_fp32.csv show.
#include "hw_models/kernels/softmax.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hw_models/kernels/streaming_family.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::uint32_t causal_flag = 1;
constexpr std::uint32_t backward_flag = 2;
constexpr std::uint32_t framework_flag = 4;

}  // namespace

SoftmaxShape softmax_shape(const Kernel& kernel) {
  return {kernel.size[0],
          kernel.size[1],
          kernel.size[2],
          (kernel.flags & causal_flag) != 0,
          (kernel.flags & backward_flag) != 0,
          kernel.input,
          (kernel.flags & framework_flag) != 0};
}

namespace {

// A framework's kernel for one row of `width` elements of so many bytes.
void use_framework(StreamingWork& work, std::int64_t width, std::int64_t element, const StreamingConstants& constants) {
  constexpr std::int64_t longest_of_a_warp = 1024;
  constexpr std::int64_t sector = 32;
  if (width <= longest_of_a_warp) {
    work.memory_share = constants.warp_softmax;
    if (width * element % sector != 0) work.memory_share *= 8.0 / 9;  // read 4 and write 5 instead of 4
    return;
  }
  const std::int64_t a_load = 16 / element;
  const std::int64_t wanted = std::min<std::int64_t>(width / a_load, 1024);
  std::int64_t threads = 32;
  while (threads < wanted / 2) threads *= 2;
  const std::int64_t whole = width / (a_load * threads);
  RowPasses rows;
  rows.threads = static_cast<int>(threads);
  rows.passes = 3;
  rows.steps = whole + (width - whole * a_load * threads + threads - 1) / threads;
  rows.row = Bytes(width) * element;
  rows.held = rows.row * 2;
  rows.read_again = work.read * 2;
  rows.tries_l1 = true;
  work.rows = rows;
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
        {"framework", framework_flag, "PyTorch's own softmax, not a fused one of a training library"},
    };
    return list;
  }

  void check_together(const Kernel& kernel) const override {
    const SoftmaxShape shape = softmax_shape(kernel);
    if (shape.framework && (shape.causal || shape.backward))
      throw UserError("softmax: `framework` goes without `causal` and `backward`");
    if (shape.causal && shape.rows > shape.width) {
      throw UserError(
          fmt::format("softmax: causal rows expect `width` of at least `rows`, {}, got {}", shape.rows, shape.width));
    }
  }

  StreamingWork work(const Kernel& kernel, const StreamingConstants& constants) const override {
    const SoftmaxShape shape = softmax_shape(kernel);
    const Bytes rows = Bytes(shape.matrices) * shape.rows;
    const Bytes all = rows * shape.width * (bits(shape.type) / 8);                   // whole ones: least_bits
    const auto masked = static_cast<double>(shape.causal ? shape.rows - 1 : 0) / 2;  // elements of a row, on average
    const double seen_share = 1 - masked / static_cast<double>(shape.width);
    const double seen = static_cast<double>(rows.count()) * static_cast<double>(shape.width) * seen_share;
    StreamingWork work;
    work.read = all * seen_share * (shape.backward ? 2 : 1);
    work.written = all;
    work.vector_flops = seen * (shape.backward ? 5 : 6);
    work.exponentials = shape.backward ? 0 : seen;
    work.blocks = rows.count();
    if (shape.framework)
      use_framework(work, shape.width, bits(shape.type) / 8, constants);
    else
      work.bytes_per_cycle_per_sm = constants.softmax;
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
  kernel.flags =
      (shape.causal ? causal_flag : 0) | (shape.backward ? backward_flag : 0) | (shape.framework ? framework_flag : 0);
  return kernel;
}

const KernelFamily& softmax_family() {
  static const Softmax family;
  return family;
}

}  // namespace warploom
