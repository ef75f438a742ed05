// SPDX-License-Identifier: Apache-2.0
// The rows of one chunk's forward or backward, made once and replayed for every micro-batch, chunk and role like it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/work/program.hpp"

namespace warploom {

// The streams of a role.
enum class Lane : std::uint8_t {
  compute,
  tensor,   // tensor-parallel collectives
  context,  // keys and values between context-parallel ranks
  data,     // gradients and parameters between replicas
  send_forward,
  recv_forward,
  send_backward,
  recv_backward,
  host,
};
inline constexpr std::size_t lane_count = 9;

// A collective of the group that a lane stands for, before it is known which group.
struct LaneCall {
  Lane lane = Lane::tensor;
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes bytes{0};
  DataType type = DataType::bf16;
  friend bool operator==(const LaneCall&, const LaneCall&) = default;
};

struct StepTemplate {
  using Row = std::uint32_t;  // within the template
  struct Entry {
    Operation
        operation;  // stream, meeting and micro-batch are filled in by the replay; layers count from the chunk's first
    Lane lane = Lane::compute;
    std::uint32_t call = none;  // index of `calls`
    std::uint32_t dependency_begin = 0;
    std::uint32_t dependency_end = 0;
    std::uint32_t memory_begin = 0;
    std::uint32_t memory_end = 0;
  };
  std::vector<Entry> rows;
  std::vector<Row> dependencies;
  std::vector<MemoryDelta> memory;
  std::vector<LaneCall> calls;
  // One entry a unit (embedding, layers, head) in the order of this template.
  struct Unit {
    Row begin = 0;
    Row end = 0;  // one past its last row
  };
  std::vector<Unit> units;
};

// Writes a template. Rows of the same lane follow each other by themselves: only waits between lanes are named.
class StepWriter {
 public:
  using Row = StepTemplate::Row;
  StepWriter(Program& program, Phase phase) : program_(program), phase_(phase) {}

  void begin_unit(std::int32_t layer) {
    layer_ = layer;
    units_.push_back({size(), size()});
  }
  void end_unit() { units_.back().end = size(); }
  // While set, compute rows are charged to `recompute`.
  void set_recomputing(bool is_recomputing) { is_recomputing_ = is_recomputing; }

  // A kernel; waits for the collective `after`, if there is one.
  Row compute(std::string_view name, const Kernel& kernel, Cause cause, Row after = none);
  // A collective; waits for the last compute row of its unit. (Where it is the first, the replay makes it wait for the
  // compute row before the unit: units do not name each other's rows.)
  Row collective(std::string_view name, CollectiveKind kind, std::int64_t bytes, DataType type,
                 Lane lane = Lane::tensor, Cause cause = Cause::exposed_tp);
  // One more row of another lane that `row` waits for; `none` is nothing.
  void wait(Row row, Row after) {
    if (after != none) drafts_[row].after.push_back(after);
  }

  void take(Row row, MemoryPart part, std::int64_t bytes) { delta(row, part, false, bytes); }
  void take_at_end(Row row, MemoryPart part, std::int64_t bytes) { delta(row, part, true, bytes); }
  void give(Row row, MemoryPart part, std::int64_t bytes) { delta(row, part, true, -bytes); }

  Row size() const { return static_cast<Row>(drafts_.size()); }
  Row last() const { return size() - 1; }
  StepTemplate finish();

 private:
  struct Draft {
    StepTemplate::Entry entry;
    std::vector<Row> after;
    std::vector<MemoryDelta> memory;
  };
  void delta(Row row, MemoryPart part, bool at_end, std::int64_t bytes);
  Draft& add(std::string_view name, OperationKind kind, Cause cause, Lane lane);

  Program& program_;
  Phase phase_;
  std::int32_t layer_ = -1;
  bool is_recomputing_ = false;
  std::vector<Draft> drafts_;
  std::vector<LaneCall> calls_;
  std::vector<StepTemplate::Unit> units_;
};

}  // namespace warploom
