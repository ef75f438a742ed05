// SPDX-License-Identifier: Apache-2.0
// Ends that are equal, operations that occur once, tables of scores, windows.
#include "workloads/overlay/align.hpp"

#include <algorithm>
#include <unordered_map>

namespace warploom {

namespace {

using Tokens = std::span<const OverlayToken>;

// Classes that kernel names do not tell apart for certain.
bool is_small(OpClass op_class) {
  return op_class == OpClass::other || op_class == OpClass::norm || op_class == OpClass::element_wise ||
         op_class == OpClass::copy;
}

bool within_factor(std::int64_t factor, Nanoseconds a, Nanoseconds b) {
  return std::max(a, b) / factor <= std::min(a, b);
}
bool take_alike(Nanoseconds a, Nanoseconds b) { return within_factor(2, a, b); }

int small_score(const OverlayToken& a, const OverlayToken& b) {
  if (!is_small(a.op_class) || !is_small(b.op_class)) return 0;
  const bool is_copy = a.op_class == OpClass::copy || b.op_class == OpClass::copy;
  if (is_copy && a.op_class != b.op_class) return 0;
  const bool other = a.op_class == OpClass::other || b.op_class == OpClass::other;
  if (a.op_class != b.op_class && !other) return 0;
  const bool have_words = a.word != OverlayWord::nothing && b.word != OverlayWord::nothing;
  if (have_words && a.word != b.word) return 0;
  const bool same_shape = a.shape != 0 && a.shape == b.shape;
  // Nothing but a class of many things: those of quite another length are something else.
  const bool is_guess = !have_words && !same_shape && !(a.op_class == b.op_class && a.op_class == OpClass::norm);
  if (is_guess && !within_factor(4, a.duration, b.duration)) return 0;
  int score = a.op_class == b.op_class ? 3 : 2;
  if (a.op_class == b.op_class && a.op_class == OpClass::norm) score += 3;
  if (have_words) score += 4;
  if (same_shape) score += 3;
  return score + (take_alike(a.duration, b.duration) ? 1 : 0);
}

bool is_certain(const OverlayToken& a, const OverlayToken& b) {
  return a.op_class == b.op_class && a.word == b.word && a.shape != 0 && a.shape == b.shape;
}

struct Box {  // [a, a + rows) x [b, b + columns)
  std::size_t a = 0;
  std::size_t rows = 0;
  std::size_t b = 0;
  std::size_t columns = 0;
};

class Aligner {
 public:
  Aligner(Tokens a, Tokens b, const AlignLimits& limits) : a_(a), b_(b), limits_(limits) {}

  Alignment run() {
    between_equal_ends({0, a_.size(), 0, b_.size()}, true);
    std::sort(result_.pairs.begin(), result_.pairs.end());
    for (const auto& [i, j] : result_.pairs) result_.score += pair_score(a_[i], b_[j]);
    return std::move(result_);
  }

 private:
  enum class Step : std::uint8_t { diagonal, up, left };

  void pair(std::size_t i, std::size_t j) {
    result_.pairs.emplace_back(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j));
  }

  void between_equal_ends(Box box, bool may_cut) {
    while (box.rows > 0 && box.columns > 0 && is_certain(a_[box.a], b_[box.b])) {
      pair(box.a++, box.b++);
      --box.rows;
      --box.columns;
    }
    while (box.rows > 0 && box.columns > 0 && is_certain(a_[box.a + box.rows - 1], b_[box.b + box.columns - 1])) {
      pair(box.a + --box.rows, box.b + --box.columns);
    }
    if (box.rows == 0 || box.columns == 0) return;
    if (box.rows <= limits_.exact_cells / box.columns) {
      for (const auto& [i, j] : best_in(box)) pair(i, j);
    } else if (!may_cut || !cut_at_single_ones(box)) {
      result_.is_exact = false;
      walk_windows(box);
    }
  }

  // Where each operation that occurs once stands; `many` for those that occur more often.
  static constexpr std::size_t many = static_cast<std::size_t>(-1);
  static std::uint64_t name_of(const OverlayToken& token) {
    return token.shape * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(token.op_class) * 131 +
           static_cast<std::uint64_t>(token.word);
  }
  static std::unordered_map<std::uint64_t, std::size_t> single_ones(Tokens tokens, std::size_t from,
                                                                    std::size_t count) {
    std::unordered_map<std::uint64_t, std::size_t> places;
    for (std::size_t i = from; i < from + count; ++i) {
      if (tokens[i].shape == 0) continue;
      const auto [place, is_new] = places.try_emplace(name_of(tokens[i]), i);
      if (!is_new) place->second = many;
    }
    return places;
  }

