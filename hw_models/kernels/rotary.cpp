// SPDX-License-Identifier: Apache-2.0
// What a rotary embedding costs: queries and keys rotated in place.
//
// Equation: reads and writes tokens x heads x head_dim elements; 3 vector FLOPs an element (4 products and 2 sums a
// pair). A block waits three times for memory: for its token's place, for the angles there, for the values. Neglects
// the traffic of the table of sines and cosines, which all heads share. Source: rates fitted on vLLM's kernel.
#include "hw_models/kernels/rotary.hpp"

#include "hw_models/kernels/streaming_family.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"

namespace warploom {

RotaryShape rotary_shape(const Kernel& kernel) {
  return {kernel.size[0], kernel.size[1], kernel.size[2], kernel.input};
}

namespace {

class Rotary final : public StreamingFamily {
 public:
  std::string_view name() const override { return "rotary"; }
  std::string_view meaning() const override { return "rotary position embedding"; }

  std::span<const KernelParameter> parameters() const override {
    static constexpr KernelParameter list[] = {
        {"tokens", "positions"},
        {"heads", "query and key heads"},
        {"head_dim", "elements a head", 128},
    };
    return list;
  }

  StreamingWork work(const Kernel& kernel, const StreamingConstants& constants) const override {
    const RotaryShape shape = rotary_shape(kernel);
    StreamingWork work;
    work.read = bytes_of({shape.tokens, shape.heads, shape.head_dim}, shape.type);
    work.written = work.read;
    work.vector_flops = 3.0 * static_cast<double>(shape.tokens) * static_cast<double>(shape.heads) *
                        static_cast<double>(shape.head_dim);
    work.bytes_per_cycle_per_sm = constants.rotary;
    work.loads_in_a_row = 3;  // the token's place, its angles, and their values
    work.blocks = shape.tokens;
    return work;
  }
};

}  // namespace

Kernel rotary(const RotaryShape& shape) {
  Kernel kernel;
  kernel.family = "rotary";
  kernel.size = {shape.tokens, shape.heads, shape.head_dim};
  kernel.input = shape.type;
  kernel.output = shape.type;
  return kernel;
}

const KernelFamily& rotary_family() {
  static const Rotary family;
  return family;
}

}  // namespace warploom
