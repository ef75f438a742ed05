// SPDX-License-Identifier: Apache-2.0
// A kernel as data: which family it is of and how large it is; what it costs is the families' business
// (hw_models/kernels).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/work/data_type.hpp"

namespace warploom {

struct Kernel {
  // A string literal (static storage): "gemm", "attention", ...; hw_models/kernels.cpp lists all.
  std::string_view family;
  // Meaning by family (GEMM: batch, m, n, k); unused places are 0. The makers in hw_models/kernels/x.hpp fill them by
  // name.
  std::array<std::int64_t, 10> size{};
  DataType input = DataType::bf16;
  DataType weight = DataType::bf16;  // of the second operand: weights, keys and values; families without one ignore it
  DataType output = DataType::bf16;
  // Meaning by family: causal, backward, accumulate, ...
  std::uint32_t flags = 0;

  friend bool operator==(const Kernel&, const Kernel&) = default;
};

struct KernelHash {
  std::size_t operator()(const Kernel& kernel) const noexcept {
    std::size_t hash = std::hash<std::string_view>{}(kernel.family);
    const auto mix = [&hash](std::uint64_t value) {
      hash = (hash ^ (value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2))) * 0xff51afd7ed558ccdULL;
    };
    for (const auto size : kernel.size) mix(static_cast<std::uint64_t>(size));
    mix(static_cast<std::uint64_t>(kernel.input) << 48 | static_cast<std::uint64_t>(kernel.weight) << 40 |
        static_cast<std::uint64_t>(kernel.output) << 32 | kernel.flags);
    return hash;
  }
};

}  // namespace warploom
