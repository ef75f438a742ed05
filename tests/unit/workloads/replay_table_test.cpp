// SPDX-License-Identifier: Apache-2.0
// Tables of captures: a replay for another device beside what the same step took there.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "sim/core/errors.hpp"
#include "sim/core/whole_file.hpp"
#include "workloads/validation/validation.hpp"

namespace warploom {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A product of 4096 x 1024 x 2048 that takes so many microseconds, and a stream of 16 Mi elements: on a host that
// launches them 100 us apart.
std::string capture_of(const std::string& device, double product_us, double stream_us) {
  return fmt::format(
      R"({{"schemaVersion": 1, "deviceProperties": [{{"id": 0, "name": "{}"}}], "traceEvents": [
{{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":999.0,"dur":8.0,"args":{{"External id":1,"Input Dims":[[4096,1024],[1024,2048]],"Input type":["c10::BFloat16","c10::BFloat16"]}}}},
{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1000.0,"dur":4.0,"args":{{"correlation":1,"External id":1}}}},
{{"ph":"X","cat":"kernel","name":"some_gemm_bf16_128x128","pid":0,"tid":7,"ts":1006.0,"dur":{},"args":{{"correlation":1,"stream":7,"device":0}}}},
{{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":1099.0,"dur":8.0,"args":{{"External id":2,"Input Dims":[[4096,4096],[4096,4096],[]],"Input type":["c10::BFloat16","c10::BFloat16","Scalar"]}}}},
{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1100.0,"dur":4.0,"args":{{"correlation":2,"External id":2}}}},
{{"ph":"X","cat":"kernel","name":"vectorized_elementwise_kernel","pid":0,"tid":7,"ts":1106.0,"dur":{},"args":{{"correlation":2,"stream":7,"device":0}}}}
]}})",
      device, product_us, stream_us);
}

class ReplayTable : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("warploom_replays_{}", ::getpid());
    fs::create_directories(folder_);
    write_whole_file((folder_ / "a100.json").string(), capture_of("NVIDIA A100-SXM4-80GB", 75, 60));
    write_whole_file((folder_ / "h100.json").string(), capture_of("NVIDIA H100 80GB HBM3", 30, 35));
  }
  void TearDown() override { fs::remove_all(folder_); }

  TableValidation validate(const std::string& rows) {
    const std::string table = (folder_ / "replays.csv").string();
    write_whole_file(table, "step,capture,same_step,device,replay\n" + rows);
    ValidationContext context(Library({WARPLOOM_SOURCE_DIR "/configs"}));
    return validate_table(CsvReader::open(table), context, {});
  }

  fs::path folder_;
};

std::map<std::string, ValidatedRow> by_part(const TableValidation& table) {
  std::map<std::string, ValidatedRow> rows;
  for (const ValidatedRow& row : table.predicted) {
    for (const auto& [key, value] : table.groups[row.group].keys) {
      if (key == "part") rows.emplace(value, row);
    }
  }
  return rows;
}

TEST_F(ReplayTable, MeasuresSpanBusyTimeAndClassesOfTheOtherCapture) {
  const auto rows = by_part(validate("toy,a100.json,h100.json,h100_sxm,retimed\n"));
  EXPECT_NEAR(rows.at("span").measured_us, 135, 1e-9);  // 1006 to 1106 + 35
  EXPECT_NEAR(rows.at("busy").measured_us, 65, 1e-9);
  EXPECT_NEAR(rows.at("gemm").measured_us, 30, 1e-9);
  EXPECT_NEAR(rows.at("other kernels").measured_us, 35, 1e-9);
  EXPECT_FALSE(rows.contains("attention"));
}

TEST_F(ReplayTable, PredictsByTheModelsAndStandsBesideTheUnchangedTime) {
  const auto rows = by_part(validate("toy,a100.json,h100.json,h100_sxm,retimed\n"));
  // The host launches the second kernel 100 us after the first, whatever the device.
  EXPECT_NEAR(rows.at("span").predicted_us, 100 + rows.at("other kernels").predicted_us, 1);
  EXPECT_NEAR(rows.at("busy").predicted_us, rows.at("gemm").predicted_us + rows.at("other kernels").predicted_us, 0.01);
  EXPECT_LT(rows.at("gemm").predicted_us, 75 * 0.6);
  EXPECT_GT(rows.at("gemm").predicted_us, 75 * 0.25);
  EXPECT_NEAR(rows.at("gemm").baseline_us, 75, 1e-9);
  EXPECT_NEAR(rows.at("span").baseline_us, 160, 1e-9);
}

TEST_F(ReplayTable, AnUnchangedReplayIsComparedWithItsOwnCapture) {
  const TableValidation table = validate("toy,a100.json,a100.json,a100_sxm,unchanged\n");
  const auto rows = by_part(table);
  EXPECT_EQ(rows.size(), 2U);
  EXPECT_NEAR(rows.at("span").error(), 0, 0.01);
  EXPECT_NEAR(rows.at("busy").predicted_us, 135, 1e-9);
  EXPECT_NEAR(rows.at("span").baseline_us, 135, 1e-9);  // busy all the time
}

TEST_F(ReplayTable, WithoutShapesAProductCountsByItsClass) {
  const auto with = by_part(validate("toy,a100.json,h100.json,h100_sxm,retimed\n"));
  const auto without = by_part(validate("toy,a100.json,h100.json,h100_sxm,by_class\n"));
  EXPECT_GT(without.at("gemm").predicted_us, 0);
  EXPECT_NE(without.at("gemm").predicted_us, with.at("gemm").predicted_us);
}

TEST_F(ReplayTable, SaysWhatIsWrongWithARow) {
  const auto reason = [&](const std::string& row) {
    const TableValidation table = validate(row);
    return table.reasons.empty() ? std::string("none") : table.reasons.front();
  };
  EXPECT_THAT(reason("toy,a100.json,h100.json,h100_sxm,perhaps\n"),
              HasSubstr("`replay`: expected one of unchanged, retimed, by_class, got `perhaps`"));
  EXPECT_THAT(reason("toy,a100.json,h100.json,b200_sxm,retimed\n"),
              HasSubstr("`device` says b200_sxm, and `same_step` was captured on `h100_sxm`"));
  EXPECT_THAT(reason("toy,nowhere.json,h100.json,h100_sxm,retimed\n"), HasSubstr("there is no `nowhere.json`"));
}

TEST_F(ReplayTable, CapturesAreLookedForInTheFolderOfDataToo) {
  const fs::path apart = folder_ / "apart";
  fs::create_directories(apart);
  write_whole_file((apart / "r.csv").string(),
                   "step,capture,same_step,device,replay\ntoy,a100.json,h100.json,h100_sxm,retimed\n");
  ValidationContext context(Library({WARPLOOM_SOURCE_DIR "/configs"}));
  context.set_data_folder(folder_.string());
  EXPECT_EQ(validate_table(CsvReader::open((apart / "r.csv").string()), context, {}).predicted.size(), 4U);
}

}  // namespace
}  // namespace warploom
