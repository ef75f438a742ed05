// SPDX-License-Identifier: Apache-2.0
// What the experts' parallelism moves: tokens to the ranks of the experts that they chose (dispatch), and what the
// experts made of them back (combine).
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/core/units.hpp"
#include "sim/work/data_type.hpp"

namespace warploom {

// DeepEP's two families of kernels. Normal: a token once to every rank that holds chosen experts of it, over few SMs,
// by way of the own rail's device on another node. Low latency: a token once to every chosen expert, straight.
enum class MoeMode : std::uint8_t { normal, low_latency };

constexpr std::string_view name(MoeMode mode) { return mode == MoeMode::normal ? "normal" : "low_latency"; }

struct MoeTraffic {
  MoeMode mode = MoeMode::normal;
  std::int64_t tokens = 0;  // of a rank
  std::int64_t hidden = 0;  // elements of a token
  std::int64_t top_k = 1;   // experts that a token goes to
  std::int64_t experts = 1;
  DataType dispatch_type = DataType::fp8;  // of 8 bits and fewer: with a scale of 4 bytes for every 128 elements
  DataType combine_type = DataType::bf16;
  std::int64_t sms = 24;          // that normal kernels take; low-latency ones take what they find
  std::int64_t node_limit = 0;    // a token's experts lie in so many nodes at most (group-limited gating); 0: anywhere
  double imbalance = 1.0;         // assignments of the most loaded rank over the mean
  std::int64_t device_sms = 132;  // of the device
  Bandwidth memory{3.08e12};      // that streaming kernels reach

  friend bool operator==(const MoeTraffic&, const MoeTraffic&) = default;
};

}  // namespace warploom
