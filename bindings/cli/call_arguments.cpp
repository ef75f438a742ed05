// SPDX-License-Identifier: Apache-2.0
// Sizes, ranks and calls from words.
#include "bindings/cli/call_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "network/collective_estimate.hpp"
#include "network/collectives/moe/moe.hpp"
#include "network/collectives/rank_list.hpp"
#include "network/graph/selection.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

constexpr std::size_t most_listed = 1 << 20;

std::vector<Rank> ranks_of(const std::string& option, const std::string& text) {
  std::vector<Rank> ranks;
  for (const std::string& part : split(text, ',')) {
    const auto range = number_range(trim(part));
    if (!range) throw UserError(fmt::format("`{}`: expected ranks such as `0-7,16,24`, got {}", option, quoted(part)));
    const auto [first, last] = *range;
    if (static_cast<std::size_t>(last - first) + ranks.size() >= most_listed)
      throw UserError(fmt::format("`{}`: more than {} ranks", option, most_listed), "use `--gpus N` for the first N");
    for (Rank rank = first; rank <= last; ++rank) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

Bytes bytes_of(const std::string& option, const std::string& text) {
  if (const auto bytes = parse_quantity<Bytes>(text)) {
    if (*bytes < Bytes(0))
      throw UserError(fmt::format("`{}`: expected a size of at least 0 B, got {}", option, quoted(text)));
    return *bytes;
  }
  throw UserError(fmt::format("`{}`: expected a size such as `256 MiB`, got {}", option, quoted(text)),
                  "write it with a unit: B, kB, MB, GB, KiB, MiB, GiB");
}

Members members_of(const std::string& option, const std::string& text) {
  const std::vector<Rank> ranks = ranks_of(option, text);
  if (ranks.size() < 2) throw UserError(fmt::format("`{}` names one device; a collective needs two", option));
  try {
    return {group_of_ranks(ranks), *std::ranges::max_element(ranks) + 1};
  } catch (const UserError& error) {
    throw UserError(fmt::format("`{}`: {}", option, error.message()), error.hint());
  }
}

std::vector<CallBeside> calls_beside(const std::vector<std::string>& texts) {
  std::vector<CallBeside> calls;
  for (const std::string& text : texts) {
    std::vector<std::string> words;
    for (const std::string& word : split(text, ' ')) {
      if (!word.empty()) words.push_back(word);
    }
    const auto kind = words.empty() ? std::nullopt : collective_kind(words[0]);
    if (words.size() != 3 || !kind || is_moe(*kind)) {
      throw UserError("`--beside`: expected an operation, a size and ranks, got " + quoted(text),
                      "such as `--beside \"all_to_all 64MiB 8-15\"`");
    }
    Call call;
    call.kind = *kind;
    call.bytes = bytes_of("--beside", words[1]);
    calls.push_back({text, call, members_of("--beside", words[2])});
  }
  return calls;
}

}  // namespace warploom
