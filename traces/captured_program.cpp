// SPDX-License-Identifier: Apache-2.0
// Rows in an order in which nothing waits for what comes later: by time, and where clocks are too coarse, what is
// waited for first.
#include "traces/captured_program.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "traces/communication_cause.hpp"
#include "traces/recorded_time.hpp"
#include "traces/removed_operations.hpp"
#include "traces/reorder.hpp"
#include "traces/stream_lanes.hpp"

namespace warploom {

namespace {

Time picoseconds(Nanoseconds ns) { return recorded_time(std::max<Nanoseconds>(0, ns)); }

Cause compute_cause(OpClass op_class) {
  switch (op_class) {
    case OpClass::gemm:
      return Cause::gemm;
    case OpClass::attention:
      return Cause::attention;
    case OpClass::copy:
      return Cause::copy;
    default:
      return Cause::other_compute;
  }
}

bool has_events(const Capture& capture) { return !capture.device_ops.empty() || !capture.calls.empty(); }

// What one rank adds to the program.
class RankRows {
 public:
  RankRows(CapturedProgram& result, const std::vector<Capture>& captures, const std::vector<CaptureGraph>& graphs,
           const Matching& matching, const Retiming& retiming, std::vector<MeetingId>& meetings, std::uint32_t index)
      : result_(result),
        program_(result.program),
        capture_(captures[index]),
        graph_(graphs[index]),
        matching_(matching),
        retiming_(retiming),
        meetings_(meetings),
        index_(index),
        near_(tolerance(capture_)),
        rows_(result.row_of_op[index]),
        removed_(program_, graph_, retiming.removed.empty() ? nullptr : &retiming.removed[index]) {}

  void run(Nanoseconds origin) {
    origin_ = origin;
    add_streams();
    rows_.assign(capture_.device_ops.size(), none);
    made_.resize(graph_.steps.size());
    returned_.resize(graph_.returns.size());
    is_finished_.assign(graph_.returns.size(), false);
    op_state_.assign(capture_.device_ops.size(), State::untouched);
    step_state_.assign(graph_.steps.size(), State::untouched);
    first_edge_.assign(capture_.device_ops.size() + 1, 0);
    for (const auto& edge : graph_.edges) ++first_edge_[edge.to + 1];
    for (std::size_t i = 1; i < first_edge_.size(); ++i) first_edge_[i] += first_edge_[i - 1];

    const auto steps = sorted_places(graph_.steps.size(),
                                     [&](std::uint32_t a, std::uint32_t b) { return step_start(a) < step_start(b); });
    std::size_t next = 0;
    for (std::uint32_t op = 0; op < capture_.device_ops.size(); ++op) {
      while (next < steps.size() && step_start(steps[next]) <= capture_.device_ops[op].start) {
        emit({Item::Kind::step, steps[next++]});
      }
      emit({Item::Kind::op, op});
    }
    while (next < steps.size()) emit({Item::Kind::step, steps[next++]});
    for (std::uint32_t step = 0; step < graph_.steps.size(); ++step) finish_step(step);
    if (!retiming_.thread_rows) return;
    for (std::uint32_t i = 0; i < made_.size(); ++i) {
      result_.rows_of_step[index_].emplace_back(made_[i].row, returned(i).row);
    }
  }

 private:
  enum class State : std::uint8_t { untouched, open, done };
  struct Item {
    enum class Kind : std::uint8_t { step, op };
    Kind kind = Kind::op;
    std::uint32_t index = 0;
  };
  // `since` after the end of a row.
  struct Point {
    RowId row = none;
    Nanoseconds since = 0;
  };

  Nanoseconds step_start(std::uint32_t step) const { return capture_.calls[graph_.steps[step].call].start; }
  State& state(const Item& item) {
    return item.kind == Item::Kind::op ? op_state_[item.index] : step_state_[item.index];
  }

