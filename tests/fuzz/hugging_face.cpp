// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either a model, whose parameters can be counted, or a UserError; never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/core/errors.hpp"
#include "workloads/models/hugging_face.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warploom;
  try {
    const Model model = parse_hugging_face({reinterpret_cast<const char*>(data), size}, "config.json");
    if (model.layers <= 0 || model.parameters() <= 0) std::abort();
  } catch (const UserError& error) {
    if (std::string_view(error.what()).empty()) std::abort();
  }
  return 0;
}
