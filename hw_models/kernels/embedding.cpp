// SPDX-License-Identifier: Apache-2.0
// What an embedding look-up costs, and adding gradients into its table.
//
// Equations, x = tokens x width elements: forward reads x of the table and an 8-byte id a token and writes x. Backward
// reads the gradient x and the ids, and reads and writes x of the table's gradient (atomic additions). One block a
// token. Assumes that every token touches its row in memory (no two in the L2 at once); neglects sorting ids before the
// additions. Source: rates fitted on vLLM's look-up.
#include "hw_models/kernels/embedding.hpp"

#include "hw_models/kernels/streaming_family.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"

namespace warploom {

namespace {

constexpr std::uint32_t backward_flag = 1;

}  // namespace

EmbeddingShape embedding_shape(const Kernel& kernel) {
  return {kernel.size[0], kernel.size[1], kernel.size[2], (kernel.flags & backward_flag) != 0,
          kernel.input,   kernel.output};
}

namespace {

class Embedding final : public StreamingFamily {
 public:
  std::string_view name() const override { return "embedding"; }
  std::string_view meaning() const override { return "embedding look-up, or its gradient"; }

  std::span<const KernelParameter> parameters() const override {
    static constexpr KernelParameter list[] = {
        {"tokens", "ids to look up"},
        {"vocabulary", "rows of the table"},
        {"width", "elements a row"},
    };
    return list;
  }
  std::span<const KernelFlag> flags() const override {
    static constexpr KernelFlag list[] = {
        {"backward", backward_flag, "adds gradients into the table"},
    };
    return list;
  }

  StreamingWork work(const Kernel& kernel, const StreamingConstants& constants) const override {
    const EmbeddingShape shape = embedding_shape(kernel);
    const Bytes rows = bytes_of({shape.tokens, shape.width}, shape.type);
    const Bytes ids = Bytes(shape.tokens) * 8;
    const Bytes gradients = shape.backward ? bytes_of({shape.tokens, shape.width}, shape.gradient) : Bytes{0};
    StreamingWork work;
    work.read = rows + ids + gradients;
    work.written = shape.backward ? gradients : rows;
    work.vector_flops = shape.backward ? static_cast<double>(shape.tokens) * static_cast<double>(shape.width) : 0;
    work.bytes_per_cycle_per_sm = constants.embedding;
    work.blocks = shape.tokens;
    return work;
  }
};

}  // namespace

Kernel embedding(const EmbeddingShape& shape) {
  Kernel kernel;
  kernel.family = "embedding";
  kernel.size = {shape.tokens, shape.vocabulary, shape.width};
  kernel.input = shape.type;
  kernel.output = shape.gradient;
  kernel.flags = shape.backward ? backward_flag : 0;
  return kernel;
}

const KernelFamily& embedding_family() {
  static const Embedding family;
  return family;
}

}  // namespace warploom
