// SPDX-License-Identifier: Apache-2.0
// What a conversion between data types costs: the bytes it reads and writes.
//
// Equation: elements x (bytes of one type + bytes of the other). Assumes contiguous 16-byte accesses, no scales.
// Source: as element_wise.
#include "hw_models/kernels/cast.hpp"

#include "hw_models/kernels/streaming_family.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"

namespace warploom {

CastShape cast_shape(const Kernel& kernel) { return {kernel.size[0], kernel.input, kernel.output}; }

namespace {

class Cast final : public StreamingFamily {
 public:
  std::string_view name() const override { return "cast"; }
  std::string_view meaning() const override { return "conversion between data types"; }

  std::span<const KernelParameter> parameters() const override {
    static constexpr KernelParameter list[] = {
        {"elements", "values to convert"},
    };
    return list;
  }

  int least_bits() const override { return 4; }

  StreamingWork work(const Kernel& kernel, const StreamingConstants& constants) const override {
    const CastShape shape = cast_shape(kernel);
    StreamingWork work;
    work.read = bytes_of({shape.elements}, shape.from);
    work.written = bytes_of({shape.elements}, shape.to);
    work.vector_flops = static_cast<double>(shape.elements);
    work.bytes_per_cycle_per_sm = constants.element_wise;
    return work;
  }
};

}  // namespace

Kernel cast(const CastShape& shape) {
  Kernel kernel;
  kernel.family = "cast";
  kernel.size = {shape.elements};
  kernel.input = shape.from;
  kernel.output = shape.to;
  return kernel;
}

const KernelFamily& cast_family() {
  static const Cast family;
  return family;
}

}  // namespace warploom
