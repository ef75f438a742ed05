// SPDX-License-Identifier: Apache-2.0
// Records are cut from JSON as strangers write it.
#include "traces/json_records.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>
#include <vector>

#include "sim/core/errors.hpp"
#include "traces/json_scan.hpp"

namespace warploom {
namespace {

struct Cut {
  std::vector<std::string> records;
  std::vector<std::string> values;  // key=value
  Repairs repairs;
  bool is_truncated = false;
};

Cut cut(std::string_view text, JsonRecords::Options options = {}) {
  Cut result;
  const auto source = bytes_of("t.json", text);
  JsonRecords records(*source, std::move(options), result.repairs);
  for (auto item = records.next(); item != JsonRecords::Item::end; item = records.next()) {
    if (item == JsonRecords::Item::record) {
      result.records.emplace_back(records.text());
    } else {
      result.values.push_back(fmt::format("{}={}", records.key(), records.text()));
    }
  }
  result.is_truncated = records.is_truncated();
  return result;
}

using Texts = std::vector<std::string>;

TEST(JsonRecords, GivesRecordsAndTheOtherKeysBeforeAndAfterThem) {
  const Cut c =
      cut(R"( {"a": 1, "b" : {"x":[1,{}]},"traceEvents":[ {"ph":"X"} , {} ],"c":"}]\"{","d":[2] , "e":null} )");
  EXPECT_EQ(c.records, (Texts{R"({"ph":"X"})", "{}"}));
  EXPECT_EQ(c.values, (Texts{"a=1", R"(b={"x":[1,{}]})", R"(c="}]\"{")", "d=[2]", "e=null"}));
  EXPECT_TRUE(c.repairs.all().empty());
  EXPECT_FALSE(c.is_truncated);
}

TEST(JsonRecords, ARootListIsAListOfRecords) {
  EXPECT_EQ(cut("\xEF\xBB\xBF[{\"a\":\"[{\"},{\"b\":2}]\n").records, (Texts{R"({"a":"[{"})", R"({"b":2})"}));
  EXPECT_TRUE(cut("[]").records.empty());
}

TEST(JsonRecords, BracketsInStringsAndEscapedQuotesDoNotCount) {
  for (const std::string name : {R"(a\"}{)", R"(\\)", R"(\\\")", R"(]]}}{{[[)", R"(\u0022\\\\\")"}) {
    for (std::size_t shift = 0; shift < 70; ++shift) {  // across every border of the blocks of 64
      const std::string record =
          fmt::format(R"({{"p":"{}","name":"{}","args":{{"x":[{{}}]}}}})", std::string(shift, 'x'), name);
      const Cut c = cut(fmt::format("[{},{}]", record, record));
      EXPECT_EQ(c.records, (Texts{record, record})) << record;
      EXPECT_TRUE(c.repairs.all().empty());
    }
  }
}

TEST(JsonRecords, SmallWindowsGiveTheSameRecords) {
  std::string text = R"({"first": {"deep": [1, 2]}, "traceEvents": [)";
  for (int i = 0; i < 50; ++i)
    text += fmt::format("{}{{\"i\":{},\"s\":\"{}\"}}", i > 0 ? ",\n" : "", i, std::string(i * 7, '}'));
  text += R"(], "last": "x"})";
  const Cut whole = cut(text);
  ASSERT_EQ(whole.records.size(), 50U);
  for (const std::size_t window : {1UL, 7UL, 64UL, 100UL, 1000UL}) {
    JsonRecords::Options options;
    options.window = window;
    const Cut c = cut(text, options);
    EXPECT_EQ(c.records, whole.records);
    EXPECT_EQ(c.values, whole.values);
  }
}

TEST(JsonRecords, StrayCommasAreCountedAndPassedOver) {
  const Cut c = cut(R"({"traceEvents":[{"a":1},,{"b":2} {"c":3},],})");
  EXPECT_EQ(c.records.size(), 3U);
  EXPECT_EQ(c.repairs.count("trailing_comma"), 2);
  EXPECT_EQ(c.repairs.count("repeated_comma"), 1);
  EXPECT_EQ(c.repairs.count("missing_comma"), 1);
}

TEST(JsonRecords, AFileCutAnywhereGivesItsWholeRecords) {
  const std::string text = R"({"k": {"n": 1}, "traceEvents": [{"ph":"X","name":"a"},{"ph":"X","name":"b"}], "z": 1})";
  const std::size_t first = text.find("},{") + 1;
  const std::size_t second = text.find("}],") + 1;
  for (std::size_t length = 0; length <= text.size(); ++length) {
    try {
      const Cut c = cut(text.substr(0, length));
      EXPECT_GE(length, first);
      EXPECT_EQ(c.records.size(), (length >= first ? 1U : 0U) + (length >= second ? 1U : 0U)) << length;
      EXPECT_EQ(c.is_truncated, length <= second) << length;
      EXPECT_EQ(c.repairs.all().empty(), length == text.size()) << length;
    } catch (const UserError& error) {
      EXPECT_LT(length, first) << error.message();  // not one event is whole
      EXPECT_NE(error.message().find(length == 0 ? "empty" : fmt::format("byte {},", length)), std::string::npos);
    }
  }
}

TEST(JsonRecords, AQuoteTooManyCostsItsOwnRecordAlone) {
  const std::string text = R"([{"ph":"X","name":"a"b"}, {"ph":"X","name":"c"},{"name":"d", "ph":"X"}])";
  Repairs repairs;
  const auto source = bytes_of("t.json", text);
  JsonRecords records(*source, {}, repairs);
  ASSERT_EQ(records.next(), JsonRecords::Item::record);
  EXPECT_EQ(records.text(), R"({"ph":"X","name":"a"b"})");
  ASSERT_EQ(records.next(), JsonRecords::Item::record);
  EXPECT_EQ(records.text(), R"({"ph":"X","name":"c"})");
  EXPECT_EQ(records.where(), "record 2 (byte 26, line 1)");
  ASSERT_EQ(records.next(), JsonRecords::Item::record);
  EXPECT_EQ(records.text(), R"({"name":"d", "ph":"X"})");
  EXPECT_EQ(records.next(), JsonRecords::Item::end);
}

