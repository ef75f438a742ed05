// SPDX-License-Identifier: Apache-2.0
// Devices: derived peaks, data-sheet checks that follow overrides, ranges, what fits.
#include "hw_models/device.hpp"

#include <gmock/gmock.h>

#include "tests/unit/hw_models/devices.hpp"

namespace warploom {
namespace {

using testing::a100;
using ::testing::AllOf;
using testing::h100;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::mistakes_of;

TEST(Device, PeakIsSmsTimesClockTimesRate) {
  const DeviceSpec device = h100();
  EXPECT_DOUBLE_EQ(device.peak(DataType::bf16).value(), 132 * 1.83e9 * 4096);
  EXPECT_DOUBLE_EQ(device.vector_peak_at(1.98_GHz).value(), 132 * 1.98e9 * 128 * 2);
  EXPECT_DOUBLE_EQ(a100().peak(DataType::bf16).value(), 108 * 1.41e9 * 2048);
}

// Scenario A1: 989 TFLOP/s over 3.35 TB/s.
TEST(Device, RidgeOfH100Is295FlopAByte) { EXPECT_NEAR(h100().ridge(DataType::bf16), 295.2, 0.2); }

TEST(Device, EveryLibraryDeviceIsWholeAndItsChecksFollow) {
  int devices = 0;
  for (const LibraryEntry& entry : testing::library().entries()) {
    if (!entry.name.starts_with("devices/")) continue;
    ++devices;
    const ConfigValue value = load_config(entry.path, {}, testing::library());
    Diagnostics diagnostics;
    const auto device = read<DeviceSpec>(value, diagnostics);
    report_unread(value, diagnostics);
    EXPECT_NO_THROW(diagnostics.throw_if_any()) << entry.name;
    EXPECT_FALSE(device.source.empty()) << entry.name;
    EXPECT_FALSE(device.data_sheet_peaks.empty()) << entry.name << " has no check";
  }
  EXPECT_GE(devices, 2);
}

TEST(DeviceCheck, ShowsTheArithmeticWhenAPeakDoesNotFollow) {
  const std::string text = mistakes_of("use: h100_sxm\ncheck: {bf16: 1200 TFLOP/s}\n");
  EXPECT_THAT(text, AllOf(HasSubstr("mine.yaml:2"), HasSubstr("`check.bf16`"),
                          HasSubstr("132 SMs x 4096 FLOP a clock x 1.83 GHz = 989 TFLOP/s, not 1.2 PFLOP/s")));
}

TEST(DeviceCheck, AllowsTwoPercent) {
  EXPECT_THAT(mistakes_of("use: h100_sxm\ncheck: {bf16: 1005 TFLOP/s}\n"), IsEmpty());
  EXPECT_THAT(mistakes_of("use: h100_sxm\ncheck: {bf16: 1015 TFLOP/s}\n"), HasSubstr("check.bf16"));
}

TEST(DeviceCheck, IsDroppedWhenAnOverrideTouchesAnInput) {
  EXPECT_THAT(mistakes_of("use: h100_sxm\n", {"sm.count=114"}), IsEmpty());
  EXPECT_THAT(mistakes_of("use: h100_sxm\n", {"clock.data_sheet=1.5 GHz"}), IsEmpty());
  EXPECT_THAT(mistakes_of("use: h100_sxm\nsm: {count: 114}\n"), IsEmpty());
  EXPECT_THAT(mistakes_of("use: h100_sxm\ntensor: {bf16: 2048}\n"), IsEmpty());
}

TEST(DeviceCheck, StaysWhenAnOverrideTouchesSomethingElse) {
  EXPECT_THAT(mistakes_of("use: h100_sxm\ncheck: {bf16: 1200 TFLOP/s}\n", {"memory.bandwidth=4.8 TB/s"}),
              HasSubstr("check.bf16"));
  // Of a file that brings both, the check holds, wherever the file is used from.
  EXPECT_THAT(mistakes_of("use: h100_sxm\nsm: {count: 114}\ncheck: {bf16: 989 TFLOP/s}\n"), HasSubstr("114 SMs"));
}

TEST(DeviceCheck, OfAnUnknownRateOrTypeIsAnError) {
  EXPECT_THAT(mistakes_of("use: h100_sxm\ncheck: {fp4: 9 PFLOP/s}\n"), HasSubstr("`tensor` has no rate for `fp4`"));
  EXPECT_THAT(mistakes_of("use: h100_sxm\ntensor: {bf61: 4096}\n"),
              AllOf(HasSubstr("`tensor.bf61`"), HasSubstr("bf16")));
}

TEST(Device, RefusesAbsurdValues) {
  EXPECT_THAT(mistakes_of("use: h100_sxm\n", {"sm.count=0"}), HasSubstr("`sm.count`"));
  EXPECT_THAT(mistakes_of("use: h100_sxm\n", {"memory.bandwidth=-1 TB/s"}), HasSubstr("`memory.bandwidth`"));
  EXPECT_THAT(mistakes_of("use: h100_sxm\n", {"power.limit=0 W"}), HasSubstr("`power.limit`"));
  EXPECT_THAT(mistakes_of("use: h100_sxm\n", {"memory.reached=1.5"}), HasSubstr("`memory.reached`"));
  EXPECT_THAT(mistakes_of("use: h100_sxm\n", {"power.idle=800 W"}), HasSubstr("leaves nothing"));
  EXPECT_THAT(mistakes_of("use: h100_sxm\n", {"clock.data_sheet=2.5 GHz"}), HasSubstr("`clock.data_sheet`"));
  EXPECT_THAT(mistakes_of("use: h100_sxm\n", {"memory.usable=90 GiB"}), HasSubstr("`memory.usable`"));
}

TEST(Device, FitsIsAboutUsableMemoryNotRaw) {
  const DeviceSpec device = h100();
  EXPECT_LT(device.memory.usable, device.memory.capacity);
  EXPECT_TRUE(device.fits(device.memory.usable));
  EXPECT_FALSE(device.fits(device.memory.usable + 1_B));
  EXPECT_FALSE(device.fits(device.memory.capacity));
}

TEST(Device, WarnsOfMoreMemoryThatStaysUnusable) {
  const auto warnings_of = [](const std::string& text) {
    Diagnostics diagnostics;
    (void)read<DeviceSpec>(parse_config_text(text, "mine.yaml", {}, testing::library()), diagnostics);
    return diagnostics.warnings();
  };
  EXPECT_THAT(warnings_of("use: h100_sxm\n"), IsEmpty());
  EXPECT_THAT(warnings_of("use: h100_sxm\nmemory: {capacity: 141 GB, usable: 140 GB}\n"), IsEmpty());
  const auto warnings = warnings_of("use: h100_sxm\nmemory: {capacity: 141 GB}\n");
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].path, "memory.capacity");
  EXPECT_EQ(warnings[0].hint, "set memory.usable, too");
}

TEST(Device, LacksAndNamesDataTypes) {
  EXPECT_FALSE(a100().has(DataType::fp8));
  EXPECT_TRUE(h100().has(DataType::fp8));
  try {
    a100().peak(DataType::fp8);
    FAIL() << "A100 has no FP8";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("A100"), HasSubstr("fp8"), HasSubstr("bf16, fp16, int8, tf32")));
  }
}

}  // namespace
}  // namespace warploom
