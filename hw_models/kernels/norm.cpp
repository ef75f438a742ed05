// SPDX-License-Identifier: Apache-2.0
// What a normalisation costs: one pass over memory, and what its instructions can move.
//
// Equations, x = rows x width elements: forward reads x and writes y; backward reads x and dy and writes dx. RMS: 4
// vector FLOPs an element forward, 10 backward; layer norm 7 and 14. One block a row. Assumes that the second look at a
// row hits the L1 or L2, and neglects weights and their gradients (width elements). Source: fused kernels of Apex and
// vLLM; rates fitted on vLLM's RMS norm.
#include "hw_models/kernels/norm.hpp"

#include "hw_models/kernels/streaming_family.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"

namespace warploom {

namespace {

constexpr std::uint32_t layer_flag = 1;
constexpr std::uint32_t backward_flag = 2;

NormShape shape_of(const Kernel& kernel) {
  return {kernel.size[0], kernel.size[1], (kernel.flags & layer_flag) != 0 ? NormKind::layer : NormKind::rms,
          (kernel.flags & backward_flag) != 0, kernel.input};
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
    };
    return list;
  }

  StreamingWork work(const Kernel& kernel, const StreamingConstants& constants) const override {
    const NormShape shape = shape_of(kernel);
    const Bytes tensor = bytes_of({shape.rows, shape.width}, shape.type);
    const double elements = static_cast<double>(shape.rows) * static_cast<double>(shape.width);
    const bool is_rms = shape.kind == NormKind::rms;
    StreamingWork work;
    work.read = tensor * (shape.backward ? 2 : 1);
    work.written = tensor;
    work.vector_flops = elements * (shape.backward ? (is_rms ? 10 : 14) : (is_rms ? 4 : 7));
    work.bytes_per_cycle_per_sm = constants.norm;
    work.blocks = shape.rows;
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
  kernel.flags = (shape.kind == NormKind::layer ? layer_flag : 0) | (shape.backward ? backward_flag : 0);
  return kernel;
}

const KernelFamily& norm_family() {
  static const Norm family;
  return family;
}

}  // namespace warploom
