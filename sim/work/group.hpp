// SPDX-License-Identifier: Apache-2.0
// Sets of ranks as strides, never as lists: a set of 100,000 ranks is a few numbers.
#pragma once

#include <cstdint>
#include <vector>

namespace warploom {

using Rank = std::int64_t;

// One digit of a rank in a mixed-radix numbering: `count` values, `stride` ranks apart (negative strides are allowed).
struct Stride {
  std::int64_t count = 1;
  std::int64_t stride = 1;
  friend bool operator==(const Stride&, const Stride&) = default;
};

// Ranks base + sum_i x_i * stride_i for all 0 <= x_i < count_i; distinct digits give distinct ranks.
struct RankBox {
  Rank base = 0;
  std::vector<Stride> digits;
  friend bool operator==(const RankBox&, const RankBox&) = default;

  std::int64_t size() const {
    std::int64_t product = 1;
    for (const auto& digit : digits) product *= digit.count;
    return product;
  }
  // The i-th rank; the first digit varies fastest.
  Rank at(std::int64_t index) const {
    Rank rank = base;
    for (const auto& digit : digits) {
      rank += (index % digit.count) * digit.stride;
      index /= digit.count;
    }
    return rank;
  }
};

// Process groups of equal shape that run the same call at the same time: member i of the instance that starts at rank
// `r` is r + members.at(i) - members.base. For every box of `instances`, each of its ranks starts one instance.
// Example, TP8 x PP16 x DP128 (that order), DP groups of stage p: members {0, {{128, 128}}}, instances {{8 p, {{8,
// 1}}}}.
struct Group {
  RankBox members;                 // base 0; members.at(0) == 0
  std::vector<RankBox> instances;  // more than one box where a straggler leaves a hole
  friend bool operator==(const Group&, const Group&) = default;

  std::int64_t member_count() const { return members.size(); }
  std::int64_t instance_count() const {
    std::int64_t sum = 0;
    for (const auto& box : instances) sum += box.size();
    return sum;
  }
  Rank rank(Rank instance_start, std::int64_t member) const { return instance_start + members.at(member); }
};

}  // namespace warploom
