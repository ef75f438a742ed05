// SPDX-License-Identifier: Apache-2.0
// What holds of the report of any program: random programs, played, broken down, followed back and written as a trace.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <sstream>

#include "bindings/report/report_json.hpp"
#include "sim/play/executor.hpp"
#include "sim/play/report.hpp"
#include "tests/support/perfetto_reader.hpp"
#include "tests/support/toy_machine.hpp"
#include "traces/perfetto_writer.hpp"

namespace warploom {
namespace {

using namespace warploom::literals;

// Programs that end: the rows of a meeting are added together, so every stream meets in the same order.
class RandomProgram {
 public:
  // Without sharing, kernels of a role never overlap.
  RandomProgram(std::uint32_t seed, bool sharing) : random_(seed), toy_(1 + pick(4)), sharing_(sharing) {
    for (RoleId role = 0; role < roles(); ++role) {
      auto& of_role = toy_.program.roles[role];
      of_role.launch = pick(2) == 0 ? Time::zero() : Time::picoseconds(pick(40));
      of_role.slow_down = pick(4) == 0 ? 1.3 : 1.0;
      of_role.ranks[0].digits = {{1 + pick(5), 1}};
      of_role.resident_bytes[0] = pick(1000);
      more_compute_.push_back(toy_.program.add_stream({role, StreamKind::compute, "more compute"}));
      copy_.push_back(toy_.program.add_stream({role, StreamKind::copy, "copy"}));
      host_.push_back(toy_.program.add_stream({role, StreamKind::host, "host"}));
    }
    const int rows = 1 + pick(120);
    for (int i = 0; i < rows; ++i) add_something();
  }

  const Program& program() const { return toy_.program; }
  Program& program() { return toy_.program; }
  Machine machine() {
    testing::WireSpec wire{Time::picoseconds(pick(20)), Bandwidth{1e12}};
    if (sharing_) wire.sms = pick(60);
    if (sharing_) wire.hbm_bytes_per_wire_byte = pick(3);
    return testing::toy_machine(wire);
  }

