// SPDX-License-Identifier: Apache-2.0
// The list of collective algorithms: one file and one line each; and the choice among them.
#include "network/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "network/collectives/direct_all_to_all.hpp"
#include "network/collectives/hierarchical_all_reduce.hpp"
#include "network/collectives/moe/moe.hpp"
#include "network/collectives/nccl_tuner.hpp"
#include "network/collectives/nvls_all_reduce.hpp"
#include "network/collectives/nvls_tree_all_reduce.hpp"
#include "network/collectives/ring_all_gather.hpp"
#include "network/collectives/ring_all_reduce.hpp"
#include "network/collectives/ring_broadcast.hpp"
#include "network/collectives/ring_reduce_scatter.hpp"
#include "network/collectives/send_recv.hpp"
#include "network/collectives/tree_all_reduce.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

CollectiveRegistry collective_registry() {
  CollectiveRegistry r;
  r.add<RingAllReduce>("ring_all_reduce", "reduce-scatter and all-gather around one ring");
  r.add<TreeAllReduce>("tree_all_reduce", "two complementary binary trees over the nodes, chains inside them");
  r.add<NvlsAllReduce>("nvls_all_reduce", "summed and multicast inside the node's switch");
  r.add<NvlsTreeAllReduce>("nvls_tree_all_reduce", "in-switch inside the nodes, a double tree between them");
  r.add<HierarchicalAllReduce>("hierarchical_all_reduce", "reduce-scatter, all-reduce between nodes, all-gather");
  r.add<RingAllGather>("ring_all_gather", "every rank's part once around the ring");
  r.add<RingReduceScatter>("ring_reduce_scatter", "every part once around the ring, reduced on the way");
  r.add<RingBroadcast>("ring_broadcast", "pieces down a chain from member 0");
  r.add<SendRecv>("send_recv", "one message from member 0 to member 1");
  r.add<DirectAllToAll>("direct_all_to_all", "every rank sends to every other, all at once");
  return r;
}

Planner::Planner(std::shared_ptr<const Topology> topology, const LibrarySpec& library)
    : topology_(std::move(topology)), library_(library.at_version()) {
  const CollectiveRegistry registry = collective_registry();
  for (const auto& name : registry.names()) algorithms_.push_back(registry.make_named(name));
}

void Planner::require(const Call& call) const {
  const auto found = std::ranges::find(algorithms_, call.kind, [](const auto& algorithm) { return algorithm->kind(); });
  WARPLOOM_CHECK(found != algorithms_.end(), "no algorithm for {}", name(call.kind));
  if (call.bytes < Bytes::zero()) throw UserError("a call of a negative number of bytes");
}

namespace {

// Whose flows say how far the hops go.
FlowPattern pattern_of(CollectiveKind kind, const Group& group) {
  switch (kind) {
    case CollectiveKind::broadcast:
      return FlowPattern::chain;
    case CollectiveKind::all_to_all:
    case CollectiveKind::moe_dispatch:
    case CollectiveKind::moe_combine:
      return FlowPattern::all_pairs;
    case CollectiveKind::send_recv:
      return group.member_count() == 2 ? FlowPattern::pair : FlowPattern::chain;
    case CollectiveKind::all_reduce:
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      break;
  }
  return FlowPattern::ring;
}

void append(std::vector<std::int64_t>& key, const RankBox& box) {
  key.push_back(box.base);
  key.push_back(static_cast<std::int64_t>(box.digits.size()));
  for (const auto& digit : box.digits) {
    key.push_back(digit.count);
    key.push_back(digit.stride);
  }
}

}  // namespace

GroupProfile Planner::profile(const Call& call, const Group& group) const {
  const FlowPattern pattern = pattern_of(call.kind, group);
  GroupKey key{static_cast<std::int64_t>(pattern)};
  append(key, group.members);
  for (const auto& box : group.instances) append(key, box);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = profiles_.find(key); known != profiles_.end()) return known->second;
  }
  const GroupProfile found = profile_of(pattern, group, *topology_);
  const std::lock_guard lock(mutex_);
  profiles_.emplace(std::move(key), found);
  return found;
}

