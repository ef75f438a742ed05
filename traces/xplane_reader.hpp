// SPDX-License-Identifier: Apache-2.0
// Reads XSpace files (`.xplane.pb`) of JAX, XLA and TensorFlow.
#pragma once

#include <memory>

#include "traces/readers.hpp"

namespace warploom {

std::unique_ptr<const TraceReader> make_xplane_reader();

}  // namespace warploom
