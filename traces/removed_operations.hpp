// SPDX-License-Identifier: Apache-2.0
// Operations that a program leaves out: what waited for one waits for what it waited for, its launch excepted.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/work/program.hpp"
#include "traces/dependencies.hpp"

namespace warploom {

class RemovedOperations {
 public:
  struct Gap {
    std::uint32_t before = nothing;  // on its stream, the last operation that is kept
    std::vector<RowId> rows;         // that it waited for on other streams: of each the last
  };

  // `removed`: by operation; null: none is. All outlive it.
  RemovedOperations(const Program& program, const CaptureGraph& graph, const std::vector<bool>* removed)
      : program_(program), graph_(graph), removed_(removed) {}

  bool has(std::uint32_t op) const { return removed_ != nullptr && (*removed_)[op]; }
  // Of one that was left out already; null: it is kept, or its turn has not come.
  const Gap* gap(std::uint32_t op) const;
  // What it follows on its stream, or `nothing`.
  std::uint32_t kept_before(std::uint32_t op) const;
  // Of what it followed on its stream and is removed: a stream's wait holds for all that is put on it later.
  std::span<const RowId> inherited(std::uint32_t op) const;

  // `last_row(op)`: the row at whose end an operation has ended, or `none`; `edges`: what `op` waited for.
  template <class LastRow>
  void leave_out(std::uint32_t op, std::span<const OpEdge> edges, const LastRow& last_row) {
    Gap gap;
    gap.before = kept_before(op);
    const auto earlier = inherited(op);
    gap.rows.assign(earlier.begin(), earlier.end());
    for (const auto& edge : edges) {
      if (!has(edge.from)) {
        keep_last(gap.rows, last_row(edge.from));
      } else if (const Gap* other = this->gap(edge.from)) {
        if (other->before != nothing) keep_last(gap.rows, last_row(other->before));
        for (const RowId row : other->rows) keep_last(gap.rows, row);
      }
    }
    gaps_.emplace(op, std::move(gap));
  }

 private:
  void keep_last(std::vector<RowId>& rows, RowId row) const;

  const Program& program_;
  const CaptureGraph& graph_;
  const std::vector<bool>* removed_;
  std::unordered_map<std::uint32_t, Gap> gaps_;
};

}  // namespace warploom
