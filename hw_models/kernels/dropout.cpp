// SPDX-License-Identifier: Apache-2.0
// What dropout costs: its operands, a mask of one byte an element, and its random numbers.
//
// Equations, x elements of e bytes: forward reads x (with `adds` the residual too) and writes y and the mask, e + 1
// bytes; backward reads dy and the mask and writes dx (the residual's gradient is dy itself); with `bias` it reads dx
// once more to sum it over the tokens. Philox-4x32-10 makes four random numbers in ten rounds of two wide products
// and four exclusive-ors: about 25 integer operations an element, as much time as 25 multiply-adds. Source:
// torch.nn.functional.dropout and Megatron-LM's bias_dropout_add; arXiv:2205.05198 counts the same mask byte. No
// measured rows: 16-byte accesses.
#include "hw_models/kernels/dropout.hpp"

#include "hw_models/kernels/streaming_family.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"

namespace warploom {

namespace {

constexpr std::uint32_t add_flag = 1;
constexpr std::uint32_t bias_flag = 2;
constexpr std::uint32_t backward_flag = 4;

}  // namespace

DropoutShape dropout_shape(const Kernel& kernel) {
  return {kernel.size[0], (kernel.flags & add_flag) != 0, (kernel.flags & bias_flag) != 0,
          (kernel.flags & backward_flag) != 0, kernel.input};
}

namespace {

class Dropout final : public StreamingFamily {
 public:
  std::string_view name() const override { return "dropout"; }
  std::string_view meaning() const override { return "dropout with a mask, alone or with bias and residual addition"; }

  std::span<const KernelParameter> parameters() const override {
    static constexpr KernelParameter list[] = {{"elements", "values"}};
    return list;
  }
  std::span<const KernelFlag> flags() const override {
    static constexpr KernelFlag list[] = {
        {"add", add_flag, "adds a residual"},
        {"bias", bias_flag, "adds a bias before; backward: sums its gradient"},
        {"backward", backward_flag, "the gradient"},
    };
    return list;
  }

  StreamingWork work(const Kernel& kernel, const StreamingConstants& constants) const override {
    const DropoutShape shape = dropout_shape(kernel);
    const Bytes tensor = bytes_of({shape.elements}, shape.type);
    const Bytes mask = Bytes(shape.elements);
    const auto elements = static_cast<double>(shape.elements);
    constexpr double random_number = 2 * 25;
    StreamingWork work;
    if (shape.backward) {
      work.read = tensor * (shape.bias ? 2 : 1) + mask;
      work.written = tensor;
      work.vector_flops = elements * (shape.bias ? 3 : 2);
    } else {
      work.read = tensor * (shape.adds ? 2 : 1);
      work.written = tensor + mask;
      work.vector_flops = elements * (2 + random_number);
    }
    work.bytes_per_cycle_per_sm = constants.element_wise;
    return work;
  }
};

}  // namespace

Kernel dropout(const DropoutShape& shape) {
  Kernel kernel;
  kernel.family = "dropout";
  kernel.size = {shape.elements};
  kernel.input = shape.type;
  kernel.output = shape.type;
  kernel.flags = (shape.adds ? add_flag : 0) | (shape.bias ? bias_flag : 0) | (shape.backward ? backward_flag : 0);
  return kernel;
}

const KernelFamily& dropout_family() {
  static const Dropout family;
  return family;
}

}  // namespace warploom
