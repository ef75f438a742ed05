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

}  // namespace warploom
