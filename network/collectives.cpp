// SPDX-License-Identifier: Apache-2.0
// The list of collective algorithms: one file and one line each; and the choice among them.
#include "network/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "network/collectives/collnet.hpp"
#include "network/collectives/direct_all_to_all.hpp"
#include "network/collectives/flat_rounds.hpp"
#include "network/collectives/hierarchical.hpp"
#include "network/collectives/hierarchical_all_reduce.hpp"
#include "network/collectives/moe/moe.hpp"
#include "network/collectives/msccl_xml.hpp"
#include "network/collectives/nvls_all_reduce.hpp"
#include "network/collectives/nvls_tree_all_reduce.hpp"
#include "network/collectives/pat.hpp"
#include "network/collectives/peer.hpp"
#include "network/collectives/pipeline.hpp"
#include "network/collectives/pxn.hpp"
#include "network/collectives/ring_all_gather.hpp"
#include "network/collectives/ring_all_reduce.hpp"
#include "network/collectives/ring_broadcast.hpp"
#include "network/collectives/ring_reduce_scatter.hpp"
#include "network/collectives/ring_search.hpp"
#include "network/collectives/rooted.hpp"
#include "network/collectives/rounds/bruck.hpp"
#include "network/collectives/rounds/halving_doubling.hpp"
#include "network/collectives/rounds/mesh.hpp"
#include "network/collectives/rounds/nhr.hpp"
#include "network/collectives/rounds/pairwise.hpp"
#include "network/collectives/rounds/ring.hpp"
#include "network/collectives/send_recv.hpp"
#include "network/collectives/tree_all_reduce.hpp"
#include "network/collectives/wishes.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

constexpr auto all_reduce = CollectiveKind::all_reduce;
constexpr auto all_gather = CollectiveKind::all_gather;
constexpr auto reduce_scatter = CollectiveKind::reduce_scatter;
constexpr auto all_to_all = CollectiveKind::all_to_all;

// Reductions and gatherings of one algorithm.
template <template <CollectiveKind> class Kind>
void add_three(CollectiveRegistry& r, const std::string& name, const std::string& meaning) {
  r.add<Kind<all_reduce>>(name + "_all_reduce", meaning);
  r.add<Kind<all_gather>>(name + "_all_gather", meaning);
  r.add<Kind<reduce_scatter>>(name + "_reduce_scatter", meaning);
}

template <CollectiveKind TheKind>
using LockstepRing = InRounds<RingRounds, TheKind>;
template <CollectiveKind TheKind>
using Mesh = InRounds<MeshRounds, TheKind>;
template <CollectiveKind TheKind>
using HalvingDoubling = InRounds<HalvingDoublingRounds, TheKind>;
template <CollectiveKind TheKind>
using Nhr = InRounds<NhrRounds, TheKind>;
template <CollectiveKind TheKind>
using Bruck = InRounds<BruckRounds, TheKind>;
template <CollectiveKind TheKind>
using Hierarchical3d = Hierarchical<TheKind, 3>;

}  // namespace

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
  r.add<RingReduce>("ring_reduce", "pieces up a chain to member 0, reduced on the way");
  r.add<DirectGather>("direct_gather", "every rank sends its part to member 0");
  r.add<DirectScatter>("direct_scatter", "member 0 sends every rank its part");
  r.add<CollnetDirect>("collnet_direct_all_reduce",
                       "summed in the network's switches, one step to every card's device");
  r.add<CollnetChain>("collnet_chain_all_reduce", "summed in the network's switches, chains inside the nodes");
  r.add<Pat<all_gather>>("pat_all_gather", "a binomial tree for every part, messages of bounded size");
  r.add<Pat<reduce_scatter>>("pat_reduce_scatter", "a binomial tree for every part, messages of bounded size");
  r.add<PxnAllToAll>("pxn_all_to_all", "over NVLink to the target's rail, then along it");
  r.add<PxnSend>("pxn_send_recv", "over NVLink to the target's rail, then along it");
  r.add<Hierarchical<all_gather, 2>>("hierarchical_all_gather", "rings between nodes, then inside them");
  r.add<Hierarchical<reduce_scatter, 2>>("hierarchical_reduce_scatter", "rings inside nodes, then between them");
  r.add<Hierarchical<all_to_all, 2>>("hierarchical_all_to_all", "exchanges inside nodes, then between them");
  add_three<Hierarchical3d>(r, "hierarchical_3d", "rings in nodes, under first switches, and beyond");
  r.add<Hierarchical<all_to_all, 3>>("hierarchical_3d_all_to_all", "exchanges in nodes, under switches, beyond");
  add_three<LockstepRing>(r, "lockstep_ring", "a ring in rounds, as HCCL's");
  add_three<Mesh>(r, "mesh", "every rank sends to every other in one round");
  r.add<Mesh<all_to_all>>("mesh_all_to_all", "every rank sends to every other in one round");
  add_three<HalvingDoubling>(r, "halving_doubling", "partners at distance 1, 2, 4, ..");
  add_three<Nhr>(r, "nhr", "a binomial tree for every part, near rounds large");
  add_three<Bruck>(r, "bruck", "shifts by 1, 2, 4, ..; HCCL's NB");
  r.add<Bruck<all_to_all>>("bruck_all_to_all", "blocks hop by 1, 2, 4, .., log2 n messages");
  r.add<InRounds<PairwiseRounds, all_to_all>>("pairwise_all_to_all", "a partner a round");
  add_three<Pipeline>(r, "pipeline", "a ring between nodes, its slices passed on inside meanwhile");
  return r;
}

