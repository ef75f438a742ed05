// SPDX-License-Identifier: Apache-2.0
// XSpace files made here at the wire, and real ones (WARPLOOM_DATA) against a count at the wire.
#include "traces/xplane_reader.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>

#include "sim/core/errors.hpp"
#include "tests/support/vendor_truth.hpp"
#include "traces/classify.hpp"
#include "traces/link.hpp"
#include "traces/wire_reader.hpp"

namespace warploom {
namespace {

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7U) bytes += static_cast<char>((value & 127U) | 128U);
  return bytes + static_cast<char>(value);
}
std::string number(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3U) + varint(value);
}
std::string bytes(int field, const std::string& content) {
  return varint((static_cast<std::uint64_t>(field) << 3U) | 2U) + varint(content.size()) + content;
}
std::string named(int field, std::uint64_t id, const std::string& name) {
  return bytes(field, number(1, id) + bytes(2, number(1, id) + bytes(2, name)));
}
std::string event(std::uint64_t name, std::uint64_t offset_ps, std::uint64_t duration_ps,
                  const std::string& stats = {}) {
  return bytes(4, number(1, name) + number(2, offset_ps) + number(3, duration_ps) + stats);
}
std::string line(std::uint64_t id, const std::string& name, std::uint64_t time_ns, const std::string& events) {
  return bytes(3, number(1, id) + bytes(2, name) + number(3, time_ns) + events);
}

constexpr std::uint64_t correlation = 1;
constexpr std::uint64_t hlo_op = 2;
constexpr std::uint64_t step_num = 3;
constexpr std::uint64_t memcpy_details = 4;
constexpr std::uint64_t text = 9;  // a statistic whose name another refers to as its value

std::string stat_names() {
  return named(5, correlation, "correlation_id") + named(5, hlo_op, "hlo_op") + named(5, step_num, "step_num") +
         named(5, memcpy_details, "memcpy_details") + named(5, text, "kind:HtoD size:4096 dest:1");
}

