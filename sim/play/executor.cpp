// SPDX-License-Identifier: Apache-2.0
// The run of a program: who waits for whom, when hosts launch, where rows meet, which step of its plan a call is in.
#include "sim/play/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/engine.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/index_lists.hpp"
#include "sim/play/device_sharing.hpp"

namespace warploom {

namespace {

bool communicates(OperationKind kind) {
  return kind == OperationKind::collective || kind == OperationKind::send || kind == OperationKind::recv ||
         kind == OperationKind::fused;
}
bool computes(OperationKind kind) {
  return kind == OperationKind::compute || kind == OperationKind::copy || kind == OperationKind::fused;
}
bool is_launched(OperationKind kind) {
  return kind != OperationKind::host && kind != OperationKind::marker && kind != OperationKind::think;
}

// At the same rates it takes so many times as long.
Bundle stretched(Bundle bundle, double by) {
  bundle.bytes_per_flow = bundle.bytes_per_flow * by;
  bundle.first = bundle.first * by;
  return bundle;
}

class Executor final : public EventSink, public BundleListener, public SharingListener {
 public:
  Executor(const Program& program, const Machine& machine, const PlayOptions& options);
  Timeline run();

 private:
  // What an event of this class means; the row or run is in the low 32 bits.
  enum class Event : std::uint32_t { begin_row, host_done, next_step, bundle_done, recorded_done, meeting_done };
  void schedule(Time at, Event event, std::uint32_t subject) {
    engine_.at(at, *this, static_cast<std::uint64_t>(event) << 32 | subject);
  }
  void on_event(std::uint64_t payload) override;

  void resolve_plans();
  void end_row(RowId row);
  // Launched, and past its lags; of a row that has not begun.
  Time& not_before(RowId row) { return timeline_.ready[row]; }
  void one_wait_less(RowId row, Release release, RowId by);
  void apply_lags(RowId row);
  void begin_row(RowId row);
  void finish_part(RowId row);

  void advance_host(RoleId role);
  void start_kernel(RowId row);
  void start_recorded(RowId row);
  void on_kernel_done(RowId row) override {
    finish_part(row);
    drain();
  }

  void arrive(RowId row);
  void finish_parties(MeetingId meeting);
  void start_call(MeetingId meeting);
  void next_step(std::uint32_t run);
  void end_call(std::uint32_t run);
  void on_bundle_done(std::uint64_t token, bool alike) override;
  void on_call_limit(std::uint32_t call_run, RoleId role, Bandwidth wire_rate) override;
  void apply_limits(std::uint32_t run);

  // Rows that became ready in this event begin one after another, not inside each other.
  void drain();
  [[noreturn]] void report_deadlock() const;

  // One line of memory a row, where columns would be four.
  struct RowState {
    RowId next_on_stream = none;
    RowId previous_on_stream = none;
    std::uint32_t waits = 1;  // dependencies + stream predecessor + launch
    std::uint8_t parts = 1;   // kernel, meeting: what has to end before the row ends
  };
  struct Host {
    Time clock = Time::zero();
    RowId last = none;       // the host row that ended last
    std::size_t cursor = 0;  // next row to launch
    bool busy = false;
  };
  struct Gathering {
    std::uint32_t arrived = 0;
    std::uint32_t run = none;
  };
  struct CallRun {
    MeetingId meeting = 0;
    const Plan* plan = nullptr;
    double stretch = 1;  // of the plan
    std::size_t step = 0;
    std::uint32_t open_bundles = 0;
    std::vector<BundleId> bundles;                  // of this step; `none` once ended
    std::vector<std::pair<RoleId, double>> limits;  // wire rate that a role allows
  };

  const Program& program_;
  const Machine& machine_;
  const PlayOptions& options_;
  Engine engine_;
  Timeline timeline_;
  std::unique_ptr<Fabric> fabric_;
  DeviceSharing sharing_;