  void add_streams() {
    Role role;
    role.name = known_rank(capture_) ? "rank " + std::to_string(*known_rank(capture_)) : capture_.file;
    RankBox ranks{known_rank(capture_).value_or(index_), {}};
    if (retiming_.devices_a_capture > 1) ranks = {0, {{retiming_.devices_a_capture, 1}}};
    if (retiming_.replicas > 1) ranks.digits.push_back({retiming_.replicas, retiming_.devices});
    role.ranks = {ranks};
    if (!retiming_.slow_downs.empty()) role.slow_down = retiming_.slow_downs[index_];
    role_ = program_.add_role(std::move(role));
    const StreamId anchor = program_.add_stream({role_, StreamKind::host, "start"});
    Operation start;
    start.kind = OperationKind::think;
    start.stream = anchor;
    start.cause = Cause::idle;
    start.name = program_.add_name("start of the capture");
    begins_ = has_events(capture_) ? graph_.begin : origin_;
    const bool moved = !retiming_.starts.empty() && retiming_.starts[index_];
    start.duration = picoseconds(moved ? *retiming_.starts[index_] : begins_ - origin_);
    start_ = program_.add(start);
    for (const auto& thread : capture_.threads) {
      threads_.push_back(program_.add_stream(
          {role_, StreamKind::host, thread.name.empty() ? "thread " + std::to_string(thread.id) : thread.name}));
    }
    threads_now_.assign(capture_.threads.size(), {start_, 0});
    lanes_.emplace(capture_, program_, role_);
    think_name_ = program_.add_name("woken");
  }

  // What `item` waits for and that is not there yet comes first; a circle is cut where it closes.
  void emit(Item first) {
    if (state(first) != State::untouched) return;
    if (!has_untouched_need(first)) return emit_alone(first);
    stack_.push_back(first);
    while (!stack_.empty()) {
      const Item item = stack_.back();
      if (state(item) == State::untouched) {
        state(item) = State::open;
        const std::size_t before = stack_.size();
        for_each_need(item, [&](Item need) {
          if (state(need) == State::untouched) stack_.push_back(need);
        });
        if (stack_.size() > before) continue;
      }
      stack_.pop_back();
      if (state(item) != State::open) continue;  // it was needed twice
      add(item);
      state(item) = State::done;
    }
  }

  bool has_untouched_need(const Item& item) {
    bool any = false;
    for_each_need(item, [&](Item need) { any = any || state(need) == State::untouched; });
    return any;
  }

  void emit_alone(const Item& item) {
    state(item) = State::open;
    add(item);
    state(item) = State::done;
  }

  template <class Visit>
  void for_each_need(const Item& item, Visit visit) const {
    if (item.kind == Item::Kind::op) {
      const auto& op = capture_.device_ops[item.index];
      if (const std::uint32_t step = launching_step(op); step != nothing) visit({Item::Kind::step, step});
      if (graph_.before[item.index] != nothing) visit({Item::Kind::op, graph_.before[item.index]});
      for (const auto& edge : edges_of(item.index)) visit({Item::Kind::op, edge.from});
      return;
    }
    const auto& step = graph_.steps[item.index];
    if (step.handed_by != nothing) visit({Item::Kind::step, step.handed_by});
    if (const std::uint32_t before = step_before(item.index); before != nothing) visit({Item::Kind::step, before});
    // What a call waits for may need the call itself (a copy): its return is a row of its own, see finish_step.
  }

  std::span<const OpEdge> edges_of(std::uint32_t op) const {
    return std::span(graph_.edges).subspan(first_edge_[op], first_edge_[op + 1] - first_edge_[op]);
  }
  std::uint32_t launching_step(const DeviceOp& op) const {
    return op.launch == nothing ? nothing : graph_.step_of_call[op.launch];
  }
  std::uint32_t step_before(std::uint32_t step) const {
    if (step == 0) return nothing;
    const auto thread = [&](std::uint32_t i) { return capture_.calls[graph_.steps[i].call].thread; };
    return thread(step - 1) == thread(step) ? step - 1 : nothing;
  }

  void add(const Item& item) {
    if (item.kind == Item::Kind::op) {
      add_op(item.index);
    } else {
      add_step(item.index);
    }
  }

  // ---- Threads -----------------------------------------------------------------------------------------------------

  // A thread's steps are points in time after the last that waited for something: only those are rows.
  void add_step(std::uint32_t index) {
    const auto& step = graph_.steps[index];
    auto& now = threads_now_[capture_.calls[step.call].thread];
    const std::uint32_t before = step_before(index);
    if (before != nothing) finish_step(before);
    const Nanoseconds think = think_of(index);
    if (step.handed_by != nothing && step_state_[step.handed_by] == State::done) {
      finish_step(step.handed_by);
      const Point given = returned(step.handed_by);
      begin_row();
      need(given);
      now = {add_host_row(index, think_name_, think), 0};
    } else if (retiming_.thread_rows) {
      begin_row();
      need(now);
      now = {add_host_row(index, think_name_, think), 0};
    } else {
      now.since += think;
    }
    made_[index] = now;
    if (step.blocks()) returned_[step.blocked] = now;
  }

