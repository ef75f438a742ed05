// SPDX-License-Identifier: Apache-2.0
// The cache of detailed results: what comes back is what was kept, and no file can do harm.
#include "hw_models/detailed_cache.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "hw_models/kernels/gemm.hpp"
#include "sim/core/whole_file.hpp"
#include "tests/unit/hw_models/devices.hpp"

namespace warploom {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::h100;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DetailedKernel some_result(double cycles = 1234.5) {
  DetailedKernel result;
  result.cost.duration = Time::picoseconds(987654321);
  result.cost.bound_by = Bound::hbm;
  result.clock = Frequency(1.5e9);
  result.is_power_limited = true;
  result.energy = Energy(0.25);
  DetailedResult program;
  program.program = "gemm 128 x 256, \"wgmma\"";
  program.clock = result.clock;
  program.cycles = program.sm_cycles = cycles;
  program.sm.stalls[3] = 17.25;
  program.sm.to_memory = 0.1;
  program.blocks = 132;
  program.prologue = 77;
  result.programs = {program, program};
  return result;
}

class DetailedCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              fmt::format("cache_{}", ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string file() const { return (folder_ / "detailed.cache").string(); }
  void keep(std::uint64_t number, const std::string& model = "model") {
    DetailedCache cache(folder_.string(), model);
    cache.add({number, number}, some_result(static_cast<double>(number)));
  }
  bool knows(std::uint64_t number, const std::string& model = "model") {
    DetailedCache cache(folder_.string(), model);
    const auto found = cache.find({number, number});
    return found && found->programs[0].cycles == static_cast<double>(number);
  }

  fs::path folder_;
};

TEST_F(DetailedCacheTest, AResultComesBackAsItWas) {
  const DetailedKernel kept = some_result();
  const auto back = decoded(encoded(kept));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->cost.duration, kept.cost.duration);
  EXPECT_EQ(back->cost.bound_by, kept.cost.bound_by);
  EXPECT_EQ(back->energy, kept.energy);
  EXPECT_TRUE(back->is_power_limited);
  ASSERT_EQ(back->programs.size(), 2U);
  EXPECT_EQ(back->programs[1].program, kept.programs[1].program);
  EXPECT_EQ(back->programs[1].sm.stalls, kept.programs[1].sm.stalls);
  EXPECT_EQ(back->programs[1].sm.to_memory, kept.programs[1].sm.to_memory);
  EXPECT_EQ(back->programs[1].prologue, 77);
  EXPECT_EQ(encoded(*back), encoded(kept));
}

TEST_F(DetailedCacheTest, OutlivesTheProcessAndIsSharedByTwo) {
  keep(1);
  {
    DetailedCache first(folder_.string(), "model");
    DetailedCache second(folder_.string(), "model");
    first.add({2, 2}, some_result(2));
    second.add({3, 3}, some_result(3));
  }
  EXPECT_TRUE(knows(1));
  EXPECT_TRUE(knows(2));
  EXPECT_TRUE(knows(3));
  EXPECT_FALSE(knows(4));
}

TEST_F(DetailedCacheTest, AnotherModelBeginsANewFileAndSaysSo) {
  keep(1);
  {
    DetailedCache cache(folder_.string(), "newer");
    EXPECT_FALSE(cache.find({1, 1}));
    EXPECT_THAT(cache.notes(), ElementsAre(HasSubstr("another version of the model")));
    cache.add({2, 2}, some_result(2));
  }
  EXPECT_TRUE(knows(2, "newer"));
  EXPECT_FALSE(knows(1, "newer"));
}

TEST_F(DetailedCacheTest, BrokenLinesArePassedOverAndTheOthersStillCount) {
  keep(1);
  keep(2);
  std::string text = read_whole_file(file());
  text[text.find("0000000000000001") + 70] ^= 1;  // in what the first line holds
  std::ofstream(file()) << text << "torn";
  EXPECT_FALSE(knows(1));
  EXPECT_TRUE(knows(2));
  keep(3);  // behind the torn line
  EXPECT_TRUE(knows(3));
}

TEST_F(DetailedCacheTest, GarbageIsIgnoredWithANoteAndReplaced) {
  fs::create_directories(folder_);
  std::ofstream(file()) << std::string(100000, '\xff') << "\n\n\0\n";
  {
    DetailedCache cache(folder_.string(), "model");
    EXPECT_THAT(cache.notes(), ElementsAre(HasSubstr("is no cache of detailed results")));
    cache.add({1, 1}, some_result(1));
  }
  EXPECT_TRUE(knows(1));
}