  IndexLists dependents_;
  IndexLists rows_of_role_;
  IndexLists parties_;
  std::vector<RowState> states_;  // by row
  std::vector<Host> hosts_;
  std::vector<Gathering> gatherings_;  // by meeting
  std::vector<CallRun> runs_;
  std::vector<std::uint32_t> free_runs_;
  std::vector<RowId> ready_;
  std::size_t rows_done_ = 0;
};

Executor::Executor(const Program& program, const Machine& machine, const PlayOptions& options)
    : program_(program),
      machine_(machine),
      options_(options),
      sharing_(engine_, program, machine, *this),
      dependents_(program.size(),
                  [&](auto emit) {
                    for (RowId row = 0; row < program.size(); ++row) {
                      for (const RowId before : program.dependencies(row)) emit(before, row);
                    }
                  }),
      rows_of_role_(program.roles.size(),
                    [&](auto emit) {
                      for (RowId row = 0; row < program.size(); ++row) emit(program.role_of(row), row);
                    }),
      parties_(program.meetings.size(),
               [&](auto emit) {
                 for (RowId row = 0; row < program.size(); ++row) {
                   if (program.meeting[row] != none) emit(program.meeting[row], row);
                 }
               }),
      states_(program.size()),
      hosts_(program.roles.size()),
      gatherings_(program.meetings.size()) {
  const std::size_t rows = program.size();
  for (auto* column : {&timeline_.ready, &timeline_.begin, &timeline_.end, &timeline_.alone}) {
    column->assign(rows, Time::zero());
  }
  timeline_.release.assign(rows, Release::start);
  timeline_.released_by.assign(rows, none);
  timeline_.last_party.resize(rows);
  timeline_.kernel_costs.resize(machine.device_classes.size() * program.kernels.size());

  std::vector<RowId> last_on_stream(program.streams.size(), none);
  for (RowId row = 0; row < rows; ++row) {
    timeline_.last_party[row] = row;
    auto& state = states_[row];
    state.waits += static_cast<std::uint32_t>(program.dependencies(row).size());
    if (program.kind[row] == OperationKind::fused) state.parts = 2;
    auto& last = last_on_stream[program.stream[row]];
    if (last != none) {
      states_[last].next_on_stream = row;
      state.previous_on_stream = last;
      ++state.waits;
    }
    last = row;
  }
}

// All calls are planned before the run, so that the fabric can fold links and flows.
void Executor::resolve_plans() {
  std::vector<Traffic> traffic;
  timeline_.plans.reserve(program_.calls.size());
  for (const auto& call : program_.calls) {
    timeline_.plans.push_back(machine_.planner->plan(call, program_.groups[call.group]));
    for (const auto& step : timeline_.plans.back().steps) {
      for (const auto& bundle : step.bundles) traffic.push_back(bundle.traffic);
    }
  }
  std::sort(traffic.begin(), traffic.end());
  traffic.erase(std::unique(traffic.begin(), traffic.end()), traffic.end());
  if (machine_.fabric) {
    fabric_ = machine_.fabric(engine_, *this);
    fabric_->prepare(program_.groups, traffic);
  }
}

Timeline Executor::run() {
  for (MeetingId meeting = 0; meeting < program_.meetings.size(); ++meeting) {
    WARPLOOM_CHECK(parties_[meeting].size() == program_.meetings[meeting].parties,
                   "meeting {} has {} rows for {} parties", meeting, parties_[meeting].size(),
                   program_.meetings[meeting].parties);
  }
  resolve_plans();
  for (RoleId role = 0; role < program_.roles.size(); ++role) advance_host(role);
  drain();
  engine_.run();
  if (rows_done_ != program_.size()) report_deadlock();
  timeline_.events = engine_.processed();
  if (fabric_) timeline_.fabric = fabric_->counters();
  return std::move(timeline_);
}

void Executor::on_event(std::uint64_t payload) {
  const auto subject = static_cast<std::uint32_t>(payload);
  switch (static_cast<Event>(payload >> 32)) {
    case Event::begin_row:
      begin_row(subject);
      break;
    case Event::host_done: {
      const RoleId role = program_.role_of(subject);
      hosts_[role].clock = engine_.now();
      hosts_[role].last = subject;
      hosts_[role].busy = false;
      end_row(subject);
      advance_host(role);
      break;
    }
    case Event::next_step:
      next_step(subject);
      break;
    case Event::bundle_done: {
      auto& run = runs_[subject];
      if (--run.open_bundles == 0) {
        ++run.step;
        next_step(subject);
      }
      break;
    }
    case Event::recorded_done:
      finish_part(subject);
      break;
    case Event::meeting_done:
      finish_parties(subject);
      break;
  }
  drain();
}

void Executor::drain() {
  for (std::size_t i = 0; i < ready_.size(); ++i) begin_row(ready_[i]);
  ready_.clear();
}

// ---- Rows ---------------------------------------------------------------------------------------------------------

void Executor::one_wait_less(RowId row, Release release, RowId by) {
  const bool is_host = program_.kind[row] == OperationKind::host;
  // The last wait of a host row is its turn, which advance_host gives.
  if (--states_[row].waits > (is_host ? 1 : 0)) return;
  timeline_.release[row] = release;
  timeline_.released_by[row] = by;
  if (is_host) return advance_host(program_.role_of(row));
  if (not_before(row) > engine_.now()) {
    timeline_.release[row] = Release::host;
    timeline_.released_by[row] = hosts_[program_.role_of(row)].last;
  }
  if (program_.has_lags()) apply_lags(row);
  if (not_before(row) > engine_.now()) return schedule(not_before(row), Event::begin_row, row);
  ready_.push_back(row);
}

// All that `row` waits for has ended; what it waited for longest, lag included, released it.
void Executor::apply_lags(RowId row) {
  const auto hold = [&](RowId before, Time lag) {
    const Time until = timeline_.end[before] + lag;
    if (until <= std::max(not_before(row), engine_.now())) return;
    not_before(row) = until;
    timeline_.release[row] = Release::row;
    timeline_.released_by[row] = before;
  };
  const auto dependencies = program_.dependencies(row);
  for (std::size_t i = 0; i < dependencies.size(); ++i) hold(dependencies[i], program_.dependency_lag(row, i));
  if (states_[row].previous_on_stream != none) hold(states_[row].previous_on_stream, program_.queue_lag(row));
}

void Executor::begin_row(RowId row) {
  timeline_.ready[row] = engine_.now();
  timeline_.begin[row] = engine_.now();
  const OperationKind kind = program_.kind[row];
  if (kind == OperationKind::marker) return end_row(row);
  if (communicates(kind)) return arrive(row);
  if (kind == OperationKind::think || program_.kernel[row] == none) return start_recorded(row);
  start_kernel(row);
}

void Executor::finish_part(RowId row) {
  if (--states_[row].parts == 0) end_row(row);
}

void Executor::end_row(RowId row) {
  timeline_.end[row] = engine_.now();
  if (communicates(program_.kind[row]) && !computes(program_.kind[row])) {
    timeline_.alone[row] = timeline_.end[row] - timeline_.begin[row];
  }
  timeline_.makespan = std::max(timeline_.makespan, engine_.now());
  ++rows_done_;
  if (options_.progress && rows_done_ % 65536 == 0) options_.progress(rows_done_, program_.size());
  for (const RowId dependent : dependents_[row]) one_wait_less(dependent, Release::row, row);
  if (states_[row].next_on_stream != none) one_wait_less(states_[row].next_on_stream, Release::row, row);
}

// ---- Hosts --------------------------------------------------------------------------------------------------------

// The host launches its rows in program order, each `launch` after the one before, until a host row has to wait.
void Executor::advance_host(RoleId role) {
  auto& host = hosts_[role];
  const auto rows = rows_of_role_[role];
  while (!host.busy && host.cursor < rows.size()) {
    const RowId row = rows[host.cursor];
    if (program_.kind[row] == OperationKind::host) {
      if (states_[row].waits > 1) return;
      const Time begin = std::max(host.clock, engine_.now());
      timeline_.ready[row] = timeline_.begin[row] = begin;
      timeline_.alone[row] = program_.duration[row];
      const RowId by = timeline_.released_by[row];
      if (by == none || timeline_.end[by] != begin) {
        timeline_.release[row] = Release::host;
        timeline_.released_by[row] = host.last;
      }
      states_[row].waits = 0;
      host.busy = true;
      ++host.cursor;
      schedule(begin + program_.duration[row], Event::host_done, row);
      return;
    }
    ++host.cursor;
    if (is_launched(program_.kind[row])) host.clock += program_.roles[role].launch;
    not_before(row) = host.clock;
    one_wait_less(row, host.clock == Time::zero() ? Release::start : Release::host, host.last);
  }
}

// ---- Kernels ------------------------------------------------------------------------------------------------------

void Executor::start_kernel(RowId row) {
  const RoleId role = program_.role_of(row);
  const auto& of_role = program_.roles[role];
  auto& cost = timeline_.kernel_costs[of_role.device_class * program_.kernels.size() + program_.kernel[row]];
  if (cost.duration == Time::zero()) {
    cost = machine_.device_classes[of_role.device_class].timer->cost(program_.kernels[program_.kernel[row]]);
  }
  const Time alone = of_role.slow_down == 1.0 ? cost.duration : cost.duration * of_role.slow_down;
  timeline_.alone[row] = alone;
  sharing_.start_kernel(role, row, alone, cost);
}

void Executor::start_recorded(RowId row) {
  const double slow_down = program_.roles[program_.role_of(row)].slow_down;
  const bool is_slowed = slow_down != 1.0 && program_.kind[row] != OperationKind::think;
  const Time alone = is_slowed ? program_.duration[row] * slow_down : program_.duration[row];
  timeline_.alone[row] = alone;
  schedule(engine_.now() + alone, Event::recorded_done, row);
}

// ---- Calls --------------------------------------------------------------------------------------------------------

void Executor::arrive(RowId row) {
  const MeetingId meeting = program_.meeting[row];
  if (++gatherings_[meeting].arrived < program_.meetings[meeting].parties) return;
  for (const RowId party : parties_[meeting]) {
    timeline_.begin[party] = engine_.now();
    timeline_.last_party[party] = row;
  }
  if (program_.meetings[meeting].call != none) return start_call(meeting);
  gatherings_[meeting].run = meeting;
  schedule(engine_.now() + program_.meetings[meeting].duration, Event::meeting_done, meeting);
}

void Executor::finish_parties(MeetingId meeting) {
  for (const RowId party : parties_[meeting]) finish_part(party);
}

void Executor::start_call(MeetingId meeting) {
  std::uint32_t id = 0;
  if (free_runs_.empty()) {
    id = static_cast<std::uint32_t>(runs_.size());
    runs_.emplace_back();
  } else {
    id = free_runs_.back();
    free_runs_.pop_back();
  }
  auto& run = runs_[id];
  run.meeting = meeting;
  run.plan = &timeline_.plans[program_.meetings[meeting].call];
  run.stretch = program_.meetings[meeting].stretch;
  run.step = 0;
  run.open_bundles = 0;
  run.bundles.clear();
  run.limits.clear();
  gatherings_[meeting].run = id;
  timeline_.members_alike = timeline_.members_alike && run.plan->members_alike;

  // Several senders stand for pairs that unfolded would each begin when their own two are ready.
  Time first = Time::max();
  Time last = Time::zero();
  std::uint32_t senders = 0;
  for (const RowId party : parties_[meeting]) {
    if (program_.kind[party] == OperationKind::fused) start_kernel(party);
    sharing_.start_call(program_.role_of(party), id, *run.plan);
    if (program_.kind[party] == OperationKind::send) {
      ++senders;
      first = std::min(first, timeline_.ready[party]);
      last = std::max(last, timeline_.ready[party]);
    }
  }
  if (senders > 1 && first != last) timeline_.members_alike = false;
  next_step(id);
}

// A step is entered twice: first its latency passes, then its bundles start. `bundles` is empty in between.
void Executor::next_step(std::uint32_t id) {
  while (true) {
    auto& run = runs_[id];
    if (run.step == run.plan->steps.size()) return end_call(id);
    const auto& step = run.plan->steps[run.step];
    const bool latency_passed = run.open_bundles == none;
    if (!latency_passed && step.latency > Time::zero()) {
      run.open_bundles = none;
      const Time latency = run.stretch == 1 ? step.latency : step.latency * run.stretch;
      return schedule(engine_.now() + latency, Event::next_step, id);
    }
    run.bundles.clear();
    run.open_bundles = static_cast<std::uint32_t>(step.bundles.size());
    for (const auto& bundle : step.bundles) {
      const std::uint64_t place = run.bundles.size();
      run.bundles.push_back(
          fabric_->start(run.stretch == 1 ? bundle : stretched(bundle, run.stretch), place << 32 | id));
    }
    if (run.open_bundles > 0) return apply_limits(id);
    ++run.step;
  }
}

void Executor::on_bundle_done(std::uint64_t token, bool alike) {
  timeline_.members_alike = timeline_.members_alike && alike;
  const auto id = static_cast<std::uint32_t>(token);
  runs_[id].bundles[token >> 32] = none;  // its id may name another bundle from now on
  // Not here: the fabric is in the middle of its own work.
  schedule(engine_.now(), Event::bundle_done, id);
}

void Executor::on_call_limit(std::uint32_t call_run, RoleId role, Bandwidth wire_rate) {
  auto& run = runs_[call_run];
  const auto place =
      std::find_if(run.limits.begin(), run.limits.end(), [&](const auto& limit) { return limit.first == role; });
  if (place == run.limits.end()) {
    run.limits.emplace_back(role, wire_rate.value());
  } else {
    place->second = wire_rate.value();
  }
  const bool moves = run.open_bundles != none && run.open_bundles > 0;
  if (moves) apply_limits(call_run);
}

// The least rate that one of the roles allows holds for all flows.
void Executor::apply_limits(std::uint32_t id) {
  const auto& run = runs_[id];
  if (run.limits.empty()) return;
  double least = 0;
  for (const auto& [role, rate] : run.limits) {
    if (rate > 0) least = least > 0 ? std::min(least, rate) : rate;
  }
  for (const BundleId bundle : run.bundles) {
    if (bundle != none) fabric_->limit(bundle, Bandwidth{least});
  }
}

void Executor::end_call(std::uint32_t id) {
  const MeetingId meeting = runs_[id].meeting;
  free_runs_.push_back(id);
  for (const RowId party : parties_[meeting]) sharing_.end_call(program_.role_of(party), id);
  finish_parties(meeting);
}

void Executor::report_deadlock() const {
  std::string text;
  int shown = 0;
  for (RowId row = 0; row < program_.size() && shown < 5; ++row) {
    const MeetingId meeting = program_.meeting[row];
    if (meeting == none || states_[row].waits > 0 || gatherings_[meeting].run != none) continue;
    const auto& stream = program_.streams[program_.stream[row]];
    text += fmt::format("\n  row {} ({}) of role `{}`, stream `{}`: {} of {} have come", row,
                        program_.row_name[row] == none ? "unnamed" : program_.names[program_.row_name[row]],
                        program_.roles[stream.role].name, stream.name, gatherings_[meeting].arrived,
                        program_.meetings[meeting].parties);
    ++shown;
  }
  throw UserError(fmt::format("the program cannot end: {} of {} rows never ran; these wait for each other:{}",
                              program_.size() - rows_done_, program_.size(), text));
}

}  // namespace

Timeline play(const Program& program, const Machine& machine, const PlayOptions& options) {
  return Executor(program, machine, options).run();
}

}  // namespace warploom