  // Where the thread goes on after a step.
  const Point& returned(std::uint32_t step) const {
    const std::uint32_t blocked = graph_.steps[step].blocked;
    return blocked == nothing ? made_[step] : returned_[blocked];
  }

  // The return of a call that blocks: after what it waits for.
  void finish_step(std::uint32_t index) {
    const auto& step = graph_.steps[index];
    if (!step.blocks() || is_finished_[step.blocked]) return;
    is_finished_[step.blocked] = true;
    // The operations may still have to be added; each of them only needs steps that are there.
    for (const std::uint32_t op : graph_.waits_of(step)) {
      if (op_state_[op] == State::untouched) emit_nested({Item::Kind::op, op});
    }
    begin_row();
    need(made_[index]);
    for (const std::uint32_t op : graph_.waits_of(step)) need_end(op, Time::zero());
    const Point done{add_host_row(index, name_of(capture_.calls[step.call].name), graph_.return_of(step).hold), 0};
    returned_[step.blocked] = done;
    threads_now_[capture_.calls[step.call].thread] = done;
  }

  RowId add_host_row(std::uint32_t step, NameId name, Nanoseconds duration) {
    Operation row;
    row.kind = OperationKind::think;
    row.stream = threads_[capture_.calls[graph_.steps[step].call].thread];
    row.cause = Cause::host;
    row.name = name;
    row.duration = picoseconds(duration);
    return program_.add(row, needs_, {}, used_lags());
  }

  Nanoseconds think_of(std::uint32_t step) const {
    const Nanoseconds think = retiming_.thinks.empty() ? graph_.steps[step].think : retiming_.thinks[index_][step];
    if (retiming_.think_scale == 1.0) return think;
    return static_cast<Nanoseconds>(std::llround(static_cast<double>(think) * retiming_.think_scale));
  }

  // Hostile files could nest without end: what lies too deep is cut off as a circle is.
  void emit_nested(Item item) {
    if (depth_ == deepest) return;
    ++depth_;
    std::vector<Item> outer;
    outer.swap(stack_);
    emit(item);
    stack_.swap(outer);
    --depth_;
  }

  // ---- Devices -----------------------------------------------------------------------------------------------------

  void begin_row() {
    needs_.clear();
    lags_.clear();
  }
  void need(RowId row, Time lag) {
    needs_.push_back(row);
    lags_.push_back(lag);
  }
  void need(const Point& point) { need(point.row, picoseconds(point.since)); }
  std::span<const Time> used_lags() const {
    const bool any = std::any_of(lags_.begin(), lags_.end(), [](Time lag) { return lag > Time::zero(); });
    return any ? std::span<const Time>(lags_) : std::span<const Time>();
  }

  Nanoseconds duration(std::uint32_t op) const {
    return retiming_.durations.empty() ? capture_.device_ops[op].duration : retiming_.durations[index_][op];
  }

  void add_op(std::uint32_t index) {
    if (removed_.has(index)) {
      return removed_.leave_out(index, edges_of(index), [&](std::uint32_t other) { return last_row(other); });
    }
    const auto& op = capture_.device_ops[index];
    begin_row();
    Operation row;
    const std::uint32_t before = removed_.kept_before(index);
    const auto [stream, follows_in_lane] = lanes_->place(index, before);
    row.stream = stream;
    if (before != nothing) {
      const Time lag = queue_lag(index, before);
      if (follows_in_lane) {
        row.queue_lag = lag;
      } else if (rows_[before] != none) {
        need(last_row(before), lag);
      }
    }
    for (const RowId inherited : removed_.inherited(index)) need(inherited, picoseconds(graph_.lags.event(op)));
    const bool follows = !retiming_.follows.empty() && retiming_.follows[index_][index];
    if (follows) row.queue_lag = Time::zero();
    if (!(follows && before != nothing)) add_launch(index, before);
    if (retiming_.is_serial) add_serial(op);
    for (const auto& edge : edges_of(index)) need_end(edge.from, picoseconds(graph_.lags.event(op)));
    describe(index, row);
    rows_[index] = program_.add(row, needs_, {}, used_lags());
    add_kernel_after(index, stream);
    if (op.kind != DeviceOpKind::sync) last_of_all_ = index;
  }

