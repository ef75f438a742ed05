// SPDX-License-Identifier: Apache-2.0
// Programs as text: what is written is what is played, and what is wrong is told with its place.
#include "hw_models/programs/program_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hw_models/detailed.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/hw_models/devices.hpp"

namespace warploom {
namespace {

using testing::a100;
using testing::device_from;
using testing::h100;
using ::testing::HasSubstr;

std::string mistakes_of(const std::string& text) {
  try {
    parse_program(text, "mine.txt");
    return {};
  } catch (const UserError& error) {
    return error.what();
  }
}

TEST(ProgramText, SaysWhatABlockDoes) {
  const KernelProgram program = parse_program(
      "program two roles  # a comment\nblocks 3 turns=5\nblocks 2\nshared_memory 32 KiB\n"
      "stream a from_memory=0.5 cluster=2\nring full arrivals=2 copies=2 free=1\n"
      "role one warps=4 registers=64\n  loop turns stages=2\n    wait full\n    wgmma m=64 n=128 k=16 type=fp8 x3\n  "
      "end\n"
      "role two\n  copy_tile a full bytes=4096\n",
      "mine.txt");
  EXPECT_EQ(program.name, "two roles");
  EXPECT_EQ(program.block_count(), 5);
  EXPECT_EQ(program.shared_memory, Bytes(32 << 10));
  EXPECT_EQ(program.warps(), 5);
  ASSERT_EQ(program.roles.size(), 2U);
  ASSERT_EQ(program.roles[0].code.size(), 4U);
  EXPECT_EQ(program.roles[0].code[0].count, 0);
  EXPECT_EQ(program.roles[0].code[2].count, 3);
  EXPECT_EQ(program.roles[0].code[2].type, DataType::fp8);
  EXPECT_EQ(program.roles[1].code[0].bytes, 4096);
  EXPECT_EQ(program.streams[0].cluster, 2);
  EXPECT_EQ(program.rings[0].free_at_start, 1);
  EXPECT_DOUBLE_EQ(program.flops.value(), (3 * 5 + 2 * 1) * 3 * 2.0 * 64 * 128 * 16);
}

TEST(ProgramText, TellsThePlaceOfEveryMistake) {
  const std::string text =
      mistakes_of("ring full\nrole r warps=3\nwgmma m=64 n=8 k=16\nwait ful\nfam x3\nfma x0\nloop 4\n");
  EXPECT_THAT(text, HasSubstr("mine.txt:3:1: error: a warpgroup is four warps, the role has 3"));
  EXPECT_THAT(text, HasSubstr("mine.txt:4:6: error: there is no ring `ful`"));
  EXPECT_THAT(text, HasSubstr("did you mean `full`?"));
  EXPECT_THAT(text, HasSubstr("mine.txt:5:1: error: `fam` means nothing here"));
  EXPECT_THAT(text, HasSubstr("mine.txt:6:5: error: expected 1 to 1000000000, got 0"));
  EXPECT_THAT(text, HasSubstr("mine.txt:7:1: error: `loop` without an `end`"));
  EXPECT_THAT(mistakes_of("role r warps=65\nfma\n"), HasSubstr("`warps`: expected a whole number from 1 to 64"));
  EXPECT_THAT(mistakes_of(""), HasSubstr("a program needs a role with instructions"));
  EXPECT_THAT(mistakes_of("role r\nend\n"), HasSubstr("`end` without a `loop`"));
  EXPECT_THAT(mistakes_of("fma\n"), HasSubstr("an instruction before the first `role`"));
  EXPECT_THAT(mistakes_of(std::string("role r\n\0fma", 11)), HasSubstr("NUL"));
}

TEST(ProgramText, RefusesWhatWouldNeverEnd) {
  EXPECT_THAT(mistakes_of("role r\nloop 100000\nloop 100000\nfma\nend\nend\n"), HasSubstr("would execute more than"));
  EXPECT_THAT(mistakes_of("blocks 1 turns=900000000\nrole r\nloop turns\nfma\nend\n"),
              HasSubstr("would execute more than"));
  std::string deep = "role r\n";
  for (int i = 0; i < 20; ++i) deep += "loop 1\n";
  EXPECT_THAT(mistakes_of(deep), HasSubstr("loops in each other"));
}

TEST(ProgramText, NamesTheInstructionThatADeviceLacks) {
  const KernelProgram program = parse_program("role r warps=4\nwgmma m=64 n=64 k=16\n", "mine.txt");
  EXPECT_NO_THROW(require_instructions(program, h100()));
  EXPECT_THROW(require_instructions(program, a100()), UserError);
  EXPECT_THROW(require_instructions(program, device_from("use: b200_sxm\n")), UserError);
}

TEST(ProgramText, AWaitThatNobodyEndsIsToldWithItsRing) {
  if (!has_detailed_model()) GTEST_SKIP() << "SystemC is missing";
  const KernelProgram program = parse_program("ring full arrivals=2\nrole r\narrive full\nwait full\n", "mine.txt");
  try {
    simulate_detailed(program, h100(), h100().clock.max);
    FAIL() << "it came to an end";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("waits for ever: `r` at `full`"));
  }
}

TEST(ProgramText, EveryProgramOfTheLibraryRunsOnADeviceThatHasItsInstructions) {
  if (!has_detailed_model()) GTEST_SKIP() << "SystemC is missing";
  int played = 0;
  for (const LibraryEntry& entry : testing::library().entries(".txt")) {
    if (!entry.name.starts_with("programs/")) continue;
    const KernelProgram program = load_program(entry.path);
    const DeviceSpec device = entry.name.find("tcgen05") != std::string::npos ? device_from("use: b200_sxm\n") : h100();
    require_instructions(program, device);
    EXPECT_GT(simulate_detailed(program, device, device.clock.max).cycles, 100) << entry.name;
    ++played;
  }
  EXPECT_GE(played, 10);
}

}  // namespace
}  // namespace warploom
