// SPDX-License-Identifier: Apache-2.0
// PyTorch Kineto traces, and other Chrome traces with the same categories.
#pragma once

#include <memory>

#include "traces/readers.hpp"

namespace warploom {

std::unique_ptr<const TraceReader> make_kineto_reader();

}  // namespace warploom
