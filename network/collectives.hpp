// SPDX-License-Identifier: Apache-2.0
// All collective algorithms, by name, and the planner that chooses among them as the library does.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "network/collectives/collective.hpp"
#include "network/collectives/families.hpp"
#include "network/collectives/library.hpp"
#include "network/topology.hpp"
#include "sim/core/registry.hpp"
#include "sim/play/ports.hpp"

namespace warploom {

using CollectiveRegistry = Registry<Collective>;
CollectiveRegistry collective_registry();

// Plans a call with the algorithm and protocol that the library would take: the quickest by its own cost model
// (families.hpp), of messages by their size (peer.hpp), or what the user wants. Is pure: same call, same group, same
// plan. Remembers what it has found out about a group; may be asked from several threads.
class Planner final : public CollectivePlanner {
 public:
  Planner(std::shared_ptr<const Topology> topology, const LibrarySpec& library);

  // Throws UserError for ranks that the topology does not have.
  Plan plan(const Call& call, const Group& group) const override;

  // A way to do the call that the library has.
  struct Option {
    Algorithm algorithm = Algorithm::ring;
    Protocol protocol = Protocol::simple;
    Time library_estimate;   // zero for messages, where the library compares nothing
    bool is_offered = true;  // the library may choose it by itself
    const Collective* how = nullptr;
  };
  // Quickest by the library's estimate first, what it never chooses by itself last; empty for a group of one.
  std::vector<Option> options(const Call& call, const Group& group) const;
  // The same and what the library does not have but could be done.
  std::vector<Option> all_options(const Call& call, const Group& group) const;
  // The first that is wanted; throws UserError if there is none. The algorithm may be an MSCCL file (`plan.xml`).
  Option choose(const Call& call, const Group& group, const CollectiveChoice& choice) const;
  Plan plan(const Call& call, const Group& group, const Option& option) const;
  // With an algorithm from elsewhere (msccl_xml.hpp), under the first protocol that it can take. Throws UserError where
  // it cannot do the call.
  Plan plan(const Call& call, const Group& group, const Collective& how) const;

  const LibrarySpec& library() const { return library_; }

 private:
  using GroupKey = std::vector<std::int64_t>;
  std::vector<Option> options(const Call& call, const Group& group, bool is_all) const;
  void require(const Call& call) const;
  GroupProfile profile(const Call& call, const Group& group) const;
  std::optional<Option> option_of(const Call& call, const Group& group, const Collective& how) const;
  const Collective& file(const std::string& path) const;

  std::shared_ptr<const Topology> topology_;
  LibrarySpec library_;
  std::unique_ptr<LibraryFamily> family_;
  std::vector<std::unique_ptr<Collective>> algorithms_;
  mutable std::mutex mutex_;
  mutable std::map<GroupKey, GroupProfile> profiles_;
  mutable std::map<std::string, std::unique_ptr<const Collective>> files_;  // read when they are first asked for
};

}  // namespace warploom
