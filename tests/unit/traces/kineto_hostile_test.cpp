// SPDX-License-Identifier: Apache-2.0
// What strangers' files do to a reader: each mend has a name and a count, and strict makes an error of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "sim/core/errors.hpp"
#include "traces/kineto_reader.hpp"

namespace warploom {
namespace {

Capture read(std::string_view text, bool strict = false) {
  ReadOptions options;
  options.strict = strict;
  const auto source = bytes_of("t.json", text);
  return std::move(make_kineto_reader()->read(*source, options).front());
}

std::string kernel(std::string_view name, std::string_view time = "10", std::string_view duration = "5",
                   int correlation = 3) {
  return fmt::format(
      R"({{"ph":"X","cat":"kernel","name":"{}","pid":0,"tid":7,"ts":{},"dur":{},"args":{{"device":0,"stream":7,"correlation":{}}}}})",
      name, time, duration, correlation);
}
std::string trace(std::string_view events) {
  return fmt::format(R"({{"schemaVersion":1,"traceEvents":[{}]}})", events);
}

// Reads, expects the one mend and no other, and that strict refuses it.
Capture expect_mend(std::string_view text, std::string_view mend, std::int64_t count = 1) {
  Capture capture = read(text);
  EXPECT_EQ(capture.repairs.all().size(), 1U) << text;
  EXPECT_EQ(capture.repairs.count(mend), count) << text;
  EXPECT_THROW(read(text, true), UserError) << text;
  return capture;
}
std::string name_of(const Capture& capture, std::size_t op = 0) {
  return std::string(capture.texts[capture.device_ops.at(op).name]);
}

TEST(HostileKineto, CutAtEveryByteItIsSalvagedOrRefused) {
  std::string text = trace(kernel("a") + ",\n" + kernel("b", "20.5") + ",\n" + kernel("\\\"c\\u00e9", "30.5", "1e1"));
  text.insert(text.size() - 1, R"(,"distributedInfo":{"rank":3})");
  const Capture whole = read(text);
  ASSERT_EQ(whole.device_ops.size(), 3U);
  std::size_t most = 0;
  for (std::size_t length = 0; length < text.size(); ++length) {
    try {
      const Capture capture = read(text.substr(0, length));
      EXPECT_GE(capture.device_ops.size(), most);
      most = capture.device_ops.size();
      EXPECT_FALSE(capture.repairs.all().empty());
      for (std::size_t i = 0; i < most; ++i) EXPECT_EQ(capture.device_ops[i].start, whole.device_ops[i].start);
    } catch (const UserError& error) {
      EXPECT_EQ(most, 0U) << error.message();
    }
  }
  EXPECT_EQ(most, 3U);
}

TEST(HostileKineto, ATruncatedFileIsMarked) {
  const std::string text = trace(kernel("a") + "," + kernel("b"));
  const Capture capture = expect_mend(text.substr(0, text.size() - 20), "truncated_file");
  EXPECT_TRUE(capture.is_truncated);
  EXPECT_EQ(capture.device_ops.size(), 1U);
  EXPECT_FALSE(read(text).is_truncated);
}

TEST(HostileKineto, OddNumbersAndTimes) {
  EXPECT_EQ(expect_mend(trace(kernel("a", "10", "-2.5")), "negative_duration").repairs.all()[0].largest, 2500);
  EXPECT_TRUE(expect_mend(trace(kernel("a", "0", "0")), "zero_timestamp").device_ops.empty());
  EXPECT_TRUE(expect_mend(trace(kernel("a", "NaN")), "missing_time").device_ops.empty());
  EXPECT_TRUE(expect_mend(trace(kernel("a", "1e300")), "time_overflow").device_ops.empty());
  EXPECT_TRUE(expect_mend(trace(kernel("a", "1", "99999999999999999999")), "time_overflow").device_ops.empty());
  EXPECT_TRUE(expect_mend(trace(kernel("a", "1", "3e13")), "time_overflow").device_ops.empty());  // a year
  EXPECT_EQ(read(trace(kernel("a", "1", "2.5e12"))).device_ops.size(), 1U);                       // 29 days
  EXPECT_EQ(read(trace(kernel("a", "\"17.5\""))).device_ops.at(0).start, 17500);  // a time as a string is no mend
  EXPECT_EQ(read(trace(kernel("a", "7", "0"))).device_ops.at(0).duration, 0);     // nor is no duration at all
}

TEST(HostileKineto, EventsToldTwiceAreKeptOnce) {
  const Capture capture = expect_mend(trace(kernel("a") + "," + kernel("a") + "," + kernel("b")), "duplicate_event");
  EXPECT_EQ(capture.device_ops.size(), 2U);
  EXPECT_EQ(capture.event_count, 3);
}

TEST(HostileKineto, TextsThatAreNoJsonAreMendedOneRecordAtATime) {
  EXPECT_EQ(name_of(expect_mend(trace(kernel("a\xFFz") + "," + kernel("b", "20")), "invalid_utf8")), "a\xEF\xBF\xBDz");
  EXPECT_EQ(name_of(expect_mend(trace(kernel("a\nz")), "control_character")), "a\nz");
  EXPECT_EQ(name_of(expect_mend(trace(kernel("C:\\Windows\\x")), "invalid_escape", 2)), "C:\\Windows\\x");
  EXPECT_EQ(name_of(expect_mend(trace(kernel("say \"hi\" now")), "stray_quote", 2)), "say \"hi\" now");
  EXPECT_EQ(name_of(expect_mend(trace(R"({"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1,"args":{"stream":7,},})"),
                                "trailing_comma", 2)),
            "k");
  EXPECT_EQ(name_of(read(trace(kernel("\\ud83d\\ude00\\u00e9\\n")))), "\xF0\x9F\x98\x80\xC3\xA9\n");
}

TEST(HostileKineto, AQuoteTooManyDoesNotCostTheNeighbours) {
  const Capture capture = read(trace(kernel("a") + "," + kernel("od\"d", "20") + "," + kernel("c", "30", "5", 9)));
  ASSERT_EQ(capture.device_ops.size(), 3U);
  EXPECT_EQ(name_of(capture, 1), "od\"d");
  EXPECT_EQ(capture.repairs.count("stray_quote"), 1);
  EXPECT_EQ(capture.device_ops[2].correlation, 9U);
}

// 200 kernels as Kineto prints them, brackets and quotes in their arguments, and the rank after them.
struct LongTrace {
  std::string text;
  std::vector<std::size_t> events;  // where each begins; then where the list ends
};
LongTrace long_trace(std::string_view space) {
  LongTrace trace;
  trace.text = R"({"schemaVersion":1,"traceEvents":[)";
  for (int i = 0; i < 200; ++i) {
    if (i > 0) trace.text += fmt::format(",{}", space);
    trace.events.push_back(trace.text.size());
    trace.text += fmt::format(
        R"({{{0}"ph":{0}"X","cat":{0}"kernel", "name": "k<{{lambda()#1}}>[4]", "pid": 0,{0}"tid": 7, "ts": {1}, "dur": 5,)"
        R"({0}"args":{0}{{"device": 0, "stream": 7,{0}"Input Dims": [[2, 3], []], "correlation": {1}{0}}}{0}}})",
        space, 10 * (i + 1));
  }
  trace.events.push_back(trace.text.size());
  trace.text += fmt::format("{0}],{0}\"distributedInfo\": {{\"rank\": 3, \"world_size\": 8}}}}", space);
  return trace;
}

TEST(HostileKineto, AWrongByteCostsItsOwnEventAndNoOthers) {
  for (const std::string_view space : {"", " ", "\n  "}) {
    const LongTrace whole = long_trace(space);
    ASSERT_EQ(read(whole.text, true).device_ops.size(), 200U);
    for (const std::size_t event : {0U, 1U, 100U, 198U, 199U}) {
      for (std::size_t at = whole.events[event]; at < whole.events[event + 1]; ++at) {
        if (std::string_view("{}[]\",:").find(whole.text[at]) == std::string_view::npos) continue;
        std::string text = whole.text;
        text[at] = 'z';
        const auto place = fmt::format("byte {} of event {}: {}", at - whole.events[event], event,
                                       text.substr(whole.events[event], whole.events[event + 1] - whole.events[event]));
        const Capture capture = read(text);
        EXPECT_GE(capture.device_ops.size(), 198U) << place;
        EXPECT_TRUE(event == 199 || capture.rank == 3) << place;
        if (capture.device_ops.size() < 200) {
          EXPECT_FALSE(capture.repairs.all().empty()) << place;
          EXPECT_THROW(read(text, true), UserError) << place;
        }
      }
    }
  }
}

// One mistake must not be mended by what the next one breaks: in every fifth event another byte is wrong.
TEST(HostileKineto, ManyWrongBytesCostAnEventEach) {
  const LongTrace whole = long_trace(" ");
  std::string text = whole.text;
  for (std::size_t event = 0; event < 200; event += 5) {
    std::size_t at = whole.events[event];
    for (std::size_t skipped = 0; skipped <= event / 5; ++skipped) at = text.find_first_of("{}[]\",:", at + 1);
    text[at] = 'z';
  }
  const Capture capture = read(text);
  EXPECT_GE(capture.device_ops.size(), 160U);
  EXPECT_EQ(capture.rank, 3);
}

TEST(HostileKineto, BracketsTooManyDoNotEndTheEvents) {
  for (const std::string_view stray : {"}", "]", "}}", "]}", "}]", "z", "\"z\": 1, "}) {
    const std::string text = trace(kernel("a") + std::string(stray) + ",\n" + kernel("b", "20"));
    EXPECT_EQ(read(text).device_ops.size(), 2U) << stray;
    EXPECT_THROW(read(text, true), UserError) << stray;
  }
}

TEST(HostileKineto, AListWithoutItsEndGivesItsEventsAndWhatFollows) {
  for (const std::string_view end : {"", "z", "}"}) {
    const std::string text = fmt::format(R"({{"traceEvents":[{},{}{},"distributedInfo":{{"rank":3}}}})", kernel("a"),
                                         kernel("b", "20"), end);
    const Capture capture = read(text);
    EXPECT_EQ(capture.device_ops.size(), 2U) << end;
    EXPECT_EQ(capture.rank, 3) << end;
    EXPECT_THROW(read(text, true), UserError) << end;
  }
}

TEST(HostileKineto, AnEventThatCannotBeMendedIsCountedWithItsPlace) {
  const Capture capture = expect_mend(trace(kernel("a") + R"(,{"ph":"X",5:7},)" + kernel("b", "20")), "broken_event");
  EXPECT_EQ(capture.device_ops.size(), 2U);
  EXPECT_EQ(capture.repairs.all()[0].first.substr(0, 9), "record 2 ");
}

TEST(HostileKineto, TheLastOfEqualKeysCounts) {
  EXPECT_EQ(name_of(read(trace(R"({"ph":"X","cat":"kernel","name":"x","name":"y","ts":1,"ts":2,"dur":1})"))), "y");
}

TEST(HostileKineto, EmptyEventsAndOddElementsArePassedOver) {
  EXPECT_EQ(read(trace("{}," + kernel("a"))).device_ops.size(), 1U);
  EXPECT_EQ(expect_mend(trace("null,[1],\"x\"," + kernel("a")), "not_an_event", 3).device_ops.size(), 1U);
  EXPECT_EQ(expect_mend(trace(kernel("a") + ","), "trailing_comma").device_ops.size(), 1U);
}

TEST(HostileKineto, BrokenHeadersDoNotCostTheEvents) {
  const std::string text =
      fmt::format(R"({{"distributedInfo":{{"rank":zero}},"deviceProperties":{{}},"traceEvents":[{}]}})", kernel("a"));
  EXPECT_EQ(expect_mend(text, "broken_header").device_ops.size(), 1U);
}

TEST(HostileKineto, RanksThatAreNoneAreNotKept) {
  const auto text = [](std::string_view rank, std::string_view world) {
    return fmt::format(R"({{"distributedInfo":{{"rank":{},"world_size":{}}},"traceEvents":[{}]}})", rank, world,
                       kernel("a"));
  };
  for (const std::string_view rank : {"-1", "\"zero\"", "0.5", "9223372036854775808", "[]", "\"\""}) {
    const Capture capture = expect_mend(text(rank, "2"), "bad_rank");
    EXPECT_EQ(capture.rank, std::nullopt) << rank;
    EXPECT_EQ(capture.world_size, 2) << rank;
    EXPECT_EQ(capture.repairs.all()[0].first, fmt::format("`rank: {}` of `distributedInfo`", rank));
  }
  for (const std::string_view world : {"0", "-4", "\"two\"", "1.5"}) {
    const Capture capture = expect_mend(text("0", world), "bad_rank");
    EXPECT_EQ(capture.rank, 0) << world;
    EXPECT_EQ(capture.world_size, std::nullopt) << world;
  }
  EXPECT_EQ(read(text("\"1\"", "\"2\""), true).rank, 1);  // a number as a string is one
  EXPECT_EQ(read(text("null", "null"), true).rank, std::nullopt);
}

// Each of them looks for its end in all that follows: time would grow with the square of the file.
TEST(HostileKineto, EventsWithoutTheirEndsTakeTimeByTheirNumber) {
  const auto seconds_for = [](int count) {
    std::string events;
    for (int i = 0; i < count; ++i) {
      events += kernel("k", std::to_string(10 * i));
      events.back() = ',';
    }
    const std::string text = trace(events + kernel("last", "9"));
    const auto begin = std::chrono::steady_clock::now();
    const Capture capture = read(text);
    EXPECT_EQ(name_of(capture), "last");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  EXPECT_LT(seconds_for(24'000), 8 * seconds_for(6'000));  // four times the events; the square would be 16
}

TEST(HostileKineto, FormatsAreToldByContent) {
  const auto reader = make_kineto_reader();
  EXPECT_TRUE(reader->recognises(R"({"traceEvents":[]})"));
  EXPECT_TRUE(reader->recognises("\xEF\xBB\xBF [ {\"ph\":\"X\"}"));
  EXPECT_TRUE(reader->recognises("[]"));
  EXPECT_FALSE(reader->recognises(R"({"schema":"1.0.1","nodes":[]})"));
  EXPECT_FALSE(reader->recognises("[1, 2]"));
  EXPECT_FALSE(reader->recognises(R"({"model":"llama","layers":[]})"));
  EXPECT_TRUE(reader->recognises(R"({"metadata":{"pip_packages":[")" + std::string(60'000, 'x')));
  EXPECT_FALSE(reader->recognises(""));
}

}  // namespace
}  // namespace warploom