 private:
  int pick(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  std::uint32_t roles() const { return static_cast<std::uint32_t>(toy_.program.roles.size()); }

  // Of the last rows before `limit`: a party must not wait for another one of its meeting.
  std::vector<RowId> some_rows(std::size_t limit) {
    std::set<RowId> rows;
    const auto size = static_cast<int>(limit);
    for (int i = pick(3); i > 0 && size > 0; --i) rows.insert(static_cast<RowId>(std::max(0, size - 1 - pick(12))));
    return {rows.begin(), rows.end()};
  }

  Operation operation(OperationKind kind, StreamId stream, Cause cause) {
    Operation made;
    made.kind = kind;
    made.stream = stream;
    made.cause = cause;
    made.phase = static_cast<Phase>(pick(4));
    made.micro_batch = pick(3) - 1;
    made.spans_pipeline = pick(4) == 0;
    return made;
  }

  void add(const Operation& made) { add(made, toy_.program.size()); }
  void add(const Operation& made, std::size_t limit) {
    std::vector<MemoryDelta> memory;
    if (pick(2) == 0) memory = {{static_cast<MemoryPart>(pick(6)), pick(2) == 0, pick(100)}};
    toy_.program.add(made, some_rows(limit), memory);
  }

  KernelId kernel() {
    return toy_.program.add_kernel(
        testing::fixed_kernel(Time::picoseconds(2 * pick(100)), Bytes(sharing_ ? pick(100) : 0)));
  }

  void add_something() {
    const auto role = static_cast<RoleId>(pick(static_cast<int>(roles())));
    switch (pick(8)) {
      case 0:
        return add_collective();
      case 1:
        return add_message();
      case 2: {
        auto row = operation(OperationKind::host, host_[role], pick(2) == 0 ? Cause::data : Cause::host);
        row.duration = Time::picoseconds(pick(60));
        return add(row);
      }
      case 3: {
        auto row = operation(OperationKind::copy, copy_[role], Cause::copy);
        row.kernel = kernel();
        return add(row);
      }
      case 4:
        return add(operation(OperationKind::marker, toy_.compute[role], Cause::idle));
      default: {
        const bool on_other_stream = sharing_ && pick(3) == 0;
        auto row = operation(OperationKind::compute, on_other_stream ? more_compute_[role] : toy_.compute[role],
                             static_cast<Cause>(pick(5)));
        row.kernel = kernel();
        return add(row);
      }
    }
  }

  void add_collective() {
    std::vector<RoleId> parties(roles());
    std::iota(parties.begin(), parties.end(), 0U);
    std::shuffle(parties.begin(), parties.end(), random_);
    parties.resize(1 + static_cast<std::size_t>(pick(static_cast<int>(roles()))));
    const auto meeting = toy_.meeting(Bytes(pick(200)), static_cast<std::uint32_t>(parties.size()));
    const bool fused = sharing_ && pick(4) == 0;
    const std::size_t limit = toy_.program.size();
    for (const RoleId role : parties) {
      auto row = operation(fused ? OperationKind::fused : OperationKind::collective,
                           fused ? toy_.compute[role] : toy_.communication[role],
                           fused ? Cause::gemm : static_cast<Cause>(static_cast<int>(Cause::exposed_tp) + pick(6)));
      row.meeting = meeting;
      if (fused) row.kernel = kernel();
      add(row, limit);
    }
  }

  void add_message() {
    if (roles() < 2) return;
    const auto from = static_cast<RoleId>(pick(static_cast<int>(roles())));
    const RoleId to = (from + 1) % roles();
    const auto meeting = toy_.meeting(Bytes(pick(200)), 2, CollectiveKind::send_recv);
    const bool send_first = pick(2) == 0;
    const std::size_t limit = toy_.program.size();
    for (const bool send : {send_first, !send_first}) {
      auto row = operation(send ? OperationKind::send : OperationKind::recv, toy_.communication[send ? from : to],
                           Cause::exposed_pp);
      row.meeting = meeting;
      add(row, limit);
    }
  }

  std::mt19937 random_;
  testing::ToyProgram toy_;
  bool sharing_;
  std::vector<StreamId> more_compute_, copy_, host_;
};

template <class Claim>
void for_random_programs(bool sharing, Claim claim) {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    RandomProgram random(seed, sharing);
    const auto machine = random.machine();
    claim(random.program(), machine, play(random.program(), machine));
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(ReportProperty, CausesOfEveryRoleAddUpToTheStep) {
  for_random_programs(true, [](const Program& program, const Machine& machine, const Timeline& timeline) {
    const auto report = make_report(program, machine, timeline);
    for (const auto& role : report.roles) {
      EXPECT_EQ(std::accumulate(role.breakdown.begin(), role.breakdown.end(), Time::zero()), timeline.makespan);
      for (const Time time : role.breakdown) EXPECT_GE(time, Time::zero());
      EXPECT_LE(role.forward_backward, timeline.makespan);
    }
    const double step = timeline.makespan.seconds();
    EXPECT_NEAR(std::accumulate(report.seconds.begin(), report.seconds.end(), 0.0), step, 1e-12 * step);
  });
}

TEST(ReportProperty, NothingIsLeftUnexplainedInAPipeline) {
  int pipelines = 0;
  for_random_programs(true, [&pipelines](const Program& program, const Machine&, const Timeline& timeline) {
    if (std::find(program.kind.begin(), program.kind.end(), OperationKind::send) == program.kind.end()) return;
    for (const auto& role : break_down(program, timeline)) {
      EXPECT_EQ(role.by_cause[static_cast<std::size_t>(Cause::idle)], Time::zero());
    }
    ++pipelines;
  });
  EXPECT_GT(pipelines, 100);
}

TEST(ReportProperty, KernelsOwnAllTheTimeInWhichAnyRuns) {
  for_random_programs(true, [](const Program& program, const Machine&, const Timeline& timeline) {
    const auto times = break_down(program, timeline);
    for (RoleId role = 0; role < program.roles.size(); ++role) {
      std::vector<bool> busy(static_cast<std::size_t>(timeline.makespan.ps()), false);
      for (RowId row = 0; row < program.size(); ++row) {
        const auto kind = program.kind[row];
        const bool runs = kind == OperationKind::compute || kind == OperationKind::fused || kind == OperationKind::copy;
        if (!runs || program.role_of(row) != role) continue;
        std::fill(busy.begin() + timeline.begin[row].ps(), busy.begin() + timeline.end[row].ps(), true);
      }
      Time owned = Time::zero();
      for (auto cause = static_cast<std::size_t>(Cause::gemm); cause <= static_cast<std::size_t>(Cause::interference);
           ++cause) {
        owned += times[role].by_cause[cause];
      }
      owned += times[role].by_cause[static_cast<std::size_t>(Cause::copy)];
      EXPECT_EQ(owned.ps(), std::count(busy.begin(), busy.end(), true));
    }
  });
}

TEST(ReportProperty, CriticalPathIsAConnectedChainFromZeroToTheMakespan) {
  for_random_programs(true, [](const Program& program, const Machine&, const Timeline& timeline) {
    Time at = Time::zero();
    for (const auto& part : critical_path(program, timeline)) {
      EXPECT_EQ(part.begin, at);
      EXPECT_LT(part.begin, part.end);
      EXPECT_LT(part.row, program.size());
      at = part.end;
    }
    EXPECT_EQ(at, timeline.makespan);
  });
}

TEST(ReportProperty, MakespanIsAtMostTheSumOfOperationsAndLaunches) {
  for_random_programs(true, [](const Program& program, const Machine&, const Timeline& timeline) {
    Time sum = Time::zero();
    for (RowId row = 0; row < program.size(); ++row) {
      sum += timeline.end[row] - timeline.begin[row] + program.roles[program.role_of(row)].launch;
    }
    EXPECT_LE(timeline.makespan, sum);
  });
}

TEST(ReportProperty, HalvingAKernelOffTheCriticalPathChangesNothing) {
  int halved = 0;
  for_random_programs(false, [&halved](const Program& program, const Machine& machine, const Timeline& timeline) {
    std::set<RowId> on_path;
    for (const auto& part : critical_path(program, timeline)) on_path.insert(part.row);
    for (RowId row = 0; row < program.size(); ++row) {
      if (program.kernel[row] == none || on_path.contains(row)) continue;
      Program changed = program;
      changed.kernel.set(row, changed.add_kernel(testing::fixed_kernel(
                                  Time::picoseconds(program.kernels[program.kernel[row]].size[0] / 2))));
      EXPECT_EQ(play(changed, machine).makespan, timeline.makespan) << "row " << row;
      ++halved;
    }
  });
  EXPECT_GT(halved, 1000);
}

TEST(ReportProperty, NothingInterferesWhereNothingIsShared) {
  for_random_programs(false, [](const Program& program, const Machine&, const Timeline& timeline) {
    for (const auto& role : break_down(program, timeline)) {
      EXPECT_EQ(role.by_cause[static_cast<std::size_t>(Cause::interference)], Time::zero());
    }
  });
}

TEST(ReportProperty, PeakOfMemoryIsTheLargestSumAtAnyPicosecond) {
  for_random_programs(false, [](const Program& program, const Machine& machine, const Timeline& timeline) {
    const auto memory = peak_memory(program, machine, timeline);
    for (RoleId role = 0; role < program.roles.size(); ++role) {
      // What changed at each picosecond, then a running sum; the last picosecond is the state after the step.
      std::vector<std::int64_t> held(static_cast<std::size_t>(timeline.makespan.ps()) + 1, 0);
      held[0] = program.roles[role].resident_bytes[0];
      for (RowId row = 0; row < program.size(); ++row) {
        if (program.role_of(row) != role) continue;
        for (const auto& delta : program.memory_deltas(row)) {
          held[static_cast<std::size_t>((delta.at_end ? timeline.end[row] : timeline.begin[row]).ps())] += delta.bytes;
        }
      }
      std::partial_sum(held.begin(), held.end(), held.begin());
      EXPECT_EQ(memory[role].peak_bytes, *std::max_element(held.begin(), held.end()));
      EXPECT_EQ(std::accumulate(memory[role].parts.begin(), memory[role].parts.end(), std::int64_t{0}),
                memory[role].peak_bytes);
    }
  });
}

TEST(ReportProperty, EveryProgramHasATextAJsonAndATraceThatReadsBack) {
  for_random_programs(true, [](const Program& program, const Machine& machine, const Timeline& timeline) {
    const auto report = make_report(program, machine, timeline);
    EXPECT_FALSE(to_text(report, program).empty());
    EXPECT_FALSE(to_json(report).empty());
    std::ostringstream out;
    write_perfetto(program, timeline, out);
    const auto trace = testing::TraceReader::read(out.str());
    std::size_t messages = 0;
    std::size_t timed = 0;
    for (RowId row = 0; row < program.size(); ++row) {
      if (program.kind[row] == OperationKind::send) ++messages;
      if (timeline.end[row] > timeline.begin[row]) ++timed;
    }
    EXPECT_EQ(trace.arrows.size(), messages);
    EXPECT_GE(trace.slices.size(), timed);
  });
}

}  // namespace
}  // namespace warploom