  // The longest rising chain of operations that are single on both sides (patience sorting); false: there are none.
  bool cut_at_single_ones(const Box& box) {
    const auto of_a = single_ones(a_, box.a, box.rows);
    const auto of_b = single_ones(b_, box.b, box.columns);
    std::vector<std::pair<std::size_t, std::size_t>> candidates;
    for (const auto& [name, i] : of_a) {
      const auto other = of_b.find(name);
      if (i == many || other == of_b.end() || other->second == many) continue;
      if (is_certain(a_[i], b_[other->second])) candidates.emplace_back(i, other->second);
    }
    if (candidates.empty()) return false;
    result_.is_exact = false;
    std::sort(candidates.begin(), candidates.end());
    Box rest = box;
    for (const auto& [i, j] : rising(candidates)) {
      between_equal_ends({rest.a, i - rest.a, rest.b, j - rest.b}, false);
      pair(i, j);
      rest = {i + 1, rest.a + rest.rows - i - 1, j + 1, rest.b + rest.columns - j - 1};
    }
    between_equal_ends(rest, false);
    return true;
  }

  using Places = std::vector<std::pair<std::size_t, std::size_t>>;
  static Places rising(const Places& candidates) {
    std::vector<std::size_t> piles;  // candidate on top of each
    std::vector<std::size_t> before(candidates.size(), many);
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      const auto pile = std::lower_bound(piles.begin(), piles.end(), candidates[c].second,
                                         [&](std::size_t top, std::size_t j) { return candidates[top].second < j; });
      if (pile != piles.begin()) before[c] = *(pile - 1);
      if (pile == piles.end()) {
        piles.push_back(c);
      } else {
        *pile = c;
      }
    }
    Places chain;
    for (std::size_t c = piles.empty() ? many : piles.back(); c != many; c = before[c]) chain.push_back(candidates[c]);
    std::reverse(chain.begin(), chain.end());
    return chain;
  }

  // The best pairs within a box, ascending.
  Places best_in(const Box& box) {
    steps_.assign(box.rows * box.columns, Step::diagonal);
    best_.assign(box.columns + 1, 0);  // of the row before, overwritten from the left
    for (std::size_t i = 0; i < box.rows; ++i) {
      const OverlayToken& own = a_[box.a + i];
      std::int32_t corner = 0;  // best_[j] of the row before
      for (std::size_t j = 0; j < box.columns; ++j) {
        const std::int32_t up = best_[j + 1];
        const std::int32_t left = best_[j];
        const int score = pair_score(own, b_[box.b + j]);
        std::int32_t best = std::max(up, left);
        Step step = up >= left ? Step::up : Step::left;
        if (score > 0 && corner + score >= best) {
          best = corner + score;
          step = Step::diagonal;
        }
        steps_[i * box.columns + j] = step;
        best_[j + 1] = best;
        corner = up;
      }
    }
    Places places;
    std::size_t i = box.rows;
    std::size_t j = box.columns;
    while (i > 0 && j > 0) {
      const Step step = steps_[(i - 1) * box.columns + j - 1];
      if (step == Step::diagonal) places.emplace_back(box.a + i - 1, box.b + j - 1);
      if (step != Step::left) --i;
      if (step != Step::up) --j;
    }
    std::reverse(places.begin(), places.end());
    return places;
  }

  // The first half of each window's best pairs stands; the next window begins behind them.
  void walk_windows(Box rest) {
    while (rest.rows > 0 && rest.columns > 0) {
      const Box window{rest.a, std::min(rest.rows, limits_.window), rest.b, std::min(rest.columns, limits_.window)};
      const bool is_last = window.rows == rest.rows && window.columns == rest.columns;
      const Places places = best_in(window);
      std::size_t next_a = rest.a;
      std::size_t next_b = rest.b;
      for (const auto& [i, j] : places) {
        const bool is_early = i - window.a < (window.rows + 1) / 2 && j - window.b < (window.columns + 1) / 2;
        if (!is_last && !is_early) break;
        pair(i, j);
        next_a = i + 1;
        next_b = j + 1;
      }
      if (is_last) return;
      if (next_a == rest.a) {  // no pair
        next_a += (window.rows + 1) / 2;
        next_b += (window.columns + 1) / 2;
      }
      rest = {next_a, rest.a + rest.rows - next_a, next_b, rest.b + rest.columns - next_b};
    }
  }

  Tokens a_;
  Tokens b_;
  AlignLimits limits_;
  Alignment result_;
  std::vector<Step> steps_;
  std::vector<std::int32_t> best_;
};

}  // namespace

int pair_score(const OverlayToken& a, const OverlayToken& b) {
  const bool is_large = a.op_class == OpClass::gemm || a.op_class == OpClass::attention;
  const bool communicates = a.op_class == OpClass::communication;
  if (!is_large && !communicates) return small_score(a, b);
  if (a.op_class != b.op_class) return 0;
  const bool know_shapes = a.shape != 0 && b.shape != 0;
  if (is_large) {
    if (know_shapes) return a.shape == b.shape ? 16 : 0;
    if (!within_factor(8, a.duration, b.duration)) return 0;
    return take_alike(a.duration, b.duration) ? 9 : 8;
  }
  const bool know_words = a.word != OverlayWord::nothing && b.word != OverlayWord::nothing;
  if (know_words && a.word != b.word) return 0;
  const int score = know_words ? 8 : 4;
  if (!know_shapes) return score;
  return a.shape == b.shape ? score + 8 : 2;
}

Alignment align(std::span<const OverlayToken> a, std::span<const OverlayToken> b, const AlignLimits& limits) {
  return Aligner(a, b, limits).run();
}

}  // namespace warploom
