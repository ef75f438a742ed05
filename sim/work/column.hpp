// SPDX-License-Identifier: Apache-2.0
// A column of a table in which most tables have nothing but the usual value: it takes memory from the first other one
// on.
#pragma once

#include <cstddef>
#include <vector>

namespace warploom {

template <class T>
class Column {
 public:
  explicit Column(T usual) : usual_(usual) {}

  T operator[](std::size_t row) const { return row < values_.size() ? static_cast<T>(values_[row]) : usual_; }
  bool has_only_usual() const { return values_.empty(); }

  // Of a row after all that have a value so far.
  void add(std::size_t row, T value) {
    if (value == usual_) return;
    if (row > values_.size()) values_.resize(row, usual_);
    values_.push_back(value);
  }
  void set(std::size_t row, T value) {
    if (row >= values_.size()) return add(row, value);
    values_[row] = value;
  }
  void reserve(std::size_t rows) { values_.reserve(rows); }

 private:
  T usual_;
  std::vector<T> values_;  // of the first rows; the rest are usual
};

}  // namespace warploom
