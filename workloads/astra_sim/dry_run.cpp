// SPDX-License-Identifier: Apache-2.0
// Events of a run without sharing; what never begins is listed.
#include "workloads/astra_sim/dry_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <tuple>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

using Kind = AstraTask::Kind;

class DryRun {
 public:
  DryRun(const AstraTasks& tasks, const AstraDurations& durations, AstraPolicy policy, bool rendezvous)
      : tasks_(tasks), durations_(durations), policy_(policy), rendezvous_(rendezvous) {
    const std::size_t count = tasks.tasks.size();
    waits_.resize(count);
    begin_.assign(count + 1, 0);
    for (const auto before : tasks.before) ++begin_[before + 1];
    for (std::size_t i = 0; i < count; ++i) begin_[i + 1] += begin_[i];
    dependents_.resize(tasks.before.size());
    std::vector<std::uint64_t> fill(begin_.begin(), begin_.end() - 1);
    for (AstraTaskId task = 0; task < count; ++task) {
      for (std::uint64_t i = tasks.before_begin[task]; i < tasks.before_begin[task + 1]; ++i) {
        dependents_[fill[tasks.before[i]]++] = task;
        ++waits_[task];
      }
      // An eager message is there when its sender has sent it.
      if (tasks.tasks[task].kind == Kind::receive && !rendezvous) ++waits_[task];
    }
    lanes_.resize(tasks.lanes.size());
    groups_.resize(tasks.members.size());
    arrived_.assign(tasks.meetings.size(), 0);
    message_arrived_.assign(tasks.messages.size(), 0);
    order_.reserve(count);
  }

  std::vector<AstraTaskId> run() {
    for (AstraTaskId task = 0; task < tasks_.tasks.size(); ++task) {
      if (waits_[task] == 0) become_ready(task);
    }
    drain();
    while (!events_.empty()) {
      now_ = std::get<0>(events_.top());
      while (!events_.empty() && std::get<0>(events_.top()) == now_) {
        const auto task = std::get<2>(events_.top());
        events_.pop();
        end(task);
      }
      drain();
    }
    if (order_.size() != tasks_.tasks.size()) report_blocked();
    return std::move(order_);
  }

 private:
  using Ready = std::pair<std::int64_t, AstraTaskId>;  // order
  struct Lane {
    bool busy = false;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  };
  struct Group {
    bool busy = false;
    std::set<std::tuple<std::int64_t, std::int64_t, std::uint32_t>> ready;  // the first goes
  };

  void become_ready(AstraTaskId id) {
    const AstraTask& task = tasks_.tasks[id];
    switch (task.kind) {
      case Kind::collective:
        return arrive(task.meeting);
      case Kind::send:
      case Kind::receive:
        if (rendezvous_) {
          if (++message_arrived_[task.meeting] < 2) return;
          const auto& message = tasks_.messages[task.meeting];
          begin(message.send, durations_.messages[task.meeting]);
          return begin(message.receive, durations_.messages[task.meeting]);
        }
        return begin(id, task.kind == Kind::send ? durations_.messages[task.meeting] : 0);
      default:
        break;
    }
    if (task.lane == nothing || !tasks_.lanes[task.lane].is_exclusive) return begin(id, task.duration_ns);
    lanes_[task.lane].ready.emplace(task.order, id);
    touched_lanes_.push_back(task.lane);
  }

  void arrive(std::uint32_t id) {
    const auto& meeting = tasks_.meetings[id];
    if (++arrived_[id] < meeting.parts.size()) return;
    const std::int64_t number = arrivals_++;
    std::int64_t first = 0;
    std::int64_t second = number;
    if (policy_ == AstraPolicy::lifo) second = -number;
    if (policy_ == AstraPolicy::by_priority) first = -static_cast<std::int64_t>(meeting.priority);
    groups_[meeting.members].ready.emplace(first, second, id);
    touched_groups_.push_back(meeting.members);
  }

  // Lanes that have become free, or have got something to do, begin it when all that happens now has happened.
  void drain() {
    while (!touched_lanes_.empty() || !touched_groups_.empty()) {
      std::sort(touched_lanes_.begin(), touched_lanes_.end());
      const auto lanes = std::exchange(touched_lanes_, {});
      for (const auto id : lanes) {
        auto& lane = lanes_[id];
        if (lane.busy || lane.ready.empty()) continue;
        const AstraTaskId task = lane.ready.top().second;
        lane.ready.pop();
        lane.busy = true;
        begin(task, tasks_.tasks[task].duration_ns);
      }
      std::sort(touched_groups_.begin(), touched_groups_.end());
      const auto groups = std::exchange(touched_groups_, {});
      for (const auto id : groups) {
        auto& group = groups_[id];
        if (group.busy || group.ready.empty()) continue;
        const auto meeting = std::get<2>(*group.ready.begin());
        group.ready.erase(group.ready.begin());
        group.busy = true;
        for (const auto part : tasks_.meetings[meeting].parts) begin(part, durations_.meetings[meeting]);
      }
    }
  }

