// SPDX-License-Identifier: Apache-2.0
// What the non-linearity of an MLP costs: one pass over memory, and its exponentials.
//
// Equations, y = rows x width elements: SwiGLU reads 2 y and writes y; backward reads 3 y and writes 2 y. GELU reads
// and writes y; backward reads 2 y and writes y. One exponential an element; 5 vector FLOPs forward and 10 backward
// (GELU 8 and 14). With a bias, backward reads the gradient it wrote once more, to sum it over the tokens; the bias
// itself (width elements) is neglected. Source: fused kernels of vLLM and Megatron-LM; rates fitted on vLLM's.
#include "hw_models/kernels/activation.hpp"

#include "hw_models/kernels/streaming_family.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"

namespace warploom {

namespace {

constexpr std::uint32_t gelu_flag = 1;
constexpr std::uint32_t backward_flag = 2;
constexpr std::uint32_t bias_flag = 4;

}  // namespace

ActivationShape activation_shape(const Kernel& kernel) {
  return {kernel.size[0],
          kernel.size[1],
          (kernel.flags & gelu_flag) != 0 ? ActivationKind::gelu : ActivationKind::swiglu,
          (kernel.flags & backward_flag) != 0,
          kernel.input,
          (kernel.flags & bias_flag) != 0};
}

namespace {

class Activation final : public StreamingFamily {
 public:
  std::string_view name() const override { return "activation"; }
  std::string_view meaning() const override { return "SwiGLU or GELU"; }

  std::span<const KernelParameter> parameters() const override {
    static constexpr KernelParameter list[] = {
        {"rows", "tokens"},
        {"width", "elements a token of the result"},
    };
    return list;
  }
  std::span<const KernelFlag> flags() const override {
    static constexpr KernelFlag list[] = {
        {"gelu", gelu_flag, "GELU; without: SwiGLU"},
        {"backward", backward_flag, "the gradient"},
        {"bias", bias_flag, "adds a bias before; backward: sums its gradient"},
    };
    return list;
  }

  StreamingWork work(const Kernel& kernel, const StreamingConstants& constants) const override {
    const ActivationShape shape = activation_shape(kernel);
    const Bytes output = bytes_of({shape.rows, shape.width}, shape.type);
    const double elements = static_cast<double>(shape.rows) * static_cast<double>(shape.width);
    const bool is_gelu = shape.kind == ActivationKind::gelu;
    StreamingWork work;
    const int inputs = is_gelu ? 1 : 2;
    work.read = output * (shape.backward ? inputs + 1 : inputs);
    work.written = output * (shape.backward ? inputs : 1);
    if (shape.backward && shape.bias) work.read += work.written;
    work.vector_flops = elements * (shape.backward ? (is_gelu ? 14 : 10) : (is_gelu ? 8 : 5));
    work.exponentials = elements;
    work.bytes_per_cycle_per_sm = is_gelu ? constants.gelu : constants.swiglu;
    return work;
  }
};

}  // namespace

Kernel activation(const ActivationShape& shape) {
  Kernel kernel;
  kernel.family = "activation";
  kernel.size = {shape.rows, shape.width};
  kernel.input = shape.type;
  kernel.output = shape.type;
  kernel.flags = (shape.kind == ActivationKind::gelu ? gelu_flag : 0) | (shape.backward ? backward_flag : 0) |
                 (shape.bias ? bias_flag : 0);
  return kernel;
}

const KernelFamily& activation_family() {
  static const Activation family;
  return family;
}

}  // namespace warploom
