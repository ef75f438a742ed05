// SPDX-License-Identifier: Apache-2.0
// CSV from strangers: what is read, and what every mistake is told.
#include "sim/core/csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <vector>

namespace warploom {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::vector<std::string>> rows_of(const std::string& text) {
  CsvReader table = CsvReader::from_text(text, "t.csv");
  std::vector<std::vector<std::string>> rows;
  CsvRow row;
  while (table.next(row)) rows.emplace_back(row.cells().begin(), row.cells().end());
  return rows;
}

CsvRow only_row(const std::string& text) {
  CsvReader table = CsvReader::from_text(text, "t.csv");
  CsvRow row;
  EXPECT_TRUE(table.next(row));
  return row;
}

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Csv, CellsAreFoundByTheNameOfTheirColumn) {
  const CsvRow row = only_row("m,device,latency_us\n64,h100_sxm,2.5\n");
  EXPECT_EQ(row.text("device"), "h100_sxm");
  EXPECT_EQ(row.integer("m"), 64);
  EXPECT_DOUBLE_EQ(row.number("latency_us"), 2.5);
}

TEST(Csv, QuotedCellsHoldCommasQuotesAndLineBreaks) {
  EXPECT_THAT(rows_of("a,b\n\"x,y\",\"he said \"\"no\"\"\nand left\"\n"),
              ElementsAre(ElementsAre("x,y", "he said \"no\"\nand left")));
}

TEST(Csv, LinesMayEndInAnyWayAndTheLastNeedNotEnd) {
  const auto expected = ElementsAre(ElementsAre("1", "2"), ElementsAre("3", "4"));
  EXPECT_THAT(rows_of("a,b\n1,2\n3,4"), expected);
  EXPECT_THAT(rows_of("a,b\r\n1,2\r\n3,4\r\n"), expected);
  EXPECT_THAT(rows_of("a,b\r1,2\r\r3,4\r"), expected);
}

TEST(Csv, AByteOrderMarkIsNotPartOfTheFirstName) {
  EXPECT_EQ(only_row("\xef\xbb\xbf"
                     "a\n1\n")
                .integer("a"),
            1);
}

TEST(Csv, WholeNumbersMayBeWrittenWithAPoint) {
  EXPECT_EQ(only_row("a\n64.0\n").integer("a"), 64);
  EXPECT_EQ(error_of([] { only_row("a\n64.5\n").integer("a"); }),
            "t.csv:2: error: column `a`: expected a whole number, got `64.5`");
}

TEST(Csv, TextForANumberNamesFileLineColumnAndWhatCame) {
  EXPECT_EQ(error_of([] { only_row("m,latency_us\n\n64,abc\n").positive_number("latency_us"); }),
            "t.csv:3: error: column `latency_us`: expected a positive number, got `abc`");
  for (const std::string bad : {"0", "-3", "nan", "inf", "1e999", "3 us", ""}) {
    EXPECT_THAT(error_of([&] { only_row("m,latency_us\n64," + bad + "\n").positive_number("latency_us"); }),
                HasSubstr("column `latency_us`: expected a positive number, got"));
  }
}

TEST(Csv, BlankCellsAndMissingColumnsAreNoNumber) {
  const CsvRow row = only_row("a,b\n1, \n");
  EXPECT_FALSE(row.optional_number("b").has_value());
  EXPECT_FALSE(row.optional_number("c").has_value());
  EXPECT_EQ(row.optional_integer("a"), 1);
  EXPECT_EQ(error_of([&] { row.text("c"); }), "t.csv:2: error: there is no column `c`");
}

TEST(Csv, ARowWithTooFewOrTooManyCellsIsPassedOver) {
  CsvReader table = CsvReader::from_text("a,b\n1\n1,2,3\n5,6\n", "t.csv");
  CsvRow row;
  EXPECT_EQ(error_of([&] { table.next(row); }), "t.csv:2: error: expected 2 cells, got 1");
  EXPECT_EQ(error_of([&] { table.next(row); }), "t.csv:3: error: expected 2 cells, got 3");
  ASSERT_TRUE(table.next(row));
  EXPECT_EQ(row.integer("b"), 6);
  EXPECT_EQ(row.number_in_file(), 3);
  EXPECT_EQ(row.line(), 4);
  EXPECT_FALSE(table.next(row));
  EXPECT_EQ(table.rows_read(), 3);
}

TEST(Csv, MistakesOfTheFileAsAWholeAreSaidAtOnce) {
  const auto open = [](const std::string& text) { return error_of([&] { rows_of(text); }); };
  EXPECT_EQ(open(""), "t.csv: error: the file is empty\n  hint: its first line must name its columns");
  EXPECT_EQ(open("a,b,a\n"), "t.csv:1: error: column `a` is there twice: as number 1 and as number 3");
  EXPECT_EQ(open("a,,b\n"), "t.csv:1: error: column 2 of 3 has no name");
  EXPECT_THAT(open("1,2\n3,4\n"), HasSubstr("expected the names of columns, got numbers"));
  EXPECT_THAT(open("a,b\n1,\"2\n3,4\n"), HasSubstr("t.csv:2: error: a quote is opened and not closed"));
  EXPECT_THAT(open(std::string("a,b\n1,2\n3\0,4\n", 13)), HasSubstr("t.csv:3: error: expected text, got a NUL byte"));
  EXPECT_THAT(open("\xff\xfe"
                   "a,b\n"),
              HasSubstr("got UTF-16"));
}

TEST(Csv, ARowBeyondTheLimitsEndsReadingWhateverTheFilesSize) {
  const CsvLimits limits{.row_bytes = 100, .columns = 3};
  EXPECT_THAT(error_of([&] { CsvReader::from_text(std::string(200, 'x'), "t.csv", limits); }),
              HasSubstr("a row of more than 100 bytes"));
  EXPECT_THAT(error_of([&] { CsvReader::from_text("a,b,c,d\n", "t.csv", limits); }), HasSubstr("more than 3 cells"));
}

TEST(Csv, EveryMissingColumnIsNamedWithWhatMayBeMeant) {
  const CsvReader table = CsvReader::from_text("device,latency,m\n", "t.csv");
  EXPECT_EQ(error_of([&] { table.require({"device", "latency_us", "k"}); }),
            "t.csv:1: error: there is no column `latency_us`, `k`\n  hint: is `latency_us` meant by `latency`?");
}

TEST(Csv, AFileThatIsNotThereAndAFolderAreSaid) {
  EXPECT_THAT(error_of([] { CsvReader::open("/nowhere/t.csv"); }), HasSubstr("there is no file"));
  EXPECT_THAT(error_of([] { CsvReader::open("/tmp"); }), HasSubstr("is a folder"));
}

TEST(Csv, AMillionRowsTakeNoMoreMemoryThanOne) {
  std::string text = "a,b\n";
  for (int i = 0; i < 1'000'000; ++i) text += "1,2\n";
  CsvReader table = CsvReader::from_text(std::move(text), "t.csv");
  CsvRow row;
  std::int64_t sum = 0;
  while (table.next(row)) sum += row.integer("b");
  EXPECT_EQ(sum, 2'000'000);
}

TEST(Csv, ACellIsQuotedWhereItMustBe) {
  EXPECT_EQ(csv_cell("plain text"), "plain text");
  EXPECT_EQ(csv_cell("a,\"b\""), "\"a,\"\"b\"\"\"");
}

}  // namespace
}  // namespace warploom
