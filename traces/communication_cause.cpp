// SPDX-License-Identifier: Apache-2.0
// Whole words of a description.
#include "traces/communication_cause.hpp"

#include <array>
#include <cctype>
#include <string>

#include "sim/core/text.hpp"

namespace warploom {

namespace {

bool has_word(std::string_view lower, std::string_view word) {
  for (std::size_t at = lower.find(word); at != std::string_view::npos; at = lower.find(word, at + 1)) {
    const bool begins = at == 0 || std::isalpha(static_cast<unsigned char>(lower[at - 1])) == 0;
    const std::size_t end = at + word.size();
    if (begins && (end == lower.size() || std::isalpha(static_cast<unsigned char>(lower[end])) == 0)) return true;
  }
  return false;
}

}  // namespace

Cause communication_cause(std::string_view group_description) {
  const std::string lower = to_lower(group_description);
  struct Word {
    std::string_view word;
    Cause cause;
  };
  // Expert groups name data and tensor as well: they come first.
  constexpr std::array words = {
      Word{"expert", Cause::exposed_ep}, Word{"ep", Cause::exposed_ep},      Word{"pipeline", Cause::exposed_pp},
      Word{"pp", Cause::exposed_pp},     Word{"context", Cause::exposed_cp}, Word{"cp", Cause::exposed_cp},
      Word{"tensor", Cause::exposed_tp}, Word{"tp", Cause::exposed_tp},      Word{"model", Cause::exposed_tp},
      Word{"data", Cause::exposed_dp},   Word{"dp", Cause::exposed_dp},      Word{"fsdp", Cause::exposed_dp},
      Word{"ddp", Cause::exposed_dp},
  };
  for (const auto& [word, cause] : words) {
    if (has_word(lower, word)) return cause;
  }
  return Cause::exposed_other;
}

}  // namespace warploom