  // Operations that no call launched keep their recorded distance to what came before.
  Time queue_lag(std::uint32_t index, std::uint32_t before) const {
    const auto& op = capture_.device_ops[index];
    if (op.launch == nothing) return picoseconds(op.start - capture_.device_ops[graph_.before[index]].end());
    return picoseconds(graph_.lags.queue(capture_.device_ops[before], op));
  }

  // ---- What is removed and added -----------------------------------------------------------------------------------

  // The end of an operation; of one that is removed, of all that it waited for.
  void need_end(std::uint32_t op, Time lag) {
    const auto* gap = removed_.gap(op);
    const std::uint32_t end = gap != nullptr ? gap->before : op;
    if (gap != nullptr) {
      for (const RowId row : gap->rows) need(row, lag);
    }
    if (end != nothing && rows_[end] != none) {
      need(last_row(end), lag);
    } else if (gap == nullptr) {
      ++result_.dropped_edges;
    }
  }

  // That ends last of an operation and of what is added after it.
  RowId last_row(std::uint32_t op) const {
    const auto& added = result_.added_after[index_];
    const auto place = added.find(op);
    return place == added.end() ? rows_[op] : place->second;
  }

  void add_kernel_after(std::uint32_t op, StreamId stream) {
    if (retiming_.added.empty()) return;
    const auto place = retiming_.added[index_].find(op);
    if (place == retiming_.added[index_].end()) return;
    Operation row;
    row.stream = stream;
    row.name = program_.add_name("added");
    row.duration = picoseconds(place->second);
    row.queue_lag = picoseconds(graph_.lags.typical_queue());
    result_.added_after[index_].emplace(op, program_.add(row));
  }

  // What runs on this rank one after another, whatever stream it is on.
  void add_serial(const DeviceOp& op) {
    if (op.kind == DeviceOpKind::sync) return;
    if (last_of_all_ != nothing && rows_[last_of_all_] != none) need(last_row(last_of_all_), Time::zero());
  }

  void add_launch(std::uint32_t index, std::uint32_t before) {
    const auto& op = capture_.device_ops[index];
    const std::uint32_t step = launching_step(op);
    if (retiming_.graphs && before != nothing) return;
    if (step != nothing && step_state_[step] == State::done) {
      const Nanoseconds latency = retiming_.launch_latency.value_or(graph_.lags.launch(capture_, index));
      need({made_[step].row, made_[step].since + latency});
    } else if (before == nothing) {
      need(start_, picoseconds(op.start - begins_));
    }
  }

  void describe(std::uint32_t index, Operation& row) {
    const auto& op = capture_.device_ops[index];
    row.name = name_of(op.name);
    row.duration = picoseconds(duration(index));
    if (op.op_class == OpClass::communication && op.kind == DeviceOpKind::kernel) {
      row.kind = OperationKind::collective;
      row.cause = communication_cause(group_description(capture_, op));
      row.meeting = meeting_of(index);
    } else if (op.kind == DeviceOpKind::copy || op.kind == DeviceOpKind::fill) {
      row.kind = OperationKind::copy;
      row.cause = Cause::copy;
    } else if (op.kind == DeviceOpKind::sync) {
      row.kind = OperationKind::think;
      row.cause = Cause::idle;
    } else {
      row.kind = OperationKind::compute;
      row.cause = compute_cause(op.op_class);
    }
  }

  // Texts and names are both held once: each meets the other once.
  NameId name_of(TextId text) {
    if (text == nothing) return none;
    if (names_.empty()) names_.assign(capture_.texts.size(), none);
    if (names_[text] == none) names_[text] = program_.add_name(capture_.texts[text]);
    return names_[text];
  }

