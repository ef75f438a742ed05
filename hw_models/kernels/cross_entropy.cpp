// SPDX-License-Identifier: Apache-2.0
// What the parts of a vocabulary-parallel cross entropy cost: one pass over the logits each.
//
// Equations, x = tokens x vocabulary elements: `maximum` reads x and writes an fp32 value a token; `sum` reads x (one
// exponential and 2 vector FLOPs an element) and writes two values a token; `backward` reads and writes x (one
// exponential, 3 FLOPs). One block a token. Assumes fused kernels: no fp32 copy of the logits is made. Source:
// Megatron-LM's fused vocab_parallel_cross_entropy. No measured rows: the rate is that of 16-byte accesses.
#include "hw_models/kernels/cross_entropy.hpp"

#include "hw_models/kernels/streaming_family.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"

namespace warploom {

CrossEntropyShape cross_entropy_shape(const Kernel& kernel) {
  return {kernel.size[0], kernel.size[1], static_cast<CrossEntropyPart>(kernel.flags), kernel.input};
}

namespace {

class CrossEntropy final : public StreamingFamily {
 public:
  std::string_view name() const override { return "cross_entropy"; }
  std::string_view meaning() const override { return "cross entropy over a vocabulary shard"; }

  std::span<const KernelParameter> parameters() const override {
    static constexpr KernelParameter list[] = {
        {"tokens", "rows of logits"},
        {"vocabulary", "logits a token on this device"},
    };
    return list;
  }
  std::span<const KernelFlag> flags() const override {
    static constexpr KernelFlag list[] = {
        {"sum", 1, "sum of exponentials; without: the maximum"},
        {"backward", 2, "the gradient"},
    };
    return list;
  }

  StreamingWork work(const Kernel& kernel, const StreamingConstants& constants) const override {
    const CrossEntropyShape shape = cross_entropy_shape(kernel);
    const Bytes logits = bytes_of({shape.tokens, shape.vocabulary}, shape.type);
    const Bytes value_a_token = bytes_of({shape.tokens}, DataType::fp32);
    const double elements = static_cast<double>(shape.tokens) * static_cast<double>(shape.vocabulary);
    StreamingWork work;
    work.read = logits;
    work.blocks = shape.tokens;
    work.bytes_per_cycle_per_sm = constants.cross_entropy;
    switch (shape.part) {
      case CrossEntropyPart::maximum:
        work.written = value_a_token;
        work.vector_flops = elements;
        break;
      case CrossEntropyPart::sum:
        work.written = value_a_token * 2;
        work.vector_flops = 2 * elements;
        work.exponentials = elements;
        break;
      case CrossEntropyPart::backward:
        work.written = logits;
        work.vector_flops = 3 * elements;
        work.exponentials = elements;
        break;
    }
    return work;
  }
};

}  // namespace

Kernel cross_entropy(const CrossEntropyShape& shape) {
  Kernel kernel;
  kernel.family = "cross_entropy";
  kernel.size = {shape.tokens, shape.vocabulary};
  kernel.input = shape.type;
  kernel.output = shape.type;
  kernel.flags = static_cast<std::uint32_t>(shape.part);
  return kernel;
}

const KernelFamily& cross_entropy_family() {
  static const CrossEntropy family;
  return family;
}

}  // namespace warploom
