// SPDX-License-Identifier: Apache-2.0
// The words, and the order of the candidates.
#include "hw_models/kernels/gemm_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "hw_models/kernels/gemm_blocking.hpp"
#include "hw_models/kernels/simt_blocking.hpp"

namespace warploom {

namespace {

std::string in_words(const GemmBlocking& blocking) {
  std::string text = fmt::format("{} x {}", blocking.tile.m, blocking.tile.n);
  if (blocking.parts > 1) text += fmt::format(", k in {} parts", blocking.parts);
  if (blocking.is_stream_k) text += ", stream-K";
  if (blocking.stages > 0) text += fmt::format(", {} stages", blocking.stages);
  if (blocking.cluster > 0) text += fmt::format(", clusters of {}", blocking.cluster);
  return text;
}

bool is_same(const GemmBlocking& a, const GemmBlocking& b) {
  return a.tile.m == b.tile.m && a.tile.n == b.tile.n && a.parts == b.parts && a.is_stream_k == b.is_stream_k;
}

KernelCandidate candidate_of(const GemmCandidate& one, const GemmShape& shape, const DeviceSpec& device) {
  const GemmBlocking& blocking = one.blocking;
  GemmShape named = shape;
  named.tile_m = blocking.tile.m;
  named.tile_n = blocking.tile.n;
  named.split_k = static_cast<std::int64_t>(blocking.parts);
  named.stages = blocking.stages;
  named.cluster = blocking.cluster;
  named.is_stream_k = blocking.is_stream_k;
  KernelCandidate candidate;
  candidate.what = in_words(blocking);
  candidate.kernel = gemm(named);
  candidate.waves = blocking.blocks / device.sm.count;
  candidate.steps = blocking.steps;
  candidate.parts = blocking.parts;
  candidate.nominal = Cycles(one.cycles);
  return candidate;
}

std::string why_chosen(const GemmChoice& choice, const GemmShape& shape, const DeviceSpec& device) {
  switch (choice.by) {
    case ChosenBy::caller:
      return "its tile is named";
    case ChosenBy::table:
      return fmt::format("row {}: {}", choice.row - device.architecture.gemm.selection.rows.data() + 1,
                         choice.row->source);
    case ChosenBy::rule:
      if (shape.is_deterministic) return "the one tile of batch-invariant kernels, k in one part";
      return "of what comes within 3% of the fewest nominal cycles the fewest parts, then the largest tile";
  }
  return {};
}

// Of a candidate that the rule does not take, beside the one that it does.
std::string why_not(const GemmCandidate& one, const GemmBlocking& ruled, double least) {
  const double more = one.cycles / least - 1;
  if (more > gemm_tile_gain) return fmt::format("{:.0f}% more cycles than the least", 100 * more);
  if (one.blocking.parts > ruled.parts) return "within 3%, but more parts";
  return "within 3%, but no larger tile";
}

KernelChoice simt_choice(const GemmShape& shape, const DeviceSpec& device) {
  const SimtBlock block = choose_simt_block(shape, device);
  const bool is_named = shape.tile_m > 0;
  KernelChoice result;
  result.by = enum_name(is_named ? ChosenBy::caller : ChosenBy::rule);
  result.why = is_named                 ? "its tile is named"
               : shape.is_deterministic ? "deterministic: one tile for all m"
                                        : "fewest waves x cycles of a tile, then the largest tile";
  GemmShape named = shape;
  named.tile_m = block.tile.m;
  named.tile_n = block.tile.n;
  named.threads = static_cast<std::int64_t>(block.threads);
  KernelCandidate chosen;
  chosen.what = fmt::format("{} x {}, {} threads", block.tile.m, block.tile.n, block.threads);
  if (block.parts > 1) chosen.what += fmt::format(", k in {} parts", block.parts);
  chosen.kernel = gemm(named);
  chosen.waves = simt_blocks(block, shape) / device.sm.count;
  chosen.parts = block.parts;
  chosen.is_chosen = true;
  chosen.why = result.why;
  result.candidates.push_back(std::move(chosen));
  return result;
}

}  // namespace

KernelChoice gemm_kernel_choice(const GemmShape& shape, const DeviceSpec& device) {
  if (product_type(shape) == DataType::fp32) return simt_choice(shape, device);
  const GemmChoice choice = choose_gemm(shape, device);
  KernelChoice result;
  result.by = enum_name(choice.by);
  result.why = why_chosen(choice, shape, device);
  KernelCandidate chosen =
      candidate_of({choice.blocking, gemm_nominal_cycles(choice.blocking, shape, device)}, shape, device);
  chosen.is_chosen = true;
  chosen.why = result.why;
  // What the rule looks at for the same product, had nobody said anything.
  GemmShape asked = shape;
  asked.tile_m = asked.tile_n = asked.split_k = asked.stages = asked.cluster = 0;
  const GemmShape& open = choice.by == ChosenBy::caller ? asked : shape;
  std::vector<GemmCandidate> ranked = gemm_candidates(open, device);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const GemmCandidate& a, const GemmCandidate& b) { return a.cycles < b.cycles; });
  const GemmBlocking ruled = ruled_gemm_blocking(open, device);
  bool has_chosen = false;
  for (const GemmCandidate& one : ranked) {
    const bool is_chosen = is_same(one.blocking, choice.blocking);
    if (!is_chosen && result.candidates.size() + (has_chosen ? 0 : 1) >= most_gemm_candidates) {
      ++result.left_out;
      continue;
    }
    KernelCandidate candidate = is_chosen ? chosen : candidate_of(one, shape, device);
    if (!is_chosen) {
      candidate.why =
          is_same(one.blocking, ruled) ? "what the rule would take" : why_not(one, ruled, ranked.front().cycles);
    }
    has_chosen = has_chosen || is_chosen;
    result.candidates.push_back(std::move(candidate));
  }
  if (!has_chosen) result.candidates.insert(result.candidates.begin(), std::move(chosen));
  return result;
}

}  // namespace warploom
