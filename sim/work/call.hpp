// SPDX-License-Identifier: Apache-2.0
// A communication call as data: what moves, how much, between whom; how it is done is the planner's business
// (network/collectives).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/core/units.hpp"
#include "sim/work/data_type.hpp"
#include "sim/work/moe_traffic.hpp"

namespace warploom {

enum class CollectiveKind : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  all_to_all,
  send_recv,
  reduce,   // to member 0
  gather,   // to member 0
  scatter,  // from member 0
  moe_dispatch,
  moe_combine,
};

constexpr std::string_view name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return "all_reduce";
    case CollectiveKind::all_gather:
      return "all_gather";
    case CollectiveKind::reduce_scatter:
      return "reduce_scatter";
    case CollectiveKind::broadcast:
      return "broadcast";
    case CollectiveKind::all_to_all:
      return "all_to_all";
    case CollectiveKind::send_recv:
      return "send_recv";
    case CollectiveKind::reduce:
      return "reduce";
    case CollectiveKind::gather:
      return "gather";
    case CollectiveKind::scatter:
      return "scatter";
    case CollectiveKind::moe_dispatch:
      return "moe_dispatch";
    case CollectiveKind::moe_combine:
      return "moe_combine";
  }
  return "?";
}

using GroupId = std::uint32_t;

struct Call {
  CollectiveKind kind = CollectiveKind::all_reduce;
  // The full buffer of one rank, as nccl-tests counts it: all-reduce its buffer, all-gather what each rank ends with,
  // reduce-scatter what each rank starts with, broadcast, reduce and send_recv the message, all-to-all what a rank
  // sends in all, gather what member 0 ends with, scatter what it starts with.
  Bytes bytes{0};
  DataType type = DataType::bf16;
  GroupId group = 0;  // send_recv: groups of two, member 0 sends to member 1
  // Of moe_dispatch and moe_combine, whose bytes follow from it.
  std::optional<MoeTraffic> moe = {};

  friend bool operator==(const Call&, const Call&) = default;
};

}  // namespace warploom
