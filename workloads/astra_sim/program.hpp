// SPDX-License-Identifier: Apache-2.0
// Tasks of all ranks as a program, and the machine that it is played on.
#pragma once

#include <memory>
#include <vector>

#include "sim/play/ports.hpp"
#include "sim/work/program.hpp"
#include "workloads/astra_sim/collective.hpp"
#include "workloads/astra_sim/tasks.hpp"

namespace warploom {

struct AstraProgram {
  Program program;
  std::vector<RowId> row_of;                    // by task
  std::vector<std::uint32_t> members_of_group;  // of the program's groups: in tasks.members; nothing: a pair of ranks
};
AstraProgram astra_program(const AstraTasks& tasks, const std::vector<AstraTaskId>& order, const AstraNetwork& network,
                           bool rendezvous);

// Plans the program's calls by the algorithms of the system file. Keeps references.
class AstraPlanner final : public CollectivePlanner {
 public:
  AstraPlanner(const AstraTasks& tasks, const AstraProgram& program, const AstraCollectives& collectives)
      : tasks_(tasks), program_(program), collectives_(collectives) {}
  Plan plan(const Call& call, const Group& group) const override;

 private:
  const AstraTasks& tasks_;
  const AstraProgram& program_;
  const AstraCollectives& collectives_;
};

// What a meeting takes by the closed forms.
std::int64_t astra_nanoseconds(const AstraTasks& tasks, const AstraMeeting& meeting,
                               const AstraCollectives& collectives);

}  // namespace warploom
