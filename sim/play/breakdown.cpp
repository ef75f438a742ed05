// SPDX-License-Identifier: Apache-2.0
// The sweep over a role's kernels, and the walk that explains the gaps between them.
#include "sim/play/breakdown.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

bool computes(OperationKind kind) { return kind == OperationKind::compute || kind == OperationKind::fused; }
bool meets(OperationKind kind) {
  return kind == OperationKind::collective || kind == OperationKind::send || kind == OperationKind::recv ||
         kind == OperationKind::fused;
}
bool is_peer_to_peer(OperationKind kind) { return kind == OperationKind::send || kind == OperationKind::recv; }

struct Interval {
  Time begin;
  Time end;
};

// What the rules need to know beyond the columns.
struct Index {
  explicit Index(const Program& program, const Timeline& timeline)
      : kernels(program.roles.size()),
        copies(program.roles.size()),
        last_row(program.roles.size(), none),
        before_on_stream(program.size(), none) {
    std::vector<RowId> last_on_stream(program.streams.size(), none);
    for (RowId row = 0; row < program.size(); ++row) {
      const OperationKind kind = program.kind[row];
      const RoleId role = program.role_of(row);
      before_on_stream[row] = std::exchange(last_on_stream[program.stream[row]], row);
      RowId& last = last_row[role];
      if (last == none || timeline.end[row] >= timeline.end[last]) last = row;
      spans_pipeline = spans_pipeline || is_peer_to_peer(kind) || program.spans_pipeline[row];
      if (timeline.begin[row] == timeline.end[row]) continue;
      if (computes(kind)) kernels[role].push_back(row);
      if (kind == OperationKind::copy) copies[role].push_back(row);
    }
    const auto by_begin = [&](RowId a, RowId b) {
      return timeline.begin[a] != timeline.begin[b] ? timeline.begin[a] < timeline.begin[b] : a < b;
    };
    for (auto* lists : {&kernels, &copies}) {
      for (auto& rows : *lists) {
        if (!std::is_sorted(rows.begin(), rows.end(), by_begin)) std::sort(rows.begin(), rows.end(), by_begin);
      }
    }
  }

  std::vector<std::vector<RowId>> kernels;  // by role, in order of their begin; those that take time
  std::vector<std::vector<RowId>> copies;
  std::vector<RowId> last_row;  // by role: the row that ends last
  std::vector<RowId> before_on_stream;
  bool spans_pipeline = false;
};

// One role's breakdown in the making.
class RoleSweep {
 public:
  RoleSweep(const Program& program, const Timeline& timeline, const Index& index, RoleId role)
      : program_(program), timeline_(timeline), index_(index), role_(role) {}

  RoleTime run() {
    own_copies();
    Time done = Time::zero();
    for (const RowId row : index_.kernels[role_]) {
      if (timeline_.end[row] <= done) continue;
      const Time begin = std::max(done, timeline_.begin[row]);
      if (begin > done) explain_until_begin(row, done);
      done = timeline_.end[row];
      own(row, done - begin);
    }
    if (const RowId last = index_.last_row[role_]; last != none && timeline_.end[last] > done) {
      explain_until_end(last, done);
      done = timeline_.end[last];
    }
    add(index_.spans_pipeline ? Cause::bubble : Cause::idle, uncovered(done, timeline_.makespan));

    Time sum = Time::zero();
    for (const Time time : result_.by_cause) sum += time;
    WARPLOOM_CHECK(sum == timeline_.makespan, "the causes of role `{}` add up to {} ps of {} ps",
                   program_.roles[role_].name, sum.ps(), timeline_.makespan.ps());
    return result_;
  }

 private:
  void add(Cause cause, Time time) { result_.by_cause[static_cast<std::size_t>(cause)] += time; }

  bool is_forward_or_backward(RowId row) const {
    return program_.phase[row] == Phase::forward || program_.phase[row] == Phase::backward;
  }

  // `row` owns `time` of its duration: what it would take alone goes to its cause, the rest is interference.
  void own(RowId row, Time time) {
    const Time duration = timeline_.end[row] - timeline_.begin[row];
    const Time alone = std::clamp(timeline_.alone[row], Time::zero(), duration);
    const Time part = time == duration ? alone : std::min(time, time * (alone / duration));
    add(program_.cause[row], part);
    add(Cause::interference, time - part);
    if (computes(program_.kind[row]) && is_forward_or_backward(row)) result_.forward_backward += time;
  }

  // ---- Copies: they own where no kernel runs -----------------------------------------------------------------------

  // Cuts the copies to where they are the first begun and no kernel runs, charges them, and remembers where that was.
  void own_copies() {
    const auto& kernels = index_.kernels[role_];
    std::size_t next_kernel = 0;
    Time done = Time::zero();           // copies own up to here
    Time kernels_until = Time::zero();  // the kernels before `next_kernel` run up to here
    for (const RowId row : index_.copies[role_]) {
      const Time end = timeline_.end[row];
      Time at = std::max(done, timeline_.begin[row]);
      Time owned = Time::zero();
      while (at < end) {
        while (next_kernel < kernels.size() && timeline_.begin[kernels[next_kernel]] <= at) {
          kernels_until = std::max(kernels_until, timeline_.end[kernels[next_kernel++]]);
        }
        const Time from = std::max(at, kernels_until);
        const Time next = next_kernel < kernels.size() ? timeline_.begin[kernels[next_kernel]] : end;
        const Time to = std::min(end, next);
        if (from < to) {
          covered_.push_back({from, to});
          covered_sum_.push_back(covered_sum_.back() + (to - from));
          owned += to - from;
        }
        at = std::max(from, to);
      }
      done = std::max(done, end);
      if (owned > Time::zero()) own(row, owned);
    }
  }

