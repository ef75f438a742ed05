// SPDX-License-Identifier: Apache-2.0
// The walk back along what released each row.
#include "sim/play/critical_path.hpp"

#include <algorithm>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

class PathWalk {
 public:
  PathWalk(const Program& program, const Timeline& timeline) : program_(program), timeline_(timeline) {}

  std::vector<PathPart> run() {
    RowId row = last_row();
    at_ = timeline_.makespan;
    // Each row ends at most once on the way back; more steps mean that rows released each other in a circle.
    for (std::size_t steps = 0; row != none; ++steps) {
      WARPLOOM_CHECK(steps <= program_.size(), "rows release each other in a circle at {} ps", at_.ps());
      WARPLOOM_CHECK(timeline_.end[row] == at_,
                     "the critical path breaks: row {} ends at {} ps, what it released begins at {} ps", row,
                     timeline_.end[row].ps(), at_.ps());
      ran(row);
      row = released_by(timeline_.last_party[row]);
    }
    WARPLOOM_CHECK(at_ == Time::zero(), "the critical path breaks at {} ps", at_.ps());
    std::reverse(parts_.begin(), parts_.end());
    return std::move(parts_);
  }

 private:
  RowId last_row() const {
    const auto last = std::max_element(timeline_.end.begin(), timeline_.end.end());
    return last == timeline_.end.end() ? none : static_cast<RowId>(last - timeline_.end.begin());
  }

  void part(RowId row, Cause cause, Time since) {
    WARPLOOM_CHECK(since <= at_, "row {} waits from {} ps to {} ps", row, since.ps(), at_.ps());
    if (since < at_) parts_.push_back({row, cause, since, at_});
    at_ = since;
  }

  void ran(RowId row) {
    const Time begin = timeline_.begin[row];
    const Time alone = std::clamp(timeline_.alone[row], Time::zero(), at_ - begin);
    part(row, Cause::interference, begin + alone);
    part(row, program_.cause[row], begin);
  }

  // The row whose end made `row` ready; none at the start of the run.
  RowId released_by(RowId row) {
    WARPLOOM_CHECK(timeline_.ready[row] == at_, "the critical path breaks: row {} was ready at {} ps, not at {} ps",
                   row, timeline_.ready[row].ps(), at_.ps());
    const RowId by = timeline_.released_by[row];
    switch (timeline_.release[row]) {
      case Release::start:
        return none;
      case Release::row:
        if (program_.has_lags()) {
          part(row, program_.kind[by] == OperationKind::think ? Cause::host : Cause::idle, timeline_.end[by]);
        }
        return by;
      case Release::host:
        part(row, Cause::host, by == none ? Time::zero() : timeline_.end[by]);
        return by;
    }
    return none;
  }

  const Program& program_;
  const Timeline& timeline_;
  std::vector<PathPart> parts_;  // the last first
  Time at_;                      // the path is known from here on
};

}  // namespace

std::vector<PathPart> critical_path(const Program& program, const Timeline& timeline) {
  return PathWalk(program, timeline).run();
}

}  // namespace warploom
