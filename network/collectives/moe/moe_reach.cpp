// SPDX-License-Identifier: Apache-2.0
// Counts of ranks, nodes and bytes.
#include "network/collectives/moe/moe_reach.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::int64_t most_tokens = std::int64_t{1} << 32;
constexpr std::int64_t most_hidden = std::int64_t{1} << 20;
constexpr std::int64_t most_experts = std::int64_t{1} << 20;
constexpr std::int64_t header = 16;            // of a low-latency message: the token's index at its source, reserved
constexpr std::int64_t scaled_elements = 128;  // that share a scale of 4 bytes

// Places of `here` experts each, of `all` experts, that k of them meet.
double places(std::int64_t all, std::int64_t here, std::int64_t k) {
  double miss = 1;
  for (std::int64_t i = 0; i < k; ++i) {
    miss *= static_cast<double>(std::max<std::int64_t>(all - here - i, 0)) / static_cast<double>(all - i);
  }
  return static_cast<double>(all) / static_cast<double>(here) * (1 - miss);
}

void require_range(const char* what, std::int64_t got, std::int64_t least, std::int64_t most) {
  if (got >= least && got <= most) return;
  throw UserError(fmt::format("{}: expected {} to {}, got {}", what, least, most, got));
}

}  // namespace

void require_possible(const MoeTraffic& traffic, std::int64_t ranks, std::int64_t nodes) {
  require_range("tokens of a rank", traffic.tokens, 0, most_tokens);
  require_range("hidden size", traffic.hidden, 1, most_hidden);
  require_range("experts", traffic.experts, 1, most_experts);
  require_range("experts of a token (top-k)", traffic.top_k, 1, traffic.experts);
  require_range("SMs of the device", traffic.device_sms, 1, 100'000);
  if (traffic.experts % ranks != 0) {
    throw UserError(fmt::format("{} experts cannot lie evenly on {} ranks", traffic.experts, ranks),
                    "take a number of experts that the ranks divide");
  }
  if (traffic.mode == MoeMode::normal && (traffic.sms < 2 || traffic.sms % 2 != 0)) {
    throw UserError(fmt::format("SMs of normal kernels: expected an even number, got {}", traffic.sms),
                    "a channel takes two, one sends and one receives");
  }
  if (traffic.mode == MoeMode::normal && traffic.sms > traffic.device_sms) {
    throw UserError(fmt::format("{} SMs for the kernels, but the device has {}", traffic.sms, traffic.device_sms));
  }
  if (!std::isfinite(traffic.imbalance) || traffic.imbalance < 1 || traffic.imbalance > static_cast<double>(ranks)) {
    throw UserError(fmt::format("imbalance: expected 1 to the number of ranks, {}, got {}", ranks, traffic.imbalance),
                    "it is the load of the most loaded rank over the mean");
  }
  if (traffic.memory <= Bandwidth(0)) throw UserError("the memory's bandwidth has to be positive");
  if (traffic.node_limit == 0) return;
  require_range("nodes of a token", traffic.node_limit, 1, nodes);
  if (traffic.top_k > traffic.experts / nodes * traffic.node_limit) {
    throw UserError(fmt::format("{} nodes have {} experts, too few for the {} of a token", traffic.node_limit,
                                traffic.experts / nodes * traffic.node_limit, traffic.top_k));
  }
}

MoeReach moe_reach(const MoeTraffic& traffic, std::int64_t ranks, std::int64_t nodes) {
  require_possible(traffic, ranks, nodes);
  const bool is_limited = traffic.node_limit > 0 && traffic.node_limit < nodes;
  const std::int64_t of_node = traffic.experts / nodes;
  const std::int64_t all = is_limited ? of_node * traffic.node_limit : traffic.experts;
  return {places(all, traffic.experts / ranks, traffic.top_k), places(all, of_node, traffic.top_k)};
}

Bytes moe_message(const MoeTraffic& traffic, CollectiveKind kind) {
  const bool is_dispatch = kind == CollectiveKind::moe_dispatch;
  const DataType type = is_dispatch ? traffic.dispatch_type : traffic.combine_type;
  Bytes bytes((traffic.hidden * bits(type) + 7) / 8);
  if (!is_dispatch) return bytes;
  if (bits(type) <= 8) bytes = bytes + Bytes((traffic.hidden + scaled_elements - 1) / scaled_elements * 4);
  return traffic.mode == MoeMode::low_latency ? bytes + Bytes(header) : bytes;
}

Bytes moe_bytes(const MoeTraffic& traffic, CollectiveKind kind, std::int64_t ranks, std::int64_t nodes) {
  const MoeReach reach = moe_reach(traffic, ranks, nodes);
  const double copies = traffic.mode == MoeMode::normal ? reach.ranks : static_cast<double>(traffic.top_k);
  return moe_message(traffic, kind) * traffic.tokens * copies;
}

double rank_imbalance(std::span<const std::int64_t> loads, std::int64_t ranks) {
  const auto experts = static_cast<std::int64_t>(loads.size());
  if (ranks < 1 || experts % ranks != 0 || experts == 0) {
    throw UserError(fmt::format("loads of {} experts cannot lie evenly on {} ranks", experts, ranks));
  }
  double sum = 0;
  double most = 0;
  const std::size_t of_rank = static_cast<std::size_t>(experts / ranks);
  for (std::size_t first = 0; first < loads.size(); first += of_rank) {
    double load = 0;
    for (const std::int64_t tokens : loads.subspan(first, of_rank)) {
      if (tokens < 0) throw UserError("an expert with a negative number of tokens");
      load += static_cast<double>(tokens);
    }
    sum += load;
    most = std::max(most, load);
  }
  return sum > 0 ? most * static_cast<double>(ranks) / sum : 1.0;
}

}  // namespace warploom
