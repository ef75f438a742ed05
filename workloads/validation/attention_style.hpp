// SPDX-License-Identifier: Apache-2.0
// The attention kernel of a serving engine, by the name that tables give it, and what its rows are called.
#pragma once

#include <string>
#include <string_view>

namespace warploom {

class CsvRow;
class ValidationContext;
struct FoundDevice;
struct Predicted;

// The file of configs/attention that a kernel of this name runs by; empty where the name says nothing.
std::string attention_style(std::string_view kernel);

// The device with the constants of `kernel`'s implementation (configs/attention); its own where the name says nothing.
// Throws UserError for an implementation that is not modelled.
const FoundDevice& device_with_attention(std::string_view device, std::string_view kernel, ValidationContext& context);

// Device, data type and phase of a row of attention, latent or not. Throws UserError for a phase that there is not.
void label_attention(const CsvRow& row, const FoundDevice& device, Predicted& result);

// Microseconds that an engine's operation takes beside its kernels and gaps, where it is measured as a graph of its own
// (configs/calibration/graph_replay.yaml). The analytic model's constants hold them already: none.
double graph_replay_us(const FoundDevice& device, ValidationContext& context);

}  // namespace warploom
