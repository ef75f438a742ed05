// SPDX-License-Identifier: Apache-2.0
// Anything that reads, computes and writes element by element: bias, residual, dropout, copies, the square sum of a
// norm.
#pragma once

#include <cstdint>

#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily;

struct ElementWiseShape {
  std::int64_t elements = 0;
  std::int64_t bytes_read = 4;     // an element, over all inputs
  std::int64_t bytes_written = 2;  // an element
  std::int64_t flops = 1;          // an element
};

Kernel element_wise(const ElementWiseShape& shape);
ElementWiseShape element_wise_shape(const Kernel& kernel);
const KernelFamily& element_wise_family();

}  // namespace warploom
