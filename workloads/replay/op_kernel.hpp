// SPDX-License-Identifier: Apache-2.0
// The kernel of a framework's operator from its name and the shapes of its inputs, and, where there are no shapes, one
// of its class that takes as long.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "sim/core/units.hpp"
#include "sim/work/kernel.hpp"
#include "traces/capture.hpp"

namespace warploom {

struct OperatorTexts {
  std::string_view name;    // "aten::addmm", "MatMulV2"
  std::string_view shapes;  // of its inputs
  std::string_view types;
  std::string_view values;  // "Concrete Inputs"
};

// GEMMs (mm, addmm, bmm, baddbmm, linear, MatMul*), convolutions as implicit GEMMs where the stride is known, attention
// forward and backward, softmax, norms, and whatever else moves tensors element by element. Nothing where the shapes
// are missing, or make no sense for the name.
std::optional<Kernel> kernel_of_operator(const OperatorTexts& texts, OpClass op_class);

// A kernel of the class that takes `duration` by `time_of`, found by its size: a square GEMM, causal attention of 32
// heads of 128, a stream of elements. `type` of its operands. Nothing where the least is longer.
std::optional<Kernel> kernel_of_duration(OpClass op_class, DataType type, Time duration,
                                         const std::function<Time(const Kernel&)>& time_of);

// By a kernel's name ("ampere_fp16_s16816gemm", "volta_sgemm", "nvjet_tst..."): what it multiplies; `fallback` where
// the name does not say.
DataType type_in_name(std::string_view kernel, DataType fallback);

}  // namespace warploom