std::string device_plane(const std::string& lines) {
  return bytes(1, number(1, 1) + bytes(2, "/device:GPU:3") + lines + named(4, 1, "gemm_fusion_dot") +
                      named(4, 2, "MemcpyH2D") + named(4, 3, "all-reduce-kernel") + stat_names());
}
std::string host_plane() {
  return bytes(1, bytes(2, "/host:CPU") +
                      line(44, "python", 1000,
                           event(1, 2'000'000, 1'500'000, bytes(4, number(1, correlation) + number(3, 7))) +
                               event(2, 0, 9'000'000, bytes(4, number(1, step_num) + number(4, 12))) +
                               event(3, 0, 1'000'000) + event(4, 500, 0) + event(5, 3'000'000, 400'000)) +
                      named(4, 1, "hipModuleLaunchKernel") + named(4, 2, "train") + named(4, 3, "$python.py:1 f") +
                      named(4, 4, "MemoryAllocation") + named(4, 5, "PjRtExecute") + stat_names());
}
std::string environment() {
  return bytes(1, bytes(2, "Task Environment") + named(5, 1, "profile_start_time") +
                      bytes(6, number(1, 1) + number(3, 1'771'595'650'217'823'548)));
}
std::string small_space() {
  return device_plane(
             line(1, "Stream #16(Kernel)", 5000,
                  event(1, 1'499, 2'500, bytes(4, number(1, correlation) + number(3, 7))) +
                      event(2, 9'000'000, 1'000'000, bytes(4, number(1, memcpy_details) + number(7, text))) +
                      event(3, 20'000'000, 1'000'000, bytes(4, number(1, hlo_op) + bytes(5, "all-reduce.1")))) +
             line(2, "XLA Ops", 5000, event(1, 1'499, 2'500))) +
         host_plane() + environment();
}

Capture read(const std::string& content, bool strict = false) {
  const auto source = bytes_of("made.xplane.pb", content);
  ReadOptions options;
  options.strict = strict;
  Capture capture = std::move(make_xplane_reader()->read(*source, options).at(0));
  link_launches(capture);
  classify(capture);
  return capture;
}

TEST(Xplane, StreamsAreWorkAndDerivedLinesAreNotCountedAgain) {
  const Capture capture = read(small_space());
  ASSERT_EQ(capture.device_ops.size(), 3U);
  EXPECT_EQ(capture.device_ops[0].start, 5001);  // 5000 ns + 1.499 ns
  EXPECT_EQ(capture.device_ops[0].duration, 3);  // 2.5 ns
  EXPECT_EQ(capture.texts[capture.device_ops[0].name], "gemm_fusion_dot");
  EXPECT_EQ(capture.streams.at(0).name, "16");
  EXPECT_EQ(capture.streams.at(0).device, 3);
  EXPECT_EQ(capture.device_ops[1].kind, DeviceOpKind::copy);
  EXPECT_EQ(capture.device_ops[1].bytes, 4096);
  EXPECT_EQ(capture.device_ops[2].op_class, OpClass::communication);  // by its HLO, whatever the kernel is called
  EXPECT_EQ(capture.base_time, 1'771'595'650'217'823'548);
}

TEST(Xplane, HostLinesAreCallsStepsAndAnnotations) {
  const Capture capture = read(small_space());
  ASSERT_EQ(capture.calls.size(), 1U);
  EXPECT_EQ(capture.calls[0].start, 3000);
  EXPECT_EQ(capture.calls[0].kind, CallKind::launch);
  EXPECT_EQ(capture.device_ops[0].launch, 0U);
  ASSERT_EQ(capture.annotations.size(), 2U);  // neither the Python tracer's calls nor moments
  EXPECT_EQ(capture.texts[capture.annotations[0].name], "ProfilerStep#12");
  EXPECT_EQ(capture.texts[capture.annotations[1].name], "PjRtExecute");
  EXPECT_EQ(capture.events_by_category.at("python_function"), 1);
  EXPECT_EQ(capture.threads.at(0).id, 44);
}

TEST(Xplane, WithoutStreamsTheLineOfXlaOpsIsTheWorkAndTheDevicesStepsAreTheSteps) {
  const std::string steps = bytes(4, number(1, 9) + number(2, 0) + number(3, 5'000'000));
  const Capture capture =
      read(bytes(1, bytes(2, "/device:TPU:0") + line(1, "XLA Ops", 10, event(1, 0, 1'000'000)) +
                        line(2, "XLA Modules", 10, event(1, 0, 1'000'000)) + line(3, "Steps", 10, steps) +
                        named(4, 1, "fusion.7") + named(4, 9, "41") + stat_names()));
  ASSERT_EQ(capture.device_ops.size(), 1U);
  EXPECT_EQ(capture.device_ops[0].duration, 1000);
  ASSERT_EQ(capture.annotations.size(), 1U);
  EXPECT_EQ(capture.texts[capture.annotations[0].name], "ProfilerStep#41");
}

TEST(Xplane, WhatHasNoTimeIsLeftOutAndCountedAndAnErrorWhenStrict) {
  const std::string aggregate = bytes(4, number(1, 1) + number(3, 10) + number(5, 1000));
  const std::string file = device_plane(
      line(1, "Stream #1(Kernel)", 5, event(1, 0, 1000) + aggregate + event(1, ~0ULL, 1) + event(1, 1, ~0ULL)));
  const Capture capture = read(file);
  EXPECT_EQ(capture.device_ops.size(), 1U);
  EXPECT_EQ(capture.repairs.count("aggregated_event"), 1);
  EXPECT_EQ(capture.repairs.count("row_without_times"), 2);
  EXPECT_THROW(read(file, true), UserError);
}

TEST(Xplane, APlaneThatClaimsMoreThanTheFileHoldsCostsNoMemoryForIt) {
  const std::string claim = varint((1U << 3U) | 2U) + varint(2'000'000'000) + bytes(2, "/device:GPU:0");
  const Capture capture = read(small_space() + claim);
  EXPECT_TRUE(capture.is_truncated);
  EXPECT_EQ(capture.device_ops.size(), 3U);  // of the planes that are whole
  EXPECT_EQ(capture.repairs.count("truncated_plane"), 1);
  EXPECT_THROW(read(claim), UserError);
  EXPECT_THROW(read(varint((1U << 3U) | 2U) + varint(1ULL << 40U)), UserError);
}

TEST(Xplane, AFileCutOrFlippedAnywhereIsReadOrRefusedNeverMore) {
  const std::string file = small_space();
  for (std::size_t place = 0; place < file.size(); ++place) {
    std::string flipped = file;
    flipped[place] = static_cast<char>(flipped[place] ^ 0x41);
    for (const auto& broken : {file.substr(0, place), flipped}) {
      try {
        EXPECT_LE(read(broken).device_ops.size(), 4U);
      } catch (const UserError& error) {
        EXPECT_FALSE(error.message().empty());
      }
    }
  }
}

TEST(Xplane, OtherFilesOfProtobufAreNotTaken) {
  const auto reader = make_xplane_reader();
  EXPECT_TRUE(reader->recognises(small_space()));
  EXPECT_TRUE(reader->recognises(environment()));
  EXPECT_FALSE(reader->recognises(bytes(1, number(8, 5) + bytes(11, "x"))));        // Perfetto
  EXPECT_FALSE(reader->recognises(varint(10) + bytes(1, "1.0.1") + number(3, 4)));  // Chakra
  EXPECT_FALSE(reader->recognises(""));
}

TEST(WireReader, EveryLengthIsCheckedBeforeItIsBelieved) {
  for (const std::string& broken :
       {std::string("\x0A\x05xyz"), std::string("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"),
        std::string("\x09\x01"), std::string("\x0B"), std::string("\x80"), std::string("\x02\x00", 2)}) {
    WireReader reader(broken);
    WireField field;
    EXPECT_FALSE(reader.next(field));
    EXPECT_TRUE(reader.is_broken());
  }
  WireReader empty("");
  WireField field;
  EXPECT_FALSE(empty.next(field));
  EXPECT_FALSE(empty.is_broken());
}

// Walks the wire without the reader's code: calls `visit(field, value, bytes)`.
void walk(std::string_view message, const std::function<void(int, std::uint64_t, std::string_view)>& visit) {
  std::size_t at = 0;
  const auto take = [&] {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(at++));
      value |= static_cast<std::uint64_t>(byte & 127U) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < message.size()) {
    const std::uint64_t key = take();
    const int field = static_cast<int>(key >> 3U);
    if ((key & 7U) == 0) {
      visit(field, take(), {});
    } else if ((key & 7U) == 2) {
      const std::uint64_t size = take();
      visit(field, 0, message.substr(at, size));
      at += size;
    } else {
      const std::size_t size = (key & 7U) == 1 ? 8 : 4;
      at += size;
    }
  }
}

struct Counted {
  std::int64_t work = 0;
  std::uint64_t work_ps = 0;
  std::int64_t hosts = 0;
};
Counted count(const std::string& file) {
  Counted result;
  walk(file, [&](int top, std::uint64_t, std::string_view plane) {
    if (top != 1) return;
    std::string name;
    walk(plane, [&](int field, std::uint64_t, std::string_view content) {
      if (field == 2) name = content;
      if (field != 3 || name == "/host:metadata") return;
      std::string line_name;
      walk(content, [&](int part, std::uint64_t, std::string_view inner) {
        if (part == 2) line_name = inner;
        if (part != 4) return;
        if (name.starts_with("/host:")) ++result.hosts;
        if (!line_name.starts_with("Stream #")) return;
        ++result.work;
        walk(inner, [&](int own, std::uint64_t value, std::string_view) {
          if (own == 3) result.work_ps += value;
        });
      });
    });
  });
  return result;
}

TEST(XplaneReal, FiveFilesOfJaxHaveTheWorkThatAreCountedAtTheWire) {
  const auto folder = testing::trace_folder();
  if (!folder) GTEST_SKIP() << "WARPLOOM_DATA is not set: no real files";
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*folder + "tracelens/traces/mi300")) {
    if (entry.path().extension() != ".pb") continue;
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const Counted expected = count({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
    const auto read = read_traces(std::vector<std::string>{entry.path().string()});
    ASSERT_EQ(read.captures.size(), 1U);
    const Capture& capture = read.captures[0];
    EXPECT_TRUE(capture.repairs.all().empty());
    EXPECT_EQ(static_cast<std::int64_t>(capture.device_ops.size()), expected.work);
    EXPECT_GT(expected.work, 20);
    std::int64_t sum = 0;
    std::int64_t launched = 0;
    for (const auto& op : capture.device_ops) {
      sum += op.duration;
      launched += op.launch != nothing ? 1 : 0;
    }
    EXPECT_EQ(sum, static_cast<std::int64_t>(expected.work_ps / 1000));  // this profiler's times are whole nanoseconds
    EXPECT_EQ(launched, expected.work);
    std::int64_t hosts = 0;
    for (const char* category : {"python_function", "runtime", "host"}) {
      const auto place = capture.events_by_category.find(category);
      if (place != capture.events_by_category.end()) hosts += place->second;
    }
    EXPECT_EQ(hosts, expected.hosts);
    EXPECT_EQ(capture.devices.size(), 8U);
    EXPECT_EQ(capture.devices[0].sm_count, 304);
    EXPECT_GT(capture.base_time.value_or(0), 1'700'000'000'000'000'000);
    ++files;
  }
  EXPECT_EQ(files, 5);
}

}  // namespace
}  // namespace warploom