TEST(JsonRecords, ManyBracketsTooManyArePassedOverAtOnce) {
  const Cut c = cut("[{}" + std::string(3'000'000, '}') + R"(,{"ph":"X"}])");
  EXPECT_EQ(c.records, (Texts{"{}", R"({"ph":"X"})"}));
  EXPECT_EQ(c.repairs.count("stray_bracket"), 1);
}

TEST(JsonRecords, UnwantedAndLargeValuesAreNotHeld) {
  JsonRecords::Options options;
  options.wants = [](std::string_view key) { return key != "metadata"; };
  options.window = 128;
  options.largest_record = 1000;
  const std::string large(100'000, 'x');
  const Cut c =
      cut(fmt::format(R"({{"metadata": {{"a": "{}]"}}, "stacks": ["{}"], "traceEvents": [{{}}, 5, "x", null]}})", large,
                      large),
          options);
  EXPECT_EQ(c.records, Texts{"{}"});
  EXPECT_TRUE(c.values.empty());
  EXPECT_EQ(c.repairs.count("large_value"), 1);
  EXPECT_EQ(c.repairs.count("not_an_event"), 3);
}

TEST(JsonRecords, WhatIsNoTraceIsAnErrorThatSaysWhere) {
  EXPECT_THROW(cut(""), UserError);
  EXPECT_THROW(cut("hello"), UserError);
  EXPECT_THROW(cut("{\"a\" 1}"), UserError);
  EXPECT_THROW(cut("{\"a\": 1, \"b\": [2, "), UserError);
  EXPECT_THROW(cut("{\"traceEvents\": [[[[["), UserError);
  EXPECT_THROW(cut("[{\"ph\":"), UserError);
  try {
    cut("{\"a\": 1,\n  b}");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("byte 11, line 2"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace warploom