namespace {

bool is_wanted(const std::string& wanted, std::string_view got) {
  return wanted.empty() || wanted == "auto" || wanted == got;
}

// The first, of what the library would offer where nothing special is wanted; null where there is none.
const Planner::Option* first_wanted(const std::vector<Planner::Option>& all, const CollectiveChoice& choice) {
  const bool is_free = is_wanted(choice.algorithm, "") && is_wanted(choice.protocol, "");
  const auto found = std::ranges::find_if(all, [&](const Planner::Option& option) {
    return (option.is_offered || !is_free) && is_wanted(choice.algorithm, name(option.algorithm)) &&
           is_wanted(choice.protocol, name(option.protocol));
  });
  return found == all.end() ? nullptr : &*found;
}

[[noreturn]] void refuse_choice(const Call& call, const Group& group, const CollectiveChoice& choice,
                                const std::vector<Planner::Option>& all) {
  std::string known;
  for (const Planner::Option& option : all) {
    known += fmt::format("{}{}/{}", known.empty() ? "" : ", ", name(option.algorithm), name(option.protocol));
  }
  throw UserError(fmt::format("{} of {} ranks cannot be done with algorithm `{}` and protocol `{}`", name(call.kind),
                              group.member_count(), choice.algorithm.empty() ? "auto" : choice.algorithm,
                              choice.protocol.empty() ? "auto" : choice.protocol),
                  known.empty() ? std::string() : fmt::format("the library has {}", known));
}

}  // namespace

std::vector<Planner::Option> Planner::options(const Call& call, const Group& group) const {
  if (is_moe(call.kind)) return {};
  require(call);
  const GroupProfile where = profile(call, group);
  std::vector<Option> found;
  if (where.members < 2) return found;
  const Setting setting{call, group, where, *topology_, library_};
  for (const auto& algorithm : algorithms_) {
    if (algorithm->kind() != call.kind) continue;
    for (const Protocol protocol : all_protocols) {
      if (!algorithm->is_possible(setting, protocol)) continue;
      Option option;
      option.algorithm = algorithm->algorithm();
      option.protocol = protocol;
      option.is_offered = algorithm->is_offered(setting, protocol);
      if (option.algorithm != Algorithm::direct && option.algorithm != Algorithm::hierarchical)
        option.library_estimate = library_estimate(setting, option.algorithm, protocol);
      option.how = algorithm.get();
      found.push_back(option);
    }
  }
  const auto order = [](const Option& option) {
    return std::tuple(!option.is_offered, option.library_estimate, option.algorithm, option.protocol);
  };
  std::ranges::sort(found, {}, order);
  return found;
}

Planner::Option Planner::choose(const Call& call, const Group& group, const CollectiveChoice& choice) const {
  const auto all = options(call, group);
  if (const Option* found = first_wanted(all, choice)) return *found;
  refuse_choice(call, group, choice, all);
}

Plan Planner::plan(const Call& call, const Group& group, const Option& option) const {
  const GroupProfile where = profile(call, group);
  Plan plan = option.how->plan({call, group, where, *topology_, library_}, option.protocol);
  plan.algorithm = name(option.algorithm);
  plan.protocol = name(option.protocol);
  plan.members_alike = where.alike;
  return plan;
}

Plan Planner::plan(const Call& call, const Group& group) const {
  // Which kernels do it is the caller's choice, not the library's.
  if (is_moe(call.kind) && group.member_count() > 1) {
    const GroupProfile where = profile(call, group);
    return plan_moe({call, group, where, *topology_, library_});
  }
  if (!is_moe(call.kind)) require(call);
  if (profile(call, group).members < 2) {
    Plan nothing;
    nothing.algorithm = "none";
    nothing.protocol = "none";
    return nothing;
  }
  // What is wanted of all-reduces may not be there for other calls: then the library chooses, as NCCL does.
  const CollectiveChoice wanted{library_.algorithm, library_.protocol};
  const auto all = options(call, group);
  const Option* found = first_wanted(all, wanted);
  if (found == nullptr) found = first_wanted(all, {});
  if (found == nullptr) refuse_choice(call, group, {}, all);
  return plan(call, group, *found);
}

}  // namespace warploom
