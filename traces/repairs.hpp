// SPDX-License-Identifier: Apache-2.0
// What had to be mended of a stranger's file: each repair has a name, a count and a bound. With `strict` the first is
// an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warploom {

struct Repair {
  std::string name;  // snake_case: "negative_duration"
  std::string text;  // what was done: "durations below zero were set to zero"
  std::int64_t count = 0;
  std::int64_t largest = 0;  // ns: the most that one of them moved a time; 0 where none moves
  std::string first;         // where the first stood: "record 17", "byte 812"
};

class Repairs {
 public:
  explicit Repairs(std::string file = {}, bool strict = false) : file_(std::move(file)), strict_(strict) {}

  // `where` is asked for the first of a name alone. Throws UserError when strict.
  void note(std::string_view name, std::string_view text, std::string_view where, std::int64_t moved_ns = 0,
            std::int64_t count = 1);
  // Those of another reader or a later stage; equal names are added up.
  void add(const Repairs& others);

  const std::vector<Repair>& all() const { return repairs_; }
  std::int64_t count(std::string_view name) const;

 private:
  std::string file_;
  bool strict_ = false;
  std::vector<Repair> repairs_;  // in the order of their first
};

}  // namespace warploom
