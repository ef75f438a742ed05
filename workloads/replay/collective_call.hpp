// SPDX-License-Identifier: Apache-2.0
// A captured collective as a call: what is done, how many bytes, among which ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/work/call.hpp"
#include "sim/work/group.hpp"
#include "traces/capture.hpp"

namespace warploom {

struct CapturedCall {
  CollectiveKind kind = CollectiveKind::all_reduce;
  DataType type = DataType::bf16;
  std::optional<Bytes> bytes;       // as `Call::bytes` counts them; nothing: not recorded
  std::vector<std::int64_t> ranks;  // empty: not recorded
  std::int64_t size = 0;            // of the group; 0: not recorded
};

// Nothing where the operation is no collective that can be planned.
std::optional<CapturedCall> captured_call(const Capture& capture, const DeviceOp& op);

// Ranks in arithmetic progression as a group; its instances all of equal shape that fill `devices`, where they do so
// evenly, else this one alone. Nothing for other sets of ranks.
std::optional<Group> group_of_ranks(const std::vector<std::int64_t>& ranks, std::int64_t devices, bool fill);

}  // namespace warploom