  // Length of [0, time) that copies own.
  Time covered_before(Time time) const {
    const auto after = std::upper_bound(covered_.begin(), covered_.end(), time,
                                        [](Time t, const Interval& interval) { return t < interval.begin; });
    const auto count = static_cast<std::size_t>(after - covered_.begin());
    if (count == 0) return Time::zero();
    return covered_sum_[count] - (covered_[count - 1].end - std::min(covered_[count - 1].end, time));
  }
  Time uncovered(Time begin, Time end) const {
    if (covered_.empty()) return end - begin;
    return (end - begin) - (covered_before(end) - covered_before(begin));
  }

  // ---- Gaps --------------------------------------------------------------------------------------------------------

  // The rest of the gap from `since` on is due to `cause`; what is left of the gap ends at `since`.
  void charge(Cause cause, Time since, RowId row) {
    since = std::max(since, gap_begin_);
    if (since >= gap_end_) return;
    const Time time = uncovered(since, gap_end_);
    add(cause, time);
    const bool is_work = cause >= Cause::exposed_tp && cause <= Cause::exposed_ep;
    if (is_work && is_forward_or_backward(row)) {
      result_.forward_backward += time;
    }
    gap_end_ = since;
  }

  // Explains [gap_begin, begin of `row`).
  void explain_until_begin(RowId row, Time gap_begin) {
    gap_begin_ = gap_begin;
    gap_end_ = timeline_.begin[row];
    walk(row);
  }

  // Explains [gap_begin, end of `row`).
  void explain_until_end(RowId row, Time gap_begin) {
    gap_begin_ = gap_begin;
    gap_end_ = timeline_.end[row];
    charge_run(row);
    walk(row);
  }

  // What is left of the gap ends where `row` begins.
  void walk(RowId row) {
    while (row != none && gap_end_ > gap_begin_) {
      charge_parties(row);
      row = charge_release(row);
      if (row != none) charge_run(row);
    }
    charge(Cause::idle, gap_begin_, none);
  }

  // While `row` itself ran; a kernel cannot be what a gap waited in. After its end there were lags: a launch on its
  // way, the front end between two kernels.
  void charge_run(RowId row) {
    charge(program_.kind[row] == OperationKind::think ? Cause::host : Cause::idle, timeline_.end[row], row);
    charge(computes(program_.kind[row]) ? Cause::idle : program_.cause[row], timeline_.begin[row], row);
  }

  // While `row` waited for the last party of its meeting.
  void charge_parties(RowId row) {
    const OperationKind kind = program_.kind[row];
    if (!meets(kind)) return;
    const RowId last = timeline_.last_party[row];
    const bool host_was_late = last != row && last < program_.size() && was_launched_late(last);
    const bool pipeline = is_peer_to_peer(kind) || program_.spans_pipeline[row];
    charge(host_was_late ? Cause::host : pipeline ? Cause::bubble : Cause::skew, timeline_.ready[row], row);
  }

  bool was_launched_late(RowId row) const {
    if (timeline_.release[row] == Release::host) return true;
    const RowId by = timeline_.released_by[row];
    return timeline_.release[row] == Release::row && by < row && program_.kind[by] == OperationKind::think;
  }

  // Why `row` was not ready earlier; returns the row of this role that explains what came before, or none.
  RowId charge_release(RowId row) {
    const RowId by = timeline_.released_by[row];
    const bool is_known = by != none && by < row;  // rows are released by earlier ones; anything else would not end
    switch (timeline_.release[row]) {
      case Release::start:
        return none;
      case Release::host:
        charge(Cause::host, is_known ? timeline_.end[by] : Time::zero(), row);
        return is_known ? by : none;
      case Release::row:
        break;
    }
    if (!is_known) return none;
    if (program_.role_of(by) == role_) return by;
    const RowId own_row = latest_of_own_role(row);
    const Time since = own_row != none ? timeline_.end[own_row] : Time::zero();
    charge(index_.spans_pipeline ? Cause::bubble : Cause::skew, since, row);
    return own_row;
  }

  // Of all that `row` waited for in its own role, what ended last.
  RowId latest_of_own_role(RowId row) const {
    RowId latest = index_.before_on_stream[row];
    for (const RowId before : program_.dependencies(row)) {
      if (program_.role_of(before) != role_) continue;
      if (latest == none || timeline_.end[before] > timeline_.end[latest]) latest = before;
    }
    return latest;
  }

  const Program& program_;
  const Timeline& timeline_;
  const Index& index_;
  RoleId role_;
  RoleTime result_;
  std::vector<Interval> covered_;             // where copies own, in order
  std::vector<Time> covered_sum_ = {Time()};  // length of the first i of them
  Time gap_begin_;
  Time gap_end_;  // what is left of the gap is [gap_begin_, gap_end_)
};

}  // namespace

std::vector<RoleTime> break_down(const Program& program, const Timeline& timeline) {
  const Index index(program, timeline);
  std::vector<RoleTime> times;
  times.reserve(program.roles.size());
  for (RoleId role = 0; role < program.roles.size(); ++role) {
    times.push_back(RoleSweep(program, timeline, index, role).run());
  }
  return times;
}

}  // namespace warploom
