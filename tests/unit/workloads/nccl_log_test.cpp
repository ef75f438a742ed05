// SPDX-License-Identifier: Apache-2.0
// Logs of nccl-tests as measured tables.
#include "workloads/validation/nccl_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warploom {
namespace {

constexpr const char* log =
    R"(# nThread 1 nGpus 2 minBytes 1048576 maxBytes 2097152 step: 2(factor) warmup iters: 5 iters: 20
#
# Using devices
#  Rank  0 Group  0 Pid  1017 on     node-1 device  0 [0x1b] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid  1017 on     node-2 device  1 [0x43] NVIDIA H100 80GB HBM3
NCCL version 2.19.3+cuda12.2
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    24.03   43.64   43.64      0    23.77   44.12   44.12      0
     2097152        524288     float     sum      -1    31.00   67.65   67.65      0    30.88   67.91   67.91      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 55.83
)";

TEST(NcclLog, IsATableOfOutOfPlaceTimes) {
  CsvReader table = CsvReader::from_text(nccl_log_as_csv(log, "runs/all_reduce_2.log"), "log");
  CsvRow row;
  ASSERT_TRUE(table.next(row));
  EXPECT_EQ(row.text("device"), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(row.integer("gpus"), 2);
  EXPECT_EQ(row.integer("nodes"), 2);
  EXPECT_EQ(row.text("library"), "nccl 2.19.3");
  EXPECT_EQ(row.text("op"), "all_reduce");
  EXPECT_EQ(row.integer("bytes"), 1048576);
  EXPECT_EQ(row.number("time_us"), 24.03);
  ASSERT_TRUE(table.next(row));
  EXPECT_EQ(row.number("time_us"), 31.00);
  EXPECT_FALSE(table.next(row));
}

TEST(NcclLog, TheOperationStandsInNewerLogsBeforeTheFilesName) {
  const std::string newer = "# Collective test starting: all_gather_perf\n" + std::string(log);
  EXPECT_THAT(nccl_log_as_csv(newer, "run.log"), ::testing::HasSubstr(",all_gather,auto,float,1048576,24.03"));
  EXPECT_THROW(nccl_log_as_csv(log, "run.log"), UserError);
}

TEST(NcclLog, IsToldFromATable) {
  EXPECT_TRUE(is_nccl_log(log));
  EXPECT_FALSE(is_nccl_log("device,m,n,k,latency_us\n"));
}

TEST(NcclLog, WithoutMeasurementsIsAMistake) {
  EXPECT_THROW(nccl_log_as_csv("# nThread 1 nGpus 2\n", "all_reduce.log"), UserError);
}

}  // namespace
}  // namespace warploom
