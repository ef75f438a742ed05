// SPDX-License-Identifier: Apache-2.0
// The choice of the plan, and the ways of tokens one by one.
#include "network/collectives/moe/moe.hpp"

#include <set>

#include "network/collectives/moe/moe_low_latency.hpp"
#include "network/collectives/moe/moe_normal.hpp"
#include "network/collectives/moe/moe_reach.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

Plan plan_moe(const Setting& setting) {
  WARPLOOM_CHECK(is_moe(setting.call.kind) && setting.call.moe.has_value());
  if (!setting.library.moe) {
    throw UserError("the collective library has no MoE kernels", "give it some: `moe: {use: libraries/deepep}`");
  }
  if (!setting.library.moe->enabled) {
    throw UserError("the MoE kernels do not run here", "they need devices that store into each other over NVLink");
  }
  if (setting.ranks() != setting.profile.nodes * setting.profile.least_in_node) {
    throw UserError("MoE kernels over nodes with unequal numbers of ranks",
                    "over several nodes they take all devices of each");
  }
  require_possible(*setting.call.moe, setting.ranks(), setting.profile.nodes);
  const bool is_normal = setting.call.moe->mode == MoeMode::normal;
  Plan plan = is_normal ? plan_moe_normal(setting) : plan_moe_low_latency(setting);
  plan.algorithm = name(setting.call.moe->mode);
  plan.protocol = setting.profile.in_node() ? "nvlink" : is_normal ? "rails" : "rdma";
  // The bundles stand for the most loaded rank.
  plan.members_alike = setting.profile.alike && setting.call.moe->imbalance <= 1;
  return plan;
}

namespace {

class Ways {
 public:
  explicit Ways(const MoePlaces& places) : places_(places) {}

  void straight(std::int64_t index, const MoeToken& token) {
    for (const std::int64_t expert : token.experts) {
      send({0, token.rank, places_.rank_of(expert), index, expert});
    }
  }

  // Once to the device on the own rail of every node, from there once to every rank of it.
  void by_rail(std::int64_t index, const MoeToken& token) {
    std::set<std::int64_t> targets;
    for (const std::int64_t expert : token.experts) targets.insert(places_.rank_of(expert));
    std::set<std::int64_t> relays;
    for (const std::int64_t rank : targets) {
      const std::int64_t relay = rank / places_.node_size * places_.node_size + token.rank % places_.node_size;
      if (relays.insert(relay).second) send({0, token.rank, relay, index});
      send({1, relay, rank, index});
    }
  }

  std::vector<MoeTransfer> take() { return std::move(transfers_); }

 private:
  void send(const MoeTransfer& transfer) {
    if (transfer.from != transfer.to) transfers_.push_back(transfer);
  }

  const MoePlaces& places_;
  std::vector<MoeTransfer> transfers_;
};

}  // namespace

std::vector<MoeTransfer> moe_transfers(MoeMode mode, const MoePlaces& places, std::span<const MoeToken> tokens) {
  Ways ways(places);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    mode == MoeMode::normal ? ways.by_rail(index, tokens[i]) : ways.straight(index, tokens[i]);
  }
  return ways.take();
}

}  // namespace warploom
