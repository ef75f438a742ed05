// SPDX-License-Identifier: Apache-2.0
// A pipeline as nothing but its schedule: one kernel a step, one message a stage boundary, for tests of schedules.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sim/play/executor.hpp"
#include "tests/support/toy_machine.hpp"
#include "workloads/schedules/schedules.hpp"

namespace warploom::testing {

struct PipelineTimes {
  Time forward;  // of a whole stage; a chunk takes 1/v of it
  Time backward;
  Time message = Time::zero();
};

class PipelineProgram {
 public:
  PipelineProgram(const PipelineSchedule& schedule, const ScheduleShape& shape, const PipelineTimes& times)
      : shape_(shape), times_(times) {
    for (int s = 0; s < shape.stages; ++s) add_stage();
    group_ = program.add_group({RankBox{0, {{2, 1}}}, {RankBox{}}});
    for (int s = 0; s < shape.stages; ++s) {
      for (const auto& step : schedule.steps(shape, s)) add_step(s, step);
    }
  }

  // Largest span from the first begin to the last end of any stage.
  Time cost() const {
    const Timeline timeline = play(program, toy_machine(WireSpec{times_.message, Bandwidth{1e12}}));
    std::vector<Time> first(program.roles.size(), Time::max());
    std::vector<Time> last(program.roles.size(), Time::zero());
    for (RowId row = 0; row < program.size(); ++row) {
      if (program.kind[row] != OperationKind::compute) continue;
      const RoleId role = program.role_of(row);
      first[role] = std::min(first[role], timeline.begin[row]);
      last[role] = std::max(last[role], timeline.end[row]);
    }
    Time cost = Time::zero();
    for (std::size_t s = 0; s < first.size(); ++s) cost = std::max(cost, last[s] - first[s]);
    return cost;
  }

  Program program;

 private:
  enum Lane { compute, send_forward, recv_forward, send_backward, recv_backward, lanes };

  void add_stage() {
    Role role;
    role.name = "stage " + std::to_string(program.roles.size());
    role.ranks = {RankBox{static_cast<Rank>(program.roles.size()), {}}};
    const RoleId id = program.add_role(role);
    for (int lane = 0; lane < lanes; ++lane) {
      program.add_stream({id, lane == compute ? StreamKind::compute : StreamKind::communication, std::to_string(lane)});
    }
  }
  Operation row(int stage, Lane lane, OperationKind kind) const {
    Operation operation;
    operation.kind = kind;
    operation.stream = static_cast<StreamId>(stage * lanes + lane);
    return operation;
  }
  // The message that a step of a place in the model sends on.
  MeetingId message(bool is_forward, int micro_batch, int place) {
    auto [known, is_new] = messages_.try_emplace({is_forward, micro_batch, place}, 0);
    if (is_new)
      known->second =
          program.add_meeting(program.add_call({CollectiveKind::send_recv, Bytes{0}, DataType::bf16, group_}), 2);
    return known->second;
  }
  void add_step(int stage, const ScheduleStep& step) {
    const bool forward = step.is_forward;
    const int place = step.chunk * shape_.stages + stage;
    const int last = shape_.stages * shape_.chunks - 1;
    std::vector<RowId> after;
    if (forward ? place > 0 : place < last) {
      Operation recv = row(stage, forward ? recv_forward : recv_backward, OperationKind::recv);
      recv.meeting = message(forward, step.micro_batch, forward ? place - 1 : place + 1);
      after.push_back(program.add(recv));
    }
    Operation kernel = row(stage, compute, OperationKind::compute);
    kernel.kernel = program.add_kernel(fixed_kernel((forward ? times_.forward : times_.backward) / shape_.chunks));
    kernel.phase = forward ? Phase::forward : Phase::backward;
    kernel.micro_batch = step.micro_batch;
    const RowId done = program.add(kernel, after);
    if (forward ? place < last : place > 0) {
      Operation send = row(stage, forward ? send_forward : send_backward, OperationKind::send);
      send.meeting = message(forward, step.micro_batch, place);
      program.add(send, std::vector<RowId>{done});
    }
  }

  ScheduleShape shape_;
  PipelineTimes times_;
  GroupId group_ = 0;
  std::map<std::tuple<bool, int, int>, MeetingId> messages_;
};

}  // namespace warploom::testing
