// SPDX-License-Identifier: Apache-2.0
// What an Adam update of a shard costs: every byte of gradient and state once in, state and parameters once out.
//
// Equation, a parameter: reads gradient, both moments and the fp32 master (or, without one, the parameter); writes both
// moments, the master and the parameter of the model. 12 vector FLOPs, one square root and one reciprocal. With fp32
// gradient, moments and master and a bf16 parameter: 16 + 14 = 30 bytes. Source: Apex FusedAdam, Transformer Engine. No
// measured rows: the rate is that of 16-byte accesses.
#include "hw_models/kernels/optimizer_update.hpp"

#include "hw_models/kernels/streaming_family.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"

namespace warploom {

namespace {

constexpr std::uint32_t master_flag = 1;

}  // namespace

OptimizerUpdateShape optimizer_update_shape(const Kernel& kernel) {
  return {kernel.size[0], kernel.input, kernel.output, kernel.weight, (kernel.flags & master_flag) != 0};
}

namespace {

class OptimizerUpdate final : public StreamingFamily {
 public:
  std::string_view name() const override { return "optimizer_update"; }
  std::string_view meaning() const override { return "Adam on a shard of the parameters"; }

  std::span<const KernelParameter> parameters() const override {
    static constexpr KernelParameter list[] = {
        {"parameters", "of the shard"},
    };
    return list;
  }
  std::span<const KernelFlag> flags() const override {
    static constexpr KernelFlag list[] = {
        {"master", master_flag, "keeps an fp32 copy of the parameters"},
    };
    return list;
  }

  StreamingWork work(const Kernel& kernel, const StreamingConstants& constants) const override {
    const OptimizerUpdateShape shape = optimizer_update_shape(kernel);
    const auto bytes = [&](DataType type) { return bytes_of({shape.parameters}, type); };
    StreamingWork work;
    work.read =
        bytes(shape.gradient) + bytes(shape.state) * 2 + bytes(shape.has_master ? DataType::fp32 : shape.parameter);
    work.written =
        bytes(shape.state) * 2 + bytes(shape.parameter) + (shape.has_master ? bytes(DataType::fp32) : Bytes{0});
    work.vector_flops = 12.0 * static_cast<double>(shape.parameters);
    work.exponentials = 2.0 * static_cast<double>(shape.parameters);  // square root, reciprocal
    work.bytes_per_cycle_per_sm = constants.optimizer_update;
    return work;
  }
};

}  // namespace

Kernel optimizer_update(const OptimizerUpdateShape& shape) {
  Kernel kernel;
  kernel.family = "optimizer_update";
  kernel.size = {shape.parameters};
  kernel.weight = shape.state;
  kernel.input = shape.gradient;
  kernel.output = shape.parameter;
  kernel.flags = shape.has_master ? master_flag : 0;
  return kernel;
}

const KernelFamily& optimizer_update_family() {
  static const OptimizerUpdate family;
  return family;
}

}  // namespace warploom
