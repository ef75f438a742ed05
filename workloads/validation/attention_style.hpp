// SPDX-License-Identifier: Apache-2.0
// The attention kernel of a serving engine, by the name that tables give it.
#pragma once

#include <string>
#include <string_view>

namespace warploom {

class ValidationContext;
struct FoundDevice;

// The device with the constants of `kernel`'s implementation (configs/attention); its own where the name says nothing.
// Throws UserError for an implementation that is not modelled.
const FoundDevice& device_with_attention(std::string_view device, std::string_view kernel, ValidationContext& context);

}  // namespace warploom
