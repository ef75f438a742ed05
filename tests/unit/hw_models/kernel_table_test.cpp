// SPDX-License-Identifier: Apache-2.0
// A table of measured kernels: exact where it has a row, between rows log-log, and silent outside.
#include "hw_models/kernel_table.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "hw_models/kernels/gemm.hpp"
#include "hw_models/table_timer.hpp"
#include "sim/core/errors.hpp"

namespace warploom {
namespace {

// A table file that goes away with the test.
class TableFile {
 public:
  explicit TableFile(const std::string& text) : path_(std::filesystem::temp_directory_path() / unique_name()) {
    std::ofstream(path_) << text;
  }
  ~TableFile() { std::filesystem::remove(path_); }
  TableFile(const TableFile&) = delete;
  TableFile& operator=(const TableFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  static std::string unique_name() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    return std::string("warploom_") + test->name() + std::to_string(::getpid()) + ".csv";
  }
  std::filesystem::path path_;
};

Kernel product(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmShape shape;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  return gemm(shape);
}

std::string mistake_of(const std::string& text) {
  const TableFile file(text);
  try {
    KernelTable::load(file.path());
    return {};
  } catch (const UserError& error) {
    return error.what();
  }
}

TEST(KernelTable, KnowsItsRowsExactly) {
  const TableFile file("family,m,n,k,latency_us\ngemm,64,512,512,10\ngemm,256,512,512,40\n");
  const KernelTable table = KernelTable::load(file.path());
  EXPECT_NEAR(table.time(product(64, 512, 512))->microseconds(), 10, 1e-5);
  EXPECT_NEAR(table.time(product(256, 512, 512))->microseconds(), 40, 1e-5);
}

TEST(KernelTable, IsLinearInLogarithmsBetweenRows) {
  const TableFile file("family,m,n,k,latency_us\ngemm,64,512,512,10\ngemm,256,512,512,40\n");
  const KernelTable table = KernelTable::load(file.path());
  EXPECT_NEAR(table.time(product(128, 512, 512))->microseconds(), std::sqrt(10.0 * 40.0), 1e-5);
}

TEST(KernelTable, InterpolatesOverAGridOfTwoSizes) {
  const TableFile file(
      "family,m,n,k,latency_us\ngemm,64,512,512,10\ngemm,256,512,512,40\ngemm,64,2048,512,40\ngemm,256,2048,512,160\n");
  const KernelTable table = KernelTable::load(file.path());
  EXPECT_NEAR(table.time(product(128, 1024, 512))->microseconds(), 40, 1e-4);
}

TEST(KernelTable, DoesNotExtrapolateNorBridgeAMissingCorner) {
  const TableFile file("family,m,n,k,latency_us\ngemm,64,512,512,10\ngemm,256,2048,512,40\n");
  const KernelTable table = KernelTable::load(file.path());
  EXPECT_FALSE(table.time(product(32, 512, 512)));
  EXPECT_FALSE(table.time(product(512, 512, 512)));
  EXPECT_FALSE(table.time(product(128, 512, 512)));
}

TEST(KernelTable, RepeatedRowsCountWithTheirGeometricMean) {
  const TableFile file("family,m,n,k,latency_us\ngemm,64,512,512,10\ngemm,64,512,512,40\n");
  EXPECT_NEAR(KernelTable::load(file.path()).time(product(64, 512, 512))->microseconds(), 20, 1e-5);
}

TEST(KernelTable, TellsTypesApartWhereItNamesThem) {
  const TableFile file("family,dtype,m,n,k,latency_us\ngemm,fp8,64,512,512,10\n");
  const KernelTable table = KernelTable::load(file.path());
  EXPECT_FALSE(table.time(product(64, 512, 512)));
  Kernel narrow = product(64, 512, 512);
  narrow.input = DataType::fp8;
  EXPECT_TRUE(table.time(narrow));
}

TEST(KernelTable, MistakesSayFileLineAndColumn) {
  EXPECT_NE(mistake_of("family,mm,n,k,latency_us\n").find("no kernel family has a `mm`"), std::string::npos);
  EXPECT_NE(mistake_of("family,m,n,k,latency_us\ngemmm,1,1,1,1\n").find(":2: error: no kernel family is called"),
            std::string::npos);
  EXPECT_NE(mistake_of("family,m,n,k,latency_us\ngemm,1,1,,1\n").find("needs `k`"), std::string::npos);
  EXPECT_NE(mistake_of("family,m,n,k,latency_us\ngemm,1,1,1,-4\n").find("latency_us"), std::string::npos);
  EXPECT_NE(mistake_of("family,m,n,k,latency_us\n").find("has no row"), std::string::npos);
}

class FixedTimer final : public KernelTimer {
 public:
  KernelCost cost(const Kernel&) const override {
    KernelCost cost;
    cost.duration = Time::from_seconds(1);
    cost.sm_share = 0.5;
    return cost;
  }
};

TEST(TableTimer, TakesDurationsFromTheTableAndMarksWhatItLacks) {
  const TableFile file("family,m,n,k,latency_us\ngemm,64,512,512,10\n");
  const TableTimer timer(std::make_shared<const KernelTable>(KernelTable::load(file.path())),
                         std::make_shared<const FixedTimer>());
  const KernelCost known = timer.cost(product(64, 512, 512));
  EXPECT_NEAR(known.duration.microseconds(), 10, 1e-5);
  EXPECT_FALSE(known.is_fallback);
  EXPECT_EQ(known.sm_share, 0.5);
  const KernelCost unknown = timer.cost(product(65, 512, 512));
  EXPECT_EQ(unknown.duration, Time::from_seconds(1));
  EXPECT_TRUE(unknown.is_fallback);
}

}  // namespace
}  // namespace warploom
