// SPDX-License-Identifier: Apache-2.0
// The table of texts.
#include "traces/capture.hpp"

#include "sim/core/errors.hpp"

namespace warploom {

TextId StringTable::add(std::string_view text) {
  if (const auto place = ids_.find(text); place != ids_.end()) return place->second;
  WARPLOOM_CHECK(texts_.size() < nothing, "a text table is full");
  const auto id = static_cast<TextId>(texts_.size());
  const auto place = ids_.emplace(std::string(text), id).first;
  texts_.push_back(&place->first);
  return id;
}

std::optional<TextId> StringTable::find(std::string_view text) const {
  const auto place = ids_.find(text);
  if (place == ids_.end()) return std::nullopt;
  return place->second;
}

const CollectiveRecord* collective_of(const Capture& capture, const DeviceOp& op) {
  if (op.collective != nothing) return &capture.collectives[op.collective];
  if (op.host_op == nothing || capture.host_ops[op.host_op].collective == nothing) return nullptr;
  return &capture.collectives[capture.host_ops[op.host_op].collective];
}

std::string_view group_description(const Capture& capture, const DeviceOp& op) {
  const CollectiveRecord* record = collective_of(capture, op);
  if (record == nullptr || record->group == nothing) return {};
  return capture.groups[record->group].description;
}

}  // namespace warploom
