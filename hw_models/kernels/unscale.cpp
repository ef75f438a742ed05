// SPDX-License-Identifier: Apache-2.0
// What unscaling gradients costs: one pass that reads, multiplies, tests and writes each.
//
// Equation: elements x (input + output bytes), 2 vector FLOPs. Source: Apex's multi_tensor_scale and PyTorch's
// amp_foreach_non_finite_check_and_unscale, which take all tensors in few launches. No measured rows: 16-byte accesses.
#include "hw_models/kernels/unscale.hpp"

#include "hw_models/kernels/streaming_family.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"

namespace warploom {

namespace {

class Unscale final : public StreamingFamily {
 public:
  std::string_view name() const override { return "unscale"; }
  std::string_view meaning() const override { return "gradients times 1 / loss scale, with the overflow check"; }

  std::span<const KernelParameter> parameters() const override {
    static constexpr KernelParameter list[] = {{"elements", "gradients, over all tensors"}};
    return list;
  }

  StreamingWork work(const Kernel& kernel, const StreamingConstants& constants) const override {
    StreamingWork work;
    work.read = bytes_of({kernel.size[0]}, kernel.input);
    work.written = bytes_of({kernel.size[0]}, kernel.output);
    work.vector_flops = 2 * static_cast<double>(kernel.size[0]);
    work.bytes_per_cycle_per_sm = constants.element_wise;
    return work;
  }
};

}  // namespace

UnscaleShape unscale_shape(const Kernel& kernel) { return {kernel.size[0], kernel.input, kernel.output}; }

Kernel unscale(const UnscaleShape& shape) {
  Kernel kernel;
  kernel.family = "unscale";
  kernel.size = {shape.elements};
  kernel.input = shape.input;
  kernel.output = shape.output;
  return kernel;
}

const KernelFamily& unscale_family() {
  static const Unscale family;
  return family;
}

}  // namespace warploom