TEST_F(DetailedCacheTest, AFileBeyondItsLimitIsNotEvenRead) {
  fs::create_directories(folder_);
  std::ofstream(file()) << "";
  fs::resize_file(file(), 1ULL << 40);
  const DetailedCache cache(folder_.string(), "model");
  EXPECT_THAT(cache.notes(), ElementsAre(HasSubstr("has grown beyond 64 MiB")));
}

TEST_F(DetailedCacheTest, WhatIsNoFileIsLeftAlone) {
  fs::create_directories(folder_);
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  keep(1);
  EXPECT_FALSE(knows(1));
  EXPECT_TRUE(fs::is_fifo(file()));
  fs::remove(file());
  fs::create_directories(file());
  keep(1);
  EXPECT_TRUE(fs::is_directory(file()));
}

TEST_F(DetailedCacheTest, AFolderThatTakesNothingIsToldAndHarmsNothing) {
  std::ofstream(folder_) << "a file where the folder should be";
  DetailedCache cache(folder_.string(), "model");
  cache.add({1, 1}, some_result(1));
  cache.flush();
  EXPECT_TRUE(cache.find({1, 1}));
  EXPECT_THAT(cache.notes(), ElementsAre(HasSubstr("results are not kept")));
}

TEST_F(DetailedCacheTest, NoTextButAResultIsDecoded) {
  const std::string good = encoded(some_result());
  EXPECT_FALSE(decoded(""));
  for (std::size_t length = 0; length < good.size(); length += 7) EXPECT_FALSE(decoded(good.substr(0, length)));
  EXPECT_FALSE(decoded(good + "1 "));
  EXPECT_FALSE(decoded("ffffffffffffffff " + good));
  std::string many = good;  // says it has 2^60 programs
  for (int word = 0; word < 11; ++word) many.erase(0, many.find(' ') + 1);
  EXPECT_FALSE(decoded("1 0 0 0 0 0 0 0 0 0 0 fffffffffffffff " + many));
}

TEST_F(DetailedCacheTest, EveryNumberOfADeviceIsPartOfItsKey) {
  const DeviceSpec device = h100();
  for (const char* change :
       {"sm.count=131", "memory.latency=651 cycles", "tensor.bf16=4095", "architecture.pipeline.l2_port=65",
        "architecture.gemm.tiles=[{m: 64, n: 64}]", "architecture.energy.tensor_flop.bf16=1.2 pJ", "power.limit=701 W",
        "launch.graph=1.261 us", "architecture.attention.fixed=9 ns"}) {
    EXPECT_NE(device_key(h100({change})), device_key(device)) << change;
  }
  EXPECT_EQ(device_key(h100({"name=mine"})), device_key(device));
  GemmShape shape;
  shape.m = shape.n = shape.k = 64;
  const DetailedKey key = detailed_key(gemm(shape), device_key(device), LaunchMode::graph, {});
  EXPECT_NE(key, detailed_key(gemm(shape), device_key(device), LaunchMode::stream, {}));
  EXPECT_NE(key, detailed_key(gemm(shape), device_key(device), LaunchMode::graph, {.all_sms = true}));
  shape.k = 65;
  EXPECT_NE(key, detailed_key(gemm(shape), device_key(device), LaunchMode::graph, {}));
}

TEST_F(DetailedCacheTest, PlaysAKernelOnceAndTakesItFromTheFileAfterwards) {
  if (!has_detailed_model()) GTEST_SKIP() << "SystemC is missing";
  GemmShape shape;
  shape.m = shape.n = shape.k = 512;
  const DetailedKernel played = play_kernel(gemm(shape), h100(), LaunchMode::graph);
  for (int i = 0; i < 2; ++i) {
    DetailedCache cache(folder_.string());
    const DetailedKernel cached = play_cached(gemm(shape), h100(), LaunchMode::graph, {}, &cache);
    EXPECT_EQ(cached.cost.duration, played.cost.duration);
    EXPECT_EQ(encoded(cached), encoded(played));
    EXPECT_THAT(cache.notes(), IsEmpty());
  }
}

}  // namespace
}  // namespace warploom