Planner::Planner(std::shared_ptr<const Topology> topology, const LibrarySpec& library)
    : topology_(std::move(topology)), library_(library.at_version()) {
  family_ = family_registry().make_named(library_.family);
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
    case CollectiveKind::reduce:
      return FlowPattern::chain;
    case CollectiveKind::gather:
      return FlowPattern::gather;
    case CollectiveKind::scatter:
      return FlowPattern::scatter;
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

// As the first instance has them; the others are taken for its like.
void find_rings(const Group& group, const Topology& topology, const TunerSpec& tuner, GroupProfile& profile) {
  constexpr std::int64_t most_members = 16;
  if (topology.tiered() != nullptr || !profile.in_node() || profile.members < 2 || profile.members > most_members)
    return;
  std::vector<Rank> devices;
  for (std::int64_t i = 0; i < profile.members; ++i) devices.push_back(group.rank(group.instances.front().base, i));
  const RingPacking packing = pack_rings(topology.graph(), devices, tuner);
  if (packing.rings.empty()) return;
  std::map<std::pair<int, int>, std::int32_t> passes;
  for (const auto& ring : packing.rings) {
    for (std::size_t i = 0; i < ring.size(); ++i) ++passes[{ring[i], ring[(i + 1) % ring.size()]}];
  }
  auto pairs = std::make_shared<std::vector<MemberPair>>();
  for (const auto& [pair, count] : passes) pairs->push_back({pair.first, pair.second, count});
  profile.ring_pairs = std::move(pairs);
  profile.rings = static_cast<std::int64_t>(packing.rings.size());
  profile.channels = packing.graph.channels;
  profile.ring_rate = packing.graph.bus();
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
  GroupProfile found = profile_of(pattern, group, *topology_);
  if (pattern == FlowPattern::ring) find_rings(group, *topology_, library_.tuner, found);
  const std::lock_guard lock(mutex_);
  profiles_.emplace(std::move(key), found);
  return found;
}

namespace {

// The first that is allowed, of what the library would offer or what is asked for by name; null where there is none.
const Planner::Option* first_wanted(const std::vector<Planner::Option>& all, CollectiveKind kind,
                                    const CollectiveChoice& choice) {
  const Wishes algorithms(choice.algorithm, algorithm_names());
  const Wishes protocols(choice.protocol, protocol_names());
  const auto found = std::ranges::find_if(all, [&](const Planner::Option& option) {
    const bool is_asked_for =
        algorithms.asks_for(kind, name(option.algorithm)) || protocols.asks_for(kind, name(option.protocol));
    return (option.is_offered || is_asked_for) && algorithms.allows(kind, name(option.algorithm)) &&
           protocols.allows(kind, name(option.protocol));
  });
  return found == all.end() ? nullptr : &*found;
}

[[noreturn]] void refuse_choice(const Call& call, const Group& group, const CollectiveChoice& choice,
                                const std::vector<Planner::Option>& all) {
  std::vector<std::string> ways;  // a name once, though flat and level by level may have it
  for (const Planner::Option& option : all) {
    std::string way = fmt::format("{}/{}", name(option.algorithm), name(option.protocol));
    if (std::ranges::find(ways, way) == ways.end()) ways.push_back(std::move(way));
  }
  const std::string known = join(ways);
  throw UserError(fmt::format("{} of {} ranks cannot be done with algorithm `{}` and protocol `{}`", name(call.kind),
                              group.member_count(), choice.algorithm.empty() ? "auto" : choice.algorithm,
                              choice.protocol.empty() ? "auto" : choice.protocol),
                  known.empty() ? std::string() : fmt::format("the library has {}", known));
}

}  // namespace

std::vector<Planner::Option> Planner::options(const Call& call, const Group& group) const {
  return options(call, group, false);
}

std::vector<Planner::Option> Planner::all_options(const Call& call, const Group& group) const {
  return options(call, group, true);
}

std::vector<Planner::Option> Planner::options(const Call& call, const Group& group, bool is_all) const {
  if (is_moe(call.kind)) return {};
  require(call);
  const GroupProfile where = profile(call, group);
  std::vector<Option> found;
  if (where.members < 2) return found;
  const Setting setting{call, group, where, *topology_, library_};
  for (const auto& algorithm : algorithms_) {
    if (algorithm->kind() != call.kind) continue;
    const bool is_had = family_->has(setting, *algorithm);
    if (!is_had && !is_all) continue;
    for (const Protocol protocol : all_protocols) {
      if (!algorithm->is_possible(setting, protocol)) continue;
      Option option;
      option.algorithm = algorithm->algorithm();
      option.protocol = protocol;
      option.is_offered = family_->offers(setting, *algorithm, protocol);
      if (is_had) option.library_estimate = family_->estimate(setting, *algorithm, protocol);
      option.how = algorithm.get();
      found.push_back(option);
    }
  }
  // Where the library estimates nothing: LL for what it would send under LL, else Simple.
  const bool is_small = peer_protocol(setting, call.bytes / where.members) == Protocol::ll;
  const auto order = [is_small](const Option& option) {
    const auto rank = static_cast<int>(option.protocol);
    return std::tuple(!option.is_offered, option.library_estimate, option.algorithm, is_small ? rank : -rank);
  };
  std::ranges::sort(found, {}, order);
  return found;
}

const Collective& Planner::file(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  auto& known = files_[path];
  if (!known) known = load_msccl(path);
  return *known;
}

std::optional<Planner::Option> Planner::option_of(const Call& call, const Group& group, const Collective& how) const {
  if (how.kind() != call.kind) return std::nullopt;
  const GroupProfile where = profile(call, group);
  if (where.members < 2) return std::nullopt;
  for (const Protocol protocol : all_protocols) {
    if (!how.is_possible({call, group, where, *topology_, library_}, protocol)) continue;
    Option option;
    option.algorithm = how.algorithm();
    option.protocol = protocol;
    option.is_offered = false;
    option.how = &how;
    return option;
  }
  return std::nullopt;
}

Plan Planner::plan(const Call& call, const Group& group, const Collective& how) const {
  require(call);
  if (const auto option = option_of(call, group, how)) return plan(call, group, *option);
  throw UserError(fmt::format("{} of {} ranks is not what this plan does", name(call.kind), group.member_count()),
                  fmt::format("it is for {} of its own number of ranks", name(how.kind())));
}

Planner::Option Planner::choose(const Call& call, const Group& group, const CollectiveChoice& choice) const {
  if (choice.algorithm.ends_with(".xml")) {
    require(call);
    if (const auto option = option_of(call, group, file(choice.algorithm))) return *option;
    throw UserError(
        fmt::format("`{}` does not do {} of {} ranks", choice.algorithm, name(call.kind), group.member_count()));
  }
  const auto had = options(call, group);
  if (const Option* found = first_wanted(had, call.kind, choice)) return *found;
  const auto all = all_options(call, group);
  if (const Option* found = first_wanted(all, call.kind, choice)) return *found;
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
  if (library_.algorithm.ends_with(".xml")) {
    // As MSCCL does: its own calls go by the file, the others as ever.
    if (const auto option = option_of(call, group, file(library_.algorithm))) return plan(call, group, *option);
  }
  const CollectiveChoice wanted{library_.algorithm.ends_with(".xml") ? "" : library_.algorithm, library_.protocol};
  auto all = options(call, group);
  const Option* found = first_wanted(all, call.kind, wanted);
  if (found == nullptr && !Wishes(wanted.algorithm, algorithm_names()).is_free(call.kind)) {
    all = all_options(call, group);
    found = first_wanted(all, call.kind, wanted);
  }
  if (found == nullptr) found = first_wanted(all, call.kind, {});
  if (found == nullptr) refuse_choice(call, group, {}, all);
  return plan(call, group, *found);
}

}  // namespace warploom
