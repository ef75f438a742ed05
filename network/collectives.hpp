// SPDX-License-Identifier: Apache-2.0
// All collective algorithms, by name, and the planner that chooses among them.
#pragma once

#include <memory>
#include <vector>

#include "network/collectives/collective.hpp"
#include "network/collectives/library.hpp"
#include "network/topology.hpp"
#include "sim/core/registry.hpp"
#include "sim/play/ports.hpp"

namespace warploom {

using CollectiveRegistry = Registry<Collective>;
CollectiveRegistry collective_registry();

// Plans a call with the registered algorithm of its kind. Is pure: same call, same group, same plan.
class Planner final : public CollectivePlanner {
 public:
  Planner(std::shared_ptr<const Topology> topology, LibrarySpec library);
  // Throws UserError for ranks that the topology does not have.
  Plan plan(const Call& call, const Group& group) const override;

 private:
  std::shared_ptr<const Topology> topology_;
  LibrarySpec library_;
  std::vector<std::unique_ptr<Collective>> algorithms_;
};

}  // namespace warploom
