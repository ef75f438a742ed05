// SPDX-License-Identifier: Apache-2.0
// What an element-wise kernel costs: the bytes it reads and writes.
//
// Equation: elements x (bytes read + bytes written), elements x FLOPs on the vector lanes. Assumes contiguous 16-byte
// accesses. Source: rate fitted on vLLM's residual addition.
#include "hw_models/kernels/element_wise.hpp"

#include "hw_models/kernels/streaming_family.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"

namespace warploom {

ElementWiseShape element_wise_shape(const Kernel& kernel) {
  return {kernel.size[0], kernel.size[1], kernel.size[2], kernel.size[3]};
}

namespace {

class ElementWise final : public StreamingFamily {
 public:
  std::string_view name() const override { return "element_wise"; }
  std::string_view meaning() const override { return "reads, computes and writes element by element"; }

  std::span<const KernelParameter> parameters() const override {
    static constexpr KernelParameter list[] = {
        {"elements", "values"},
        {"bytes_read", "an element, over all inputs", 4, 0},
        {"bytes_written", "an element", 2, 0},
        {"flops", "an element", 1, 0},
    };
    return list;
  }

  int least_bits() const override { return 4; }  // bytes are named

  StreamingWork work(const Kernel& kernel, const StreamingConstants& constants) const override {
    const ElementWiseShape shape = element_wise_shape(kernel);
    StreamingWork work;
    work.read = Bytes(shape.elements) * shape.bytes_read;
    work.written = Bytes(shape.elements) * shape.bytes_written;
    work.vector_flops = static_cast<double>(shape.elements) * static_cast<double>(shape.flops);
    work.bytes_per_cycle_per_sm = constants.element_wise;
    return work;
  }
};

}  // namespace

Kernel element_wise(const ElementWiseShape& shape) {
  Kernel kernel;
  kernel.family = "element_wise";
  kernel.size = {shape.elements, shape.bytes_read, shape.bytes_written, shape.flops};
  return kernel;
}

const KernelFamily& element_wise_family() {
  static const ElementWise family;
  return family;
}

}  // namespace warploom