  MeetingId meeting_of(std::uint32_t op) {
    const std::uint32_t matched = matching_.of_op[index_][op];
    if (matched == nothing) return program_.add_recorded_meeting(picoseconds(duration(op)), 1);
    auto& meeting = meetings_[matched];
    if (meeting != none) return meeting;
    const auto& collective = matching_.collectives[matched];
    std::uint32_t parties = 0;
    Nanoseconds transfer = std::numeric_limits<Nanoseconds>::max();
    for (const auto& member : collective.members) {
      if (!retiming_.removed.empty() && retiming_.removed[member.capture][member.op]) continue;
      ++parties;
      transfer = std::min(transfer, member_duration(member));
    }
    if (matched < retiming_.collectives.size() && retiming_.collectives[matched]) {
      const PlannedCall& planned = *retiming_.collectives[matched];
      meeting = program_.add_meeting(program_.add_call(planned.call), parties, planned.stretch);
    } else {
      meeting = program_.add_recorded_meeting(picoseconds(transfer), parties);
    }
    return meeting;
  }

  Nanoseconds member_duration(const CollectiveMember& member) const {
    if (!retiming_.durations.empty()) return retiming_.durations[member.capture][member.op];
    return matching_.collectives[matching_.of_op[member.capture][member.op]].transfer;
  }

  CapturedProgram& result_;
  Program& program_;
  const Capture& capture_;
  const CaptureGraph& graph_;
  const Matching& matching_;
  const Retiming& retiming_;
  std::vector<MeetingId>& meetings_;
  std::uint32_t index_;
  Nanoseconds near_;
  std::vector<RowId>& rows_;
  RemovedOperations removed_;
  Nanoseconds origin_ = 0;
  Nanoseconds begins_ = 0;  // the capture's first event
  RoleId role_ = 0;
  RowId start_ = none;
  NameId think_name_ = none;
  std::vector<NameId> names_;  // by text
  std::vector<StreamId> threads_;
  std::vector<Point> threads_now_;
  std::optional<StreamLanes> lanes_;
  std::vector<Point> made_;      // by step: its call
  std::vector<Point> returned_;  // by step that blocks: its return
  std::vector<bool> is_finished_;
  std::vector<State> op_state_;
  std::vector<State> step_state_;
  std::vector<std::uint32_t> first_edge_;
  std::vector<Item> stack_;
  static constexpr int deepest = 64;
  int depth_ = 0;
  std::uint32_t last_of_all_ = nothing;  // operation that was added last
  std::vector<RowId> needs_;
  std::vector<Time> lags_;
};

// One row an operation and a step that waits for something; more where threads stand in rows of their own.
void reserve(Program& program, const std::vector<Capture>& captures, const std::vector<CaptureGraph>& graphs) {
  std::size_t rows = captures.size();
  std::size_t needs = 0;
  for (std::size_t i = 0; i < captures.size(); ++i) {
    rows += captures[i].device_ops.size() + graphs[i].returns.size();
    needs += captures[i].device_ops.size() + graphs[i].returns.size() + graphs[i].edges.size() + graphs[i].waits.size();
  }
  program.reserve(rows, needs);
  program.queue_lags.reserve(rows);
  program.dependency_lags.reserve(needs);
}

}  // namespace

CapturedProgram make_program(const std::vector<Capture>& captures, const std::vector<CaptureGraph>& graphs,
                             const Matching& matching, const Retiming& retiming) {
  WARPLOOM_CHECK(captures.size() == graphs.size(), "{} graphs for {} captures", graphs.size(), captures.size());
  CapturedProgram result;
  result.row_of_op.resize(captures.size());
  result.rows_of_step.resize(captures.size());
  result.added_after.resize(captures.size());
  // One clock: the earliest of all that happened is the program's zero.
  Nanoseconds zero = std::numeric_limits<Nanoseconds>::max();
  for (std::size_t i = 0; i < captures.size(); ++i) {
    if (has_events(captures[i])) zero = std::min(zero, graphs[i].begin - matching.clock_offset[i]);
  }
  if (zero == std::numeric_limits<Nanoseconds>::max()) zero = 0;
  for (const auto& group : retiming.groups) result.program.add_group(group);
  std::vector<MeetingId> meetings(matching.collectives.size(), none);
  reserve(result.program, captures, graphs);
  for (std::uint32_t i = 0; i < captures.size(); ++i) {
    result.origin.push_back(zero + matching.clock_offset[i]);
    RankRows(result, captures, graphs, matching, retiming, meetings, i).run(result.origin.back());
  }
  return result;
}

}  // namespace warploom