  void begin(AstraTaskId task, std::int64_t duration) {
    order_.push_back(task);
    if (now_ > std::int64_t{9'000'000'000'000'000'000} - duration) {
      throw UserError("the run takes longer than 285 years", "check the durations and sizes of the workload");
    }
    events_.emplace(now_ + duration, sequence_++, task);
  }

  void one_wait_less(AstraTaskId task) {
    if (--waits_[task] == 0) become_ready(task);
  }

  void end(AstraTaskId id) {
    const AstraTask& task = tasks_.tasks[id];
    if (task.kind == Kind::collective) {
      const auto& meeting = tasks_.meetings[task.meeting];
      if (meeting.parts.back() == id) {
        groups_[meeting.members].busy = false;
        touched_groups_.push_back(meeting.members);
      }
    } else if (task.kind == Kind::send && !rendezvous_) {
      one_wait_less(tasks_.messages[task.meeting].receive);
    } else if (task.lane != nothing && tasks_.lanes[task.lane].is_exclusive) {
      lanes_[task.lane].busy = false;
      touched_lanes_.push_back(task.lane);
    }
    for (std::uint64_t i = begin_[id]; i < begin_[id + 1]; ++i) one_wait_less(dependents_[i]);
  }

  [[noreturn]] void report_blocked() const;
  std::string what_blocks(AstraTaskId task) const;

  const AstraTasks& tasks_;
  const AstraDurations& durations_;
  AstraPolicy policy_;
  bool rendezvous_;
  std::vector<std::uint32_t> waits_;
  std::vector<std::uint64_t> begin_;  // dependents, CSR
  std::vector<AstraTaskId> dependents_;
  std::vector<Lane> lanes_;
  std::vector<Group> groups_;
  std::vector<std::size_t> arrived_;  // by meeting
  std::vector<int> message_arrived_;
  std::vector<std::uint32_t> touched_lanes_;
  std::vector<std::uint32_t> touched_groups_;
  std::int64_t now_ = 0;
  std::int64_t arrivals_ = 0;
  std::uint64_t sequence_ = 0;
  using Event = std::tuple<std::int64_t, std::uint64_t, AstraTaskId>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<AstraTaskId> order_;
};

std::string DryRun::what_blocks(AstraTaskId id) const {
  const AstraTask& task = tasks_.tasks[id];
  const std::string own = fmt::format("`{}` (node {})", tasks_.names[task.name].substr(0, 80), task.node);
  if (task.kind == Kind::collective) {
    std::vector<std::string> missing;
    for (const auto part : tasks_.meetings[task.meeting].parts) {
      if (waits_[part] > 0) missing.push_back(std::to_string(tasks_.tasks[part].rank));
    }
    constexpr std::size_t shown = 8;
    if (missing.size() > shown) {
      missing[shown] = fmt::format("{} more", missing.size() - shown);
      missing.resize(shown + 1);
    }
    return fmt::format("{} waits for rank{} {} ({})", own, missing.size() == 1 ? "" : "s", join(missing),
                       tasks_.member_names[tasks_.meetings[task.meeting].members]);
  }
  const auto& message = tasks_.messages[task.meeting];
  return fmt::format("{} waits for rank {} to {}", own, task.kind == Kind::send ? message.to : message.from,
                     task.kind == Kind::send ? "receive" : "send");
}

// Of every rank the first node that has nothing left to wait for but others.
void DryRun::report_blocked() const {
  std::vector<bool> begun(tasks_.tasks.size());
  for (const auto task : order_) begun[task] = true;
  std::vector<std::string> lines;
  std::vector<bool> said(tasks_.ranks);
  std::size_t left = 0;
  for (AstraTaskId id = 0; id < tasks_.tasks.size(); ++id) {
    if (begun[id]) continue;
    ++left;
    const AstraTask& task = tasks_.tasks[id];
    const bool is_eager_receive = task.kind == Kind::receive && !rendezvous_;
    const bool waits_for_others =
        task.kind == Kind::collective || (rendezvous_ && task.kind == Kind::send) || task.kind == Kind::receive;
    if (!waits_for_others || said[task.rank] || waits_[id] != (is_eager_receive ? 1U : 0U)) continue;
    // An eager receive may have its message and wait for a node of its own.
    if (is_eager_receive && begun[tasks_.messages[task.meeting].send]) continue;
    said[task.rank] = true;
    if (lines.size() < 16) lines.push_back(fmt::format("\n  rank {}: {}", task.rank, what_blocks(id)));
  }
  throw UserError(fmt::format("the run cannot end: {} of {} nodes can never begin; ranks wait for each other:{}", left,
                              tasks_.tasks.size(), join(lines, "")),
                  "ranks must reach the collectives, sends and receives that they share in orders that fit");
}

}  // namespace

std::vector<AstraTaskId> astra_order(const AstraTasks& tasks, const AstraDurations& durations, AstraPolicy policy,
                                     bool rendezvous) {
  return DryRun(tasks, durations, policy, rendezvous).run();
}

}  // namespace warploom
