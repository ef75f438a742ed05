// SPDX-License-Identifier: Apache-2.0
// The closed list of what a picosecond of a device can be spent on (contract of the report; docs/decisions/0001).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace warploom {

enum class Cause : std::uint8_t {
  gemm,
  attention,
  other_compute,
  recompute,
  optimizer,
  interference,  // time beyond the kernels' time alone
  exposed_tp,
  exposed_cp,
  exposed_ep,
  exposed_pp,
  exposed_dp,
  exposed_other,
  bubble,  // waiting for a pipeline peer that has not sent yet
  skew,    // waiting in a collective for its last member
  host,    // waiting for the host to launch
  data,
  copy,
  checkpoint,
  idle,
};

inline constexpr std::array<std::string_view, 19> cause_names = {
    "gemm",       "attention",  "other_compute", "recompute",  "optimizer",     "interference", "exposed_tp",
    "exposed_cp", "exposed_ep", "exposed_pp",    "exposed_dp", "exposed_other", "bubble",       "skew",
    "host",       "data",       "copy",          "checkpoint", "idle",
};
inline constexpr std::size_t cause_count = cause_names.size();

constexpr std::string_view name(Cause cause) { return cause_names[static_cast<std::size_t>(cause)]; }
constexpr bool is_exposed_communication(Cause cause) {
  return cause >= Cause::exposed_tp && cause <= Cause::exposed_other;
}

}  // namespace warploom
