// SPDX-License-Identifier: Apache-2.0
// What a normalisation costs: one pass over memory, and what its instructions can move.
//
// Equations, x = rows x width elements: forward reads x and writes y; backward reads x and dy and writes dx. RMS: 4
// vector FLOPs an element forward, 10 backward; layer norm 7 and 14. One block a row. Assumes that the second look at a
// row hits the L1 or L2, and neglects weights and their gradients (width elements). A framework's layer norm is 128
// threads a row with loads of four elements, once for the moments and once for the result, so that rows in flight
// beyond the L2 are read twice. Source: fused kernels of Apex and vLLM, rates fitted on vLLM's RMS norm; PyTorch's
// vectorized_layer_norm_kernel, whose block shape the rows of memory_bound_fp32.csv show.
#include "hw_models/kernels/norm.hpp"

#include "hw_models/kernels/streaming_family.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::uint32_t layer_flag = 1;
constexpr std::uint32_t backward_flag = 2;
constexpr std::uint32_t framework_flag = 4;

}  // namespace

NormShape norm_shape(const Kernel& kernel) {
  return {kernel.size[0],
          kernel.size[1],
          (kernel.flags & layer_flag) != 0 ? NormKind::layer : NormKind::rms,
          (kernel.flags & backward_flag) != 0,
          kernel.input,
          (kernel.flags & framework_flag) != 0};
}

namespace {

RowPasses framework_passes(const NormShape& shape, Bytes tensor) {
  constexpr int threads = 128;
  constexpr std::int64_t elements_a_load = 4;
  RowPasses rows;
  rows.threads = threads;
  rows.passes = 2;
  rows.steps = (shape.width + threads * elements_a_load - 1) / (threads * elements_a_load);
  rows.row = bytes_of({shape.width}, shape.type);
  rows.held = rows.row * 2;
  rows.read_again = tensor;
  return rows;
}

class Norm final : public StreamingFamily {
 public:
  std::string_view name() const override { return "norm"; }
  std::string_view meaning() const override { return "RMS or layer normalisation"; }

  std::span<const KernelParameter> parameters() const override {
    static constexpr KernelParameter list[] = {
        {"rows", "tokens"},
        {"width", "elements a token"},
    };
    return list;
  }
  std::span<const KernelFlag> flags() const override {
    static constexpr KernelFlag list[] = {
        {"layer", layer_flag, "layer norm; without: RMS norm"},
        {"backward", backward_flag, "the gradient"},
        {"framework", framework_flag, "PyTorch's own layer norm, not a fused one of a serving or training library"},
    };
    return list;
  }

  void check_together(const Kernel& kernel) const override {
    const NormShape shape = norm_shape(kernel);
    if (shape.framework && (shape.kind != NormKind::layer || shape.backward))
      throw UserError("norm: `framework` goes with `layer` and without `backward`");
  }

  StreamingWork work(const Kernel& kernel, const StreamingConstants& constants) const override {
    const NormShape shape = norm_shape(kernel);
    const Bytes tensor = bytes_of({shape.rows, shape.width}, shape.type);
    const double elements = static_cast<double>(shape.rows) * static_cast<double>(shape.width);
    const bool is_rms = shape.kind == NormKind::rms;
    StreamingWork work;
    work.read = tensor * (shape.backward ? 2 : 1);
    work.written = tensor;
    work.vector_flops = elements * (shape.backward ? (is_rms ? 10 : 14) : (is_rms ? 4 : 7));
    work.blocks = shape.rows;
    if (shape.framework)
      work.rows = framework_passes(shape, tensor);
    else
      work.bytes_per_cycle_per_sm = constants.norm;
    return work;
  }
};

}  // namespace

Kernel norm(const NormShape& shape) {
  Kernel kernel;
  kernel.family = "norm";
  kernel.size = {shape.rows, shape.width};
  kernel.input = shape.type;
  kernel.output = shape.type;
  kernel.flags = (shape.kind == NormKind::layer ? layer_flag : 0) | (shape.backward ? backward_flag : 0) |
                 (shape.framework ? framework_flag : 0);
  return kernel;
}

const KernelFamily& norm_family() {
  static const Norm family;
  return family;
}

}  // namespace warploom
