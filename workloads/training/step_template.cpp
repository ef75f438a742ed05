// SPDX-License-Identifier: Apache-2.0
// Drafts of rows, flattened into a template.
#include "workloads/training/step_template.hpp"

#include <algorithm>

#include "sim/core/errors.hpp"

namespace warploom {

StepWriter::Draft& StepWriter::add(std::string_view name, OperationKind kind, Cause cause, Lane lane) {
  Draft draft;
  draft.entry.operation.kind = kind;
  draft.entry.operation.cause = cause;
  draft.entry.operation.phase = phase_;
  draft.entry.operation.name = program_.add_name(name);
  draft.entry.operation.layer = layer_;
  draft.entry.lane = lane;
  return drafts_.emplace_back(std::move(draft));
}

StepWriter::Row StepWriter::compute(std::string_view name, const Kernel& kernel, Cause cause, Row after) {
  Draft& draft = add(name, OperationKind::compute, is_recomputing_ ? Cause::recompute : cause, Lane::compute);
  draft.entry.operation.kernel = program_.add_kernel(kernel);
  if (after != none) draft.after.push_back(after);
  return last();
}

StepWriter::Row StepWriter::collective(std::string_view name, CollectiveKind kind, std::int64_t bytes, DataType type,
                                       Lane lane, Cause cause) {
  Row before = none;
  for (Row row = size(); row-- > units_.back().begin;) {
    if (drafts_[row].entry.lane == Lane::compute) {
      before = row;
      break;
    }
  }
  Draft& draft = add(name, OperationKind::collective, cause, lane);
  if (before != none) draft.after.push_back(before);
  const LaneCall call{lane, kind, Bytes(bytes), type};
  const auto place = std::find(calls_.begin(), calls_.end(), call);
  draft.entry.call = static_cast<std::uint32_t>(place - calls_.begin());
  if (place == calls_.end()) calls_.push_back(call);
  return last();
}

void StepWriter::delta(Row row, MemoryPart part, bool at_end, std::int64_t bytes) {
  WARPLOOM_CHECK(row < size(), "memory of row {} of {}", row, size());
  if (bytes == 0) return;
  auto& memory = drafts_[row].memory;
  for (auto& known : memory) {
    if (known.part == part && known.at_end == at_end) {
      known.bytes += bytes;
      return;
    }
  }
  memory.push_back({part, at_end, bytes});
}

StepTemplate StepWriter::finish() {
  StepTemplate result;
  result.rows.reserve(drafts_.size());
  for (auto& draft : drafts_) {
    auto& entry = draft.entry;
    entry.dependency_begin = static_cast<std::uint32_t>(result.dependencies.size());
    result.dependencies.insert(result.dependencies.end(), draft.after.begin(), draft.after.end());
    entry.dependency_end = static_cast<std::uint32_t>(result.dependencies.size());
    entry.memory_begin = static_cast<std::uint32_t>(result.memory.size());
    result.memory.insert(result.memory.end(), draft.memory.begin(), draft.memory.end());
    entry.memory_end = static_cast<std::uint32_t>(result.memory.size());
    result.rows.push_back(entry);
  }
  result.calls = std::move(calls_);
  result.units = std::move(units_);
  return result;
}

}  // namespace warploom
