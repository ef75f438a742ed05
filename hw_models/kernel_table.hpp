// SPDX-License-Identifier: Apache-2.0
// A user's measured kernels: looked up, and interpolated between.
//
// A CSV table with a column `family`, columns named as the families' parameters and flags (`m`, `kv_heads`, `causal`),
// optionally `dtype`, `weight_dtype` and `output_dtype`, and `latency_us`: from one kernel's start to the next one's in
// a train of its like, so the gap between kernels is in it. A cell that a family has no use for stays empty; a type
// column that is missing matches every type. Rows of the same kernel count with their geometric mean.
// Interpolation: for each parameter the nearest values below and above that the family's rows have; the logarithm of
// the time is linear in the logarithm of each parameter between the rows at all corners. Where a corner is missing, or
// the kernel lies outside, the table knows nothing (it does not extrapolate).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/work/kernel.hpp"

namespace warploom {

class KernelTable {
 public:
  // Throws UserError: a column that no family has, an unknown family, a size that is missing, a time that is no time.
  static KernelTable load(const std::string& path);

  std::optional<Time> time(const Kernel& kernel) const;
  std::size_t size() const { return rows_; }

 private:
  using Sizes = decltype(Kernel::size);
  static constexpr std::size_t dimensions = std::tuple_size_v<Sizes>;
  struct SizesHash {
    std::size_t operator()(const Sizes& sizes) const noexcept;
  };
  struct Mean {
    double sum = 0;  // of logarithms of seconds
    double count = 0;
  };
  // The kernels that differ in their sizes alone.
  struct Slice {
    std::unordered_map<Sizes, Mean, SizesHash> rows;
    std::array<std::vector<std::int64_t>, dimensions> values;  // of each size, ascending
  };

  // What tells slices apart: family, flags, types as far as the table has them.
  std::string slice_key(const Kernel& kernel) const;

  bool has_type_ = false;
  bool has_weight_type_ = false;
  bool has_output_type_ = false;
  std::size_t rows_ = 0;
  std::map<std::string, Slice> slices_;
};

}  // namespace warploom
