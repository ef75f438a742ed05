// SPDX-License-Identifier: Apache-2.0
// How flows choose among the ways of a network.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "sim/core/config.hpp"

namespace warploom {

enum class RoutingPolicy : std::uint8_t { spray, ecmp, static_tables, adaptive, all_paths };

template <>
struct EnumNames<RoutingPolicy> {
  static constexpr std::pair<RoutingPolicy, std::string_view> values[] = {{RoutingPolicy::spray, "spray"},
                                                                          {RoutingPolicy::ecmp, "ecmp"},
                                                                          {RoutingPolicy::static_tables, "static"},
                                                                          {RoutingPolicy::adaptive, "adaptive"},
                                                                          {RoutingPolicy::all_paths, "all_paths"}};
};

struct RoutingSpec {
  RoutingPolicy policy = RoutingPolicy::spray;
  std::uint64_t seed = 1;
  int queue_pairs = 1;
  friend bool operator==(const RoutingSpec&, const RoutingSpec&) = default;
  static auto fields() {
    return field_list(
        field("policy", &RoutingSpec::policy,
              "spray: evenly over the shortest ways; ecmp: a way a queue pair, by hash; static: a way a destination "
              "(InfiniBand tables); adaptive: a flow where least goes; all_paths: also ways of one hop more")
            .optional(),
        field("seed", &RoutingSpec::seed, "of the hash").optional(),
        field("queue_pairs", &RoutingSpec::queue_pairs, "ecmp: into which a flow is split").optional().in(1, 1024));
  }
};

}  // namespace warploom
