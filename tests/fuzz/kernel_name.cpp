// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any kernel name, with the grid behind its first line's end, is either understood within the bounds, or a
// UserError; never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "hw_models/kernels/gemm_kernel_name.hpp"
#include "sim/core/errors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warploom;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\n');
  try {
    const GemmKernelName name = parse_gemm_kernel_name(text.substr(0, end));
    if (name.tile_a < 1 || name.tile_b < 1 || name.stages < 0 || name.cluster < 0 || name.tile_k < 0) std::abort();
    std::optional<Grid> grid;
    if (end != std::string_view::npos) grid = parse_grid(text.substr(end + 1));
    const GemmShape shape = with_kernel_name({.m = 1000, .n = 3000, .k = 5000}, name, grid);
    if (shape.tile_m < 1 || shape.tile_n < 1 || shape.split_k < 0) std::abort();
  } catch (const UserError& error) {
    if (error.message().empty()) std::abort();
  }
  return 0;
}
