// SPDX-License-Identifier: Apache-2.0
// Columns that hold nothing while nothing is unusual.
#include "sim/work/column.hpp"

#include <gtest/gtest.h>

#include "sim/work/program.hpp"

namespace warploom {
namespace {

TEST(Column, HasTheUsualValueWhereNoOtherWasGiven) {
  Column<int> column(-1);
  column.add(0, -1);
  EXPECT_TRUE(column.has_only_usual());
  column.add(3, 7);
  column.add(4, -1);
  column.add(6, 8);
  column.set(4, 9);
  column.set(6, -1);
  column.set(10, 5);
  for (const auto& [row, value] :
       {std::pair{0, -1}, {2, -1}, {3, 7}, {4, 9}, {5, -1}, {6, -1}, {9, -1}, {10, 5}, {99, -1}}) {
    EXPECT_EQ(column[static_cast<std::size_t>(row)], value) << "row " << row;
  }
  EXPECT_FALSE(column.has_only_usual());
}

TEST(Program, RowsWithoutMemoryMayStandBeforeBetweenAndAfterRowsWithSome) {
  Program program;
  Operation row;
  row.stream = program.add_stream({program.add_role({}), StreamKind::compute, "compute"});
  const std::vector<MemoryDelta> two = {{MemoryPart::weights, false, 5}, {MemoryPart::weights, true, -5}};
  const std::vector<MemoryDelta> one = {{MemoryPart::activations, false, 3}};
  for (const auto& deltas : {std::vector<MemoryDelta>{}, two, {}, {}, one, {}}) program.add(row, {}, deltas);
  std::vector<std::size_t> counts;
  for (RowId i = 0; i < program.size(); ++i) counts.push_back(program.memory_deltas(i).size());
  EXPECT_EQ(counts, (std::vector<std::size_t>{0, 2, 0, 0, 1, 0}));
  EXPECT_EQ(program.memory_deltas(4)[0].bytes, 3);
}

TEST(Program, LagsOfRowsStayWithTheirDependencies) {
  Program program;
  Operation row;
  row.stream = program.add_stream({program.add_role({}), StreamKind::compute, "compute"});
  const RowId first = program.add(row);
  const RowId second = program.add(row, std::vector{first});
  EXPECT_FALSE(program.has_lags());
  const RowId third = program.add(row, std::vector{first, second}, {}, std::vector{Time::zero(), 3_ns});
  EXPECT_TRUE(program.has_lags());
  EXPECT_EQ(program.dependency_lag(second, 0), Time::zero());
  EXPECT_EQ(program.dependency_lag(third, 0), Time::zero());
  EXPECT_EQ(program.dependency_lag(third, 1), 3_ns);
}

}  // namespace
}  // namespace warploom
