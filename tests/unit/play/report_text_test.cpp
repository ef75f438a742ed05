// SPDX-License-Identifier: Apache-2.0
// What the text says, and that it stays short.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/play/report.hpp"
#include "sim/play/text_table.hpp"
#include "tests/support/hand_timeline.hpp"
#include "tests/support/toy_machine.hpp"

namespace warploom {
namespace {

using namespace warploom::literals;
using testing::HandTimeline;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::toy_machine;

Report report_of(const HandTimeline& hand) { return make_report(hand.program, toy_machine(), hand.timeline); }

HandTimeline example() {
  HandTimeline hand(1, 16384);
  const RowId work = hand.kernel(0, {.begin = Time::zero(), .end = 5_s, .alone = 4_s});
  hand.program.row_name[work] = hand.program.add_name("mlp");
  hand.meet(0, OperationKind::collective, Cause::exposed_dp,
            {.begin = 5_s, .end = 6_s, .release = Release::row, .by = work}, hand.meeting(1));
  hand.program.roles[0].resident_bytes = {800'000, 0, 200'000, 0, 0, 0};
  hand.program.worth = {.tokens = 16e6,
                        .samples = 1,
                        .model_flops = Flops(6e16),
                        .hardware_flops = Flops(6e16),
                        .flop_convention = "6ND"};
  return hand;
}

TEST(ReportText, LeadsWithTimeRatesUtilisationAndWhetherItFits) {
  const auto hand = example();
  auto report = report_of(hand);
  report.name = "llama";
  const auto text = to_text(report, hand.program);
  EXPECT_EQ(text.substr(0, text.find('\n')), "llama: 6 s a step");
  EXPECT_THAT(text, HasSubstr("16,384 devices"));
  EXPECT_THAT(text, HasSubstr("2.67 M tokens/s, 163 tokens/s per device"));
  EXPECT_THAT(text, HasSubstr("0.6104 TFLOP/s per device; MFU 61.0%, HFU 61.0%\n  FLOPs     6ND\n"));
  EXPECT_THAT(text, HasSubstr("DOES NOT FIT: 1 MB of 900 kB usable on role0"));
}

TEST(ReportText, SortsCausesByTimeAndEndsWithTheStep) {
  const auto text = to_text(report_of(example()), example().program);
  EXPECT_THAT(text, HasSubstr("  gemm          4.000 s   66.7%  ████████████████████████        4.000 s   66.7%\n"));
  EXPECT_THAT(text, HasSubstr("  exposed_dp    1.000 s   16.7%  ██████                          1.000 s   16.7%\n"));
  EXPECT_THAT(text, HasSubstr("  step          6.000 s  100.0%"));
  EXPECT_LT(text.find("  gemm "), text.find("  interference "));
  EXPECT_THAT(text, HasSubstr("3 parts; most time in mlp 5 s, exposed_dp 1 s"));
}

TEST(ReportText, SaysWhatWasAssumedOnlyWhereSomethingWas) {
  const auto hand = example();
  auto report = report_of(hand);
  EXPECT_THAT(to_text(report, hand.program), Not(HasSubstr("Assumptions")));
  report.assumptions = {"no jitter"};
  report.warnings = {"tensor parallelism crosses nodes"};
  const auto text = to_text(report, hand.program);
  EXPECT_THAT(text, HasSubstr("\nAssumptions\n  - no jitter\n"));
  EXPECT_THAT(text, HasSubstr("\nWarnings\n  - tensor parallelism crosses nodes\n"));
}

TEST(ReportText, ShowsFourOfManyRolesAndSaysSo) {
  HandTimeline hand(20);
  for (RoleId role = 0; role < 20; ++role) hand.kernel(role, {Time::zero(), (role == 7 ? 30_us : 10_us)});
  const auto text = to_text(report_of(hand), hand.program);
  for (const char* shown : {"role0 (first)", "role19 (last)", "role7 (busiest)", "(median)", "of 20 roles"}) {
    EXPECT_THAT(text, HasSubstr(shown));
  }
  EXPECT_THAT(text, Not(HasSubstr("role5 ")));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 40);
}

TEST(ReportText, BreaksLongSentencesBetweenWordsAndIndentsTheRest) {
  const auto hand = example();
  auto report = report_of(hand);
  report.assumptions = {std::string(60, 'a') + " " + std::string(60, 'b') + " c"};
  EXPECT_THAT(to_text(report, hand.program),
              HasSubstr("\n  - " + std::string(60, 'a') + "\n    " + std::string(60, 'b') + " c\n"));
}

TEST(ReportText, NeverShowsSomethingAsNothing) {
  HandTimeline hand(1);
  const RowId first = hand.kernel(0, {Time::zero(), 1_ns});
  hand.kernel(0, {.begin = 1_ns, .end = 2_s, .release = Release::row, .by = first}, Cause::attention);
  EXPECT_THAT(to_text(report_of(hand), hand.program), HasSubstr("  gemm       <0.001 s   <0.1%"));
}

TEST(ReportText, HasNoLineWithTrailingSpaces) {
  const auto hand = example();
  EXPECT_THAT(to_text(report_of(hand), hand.program), Not(HasSubstr(" \n")));
}

TEST(TextTable, AlignsByWhatIsShownNotByBytes) {
  TextTable table({"a", "b"});
  table.add({"█▏", "1"});
  table.add({"xyz", "10"});
  EXPECT_EQ(table.to_string(), "  a     b\n  █▏    1\n  xyz  10\n");
}

TEST(TextTable, DrawsBarsInEighths) {
  EXPECT_EQ(text_bar(0.5, 4), "██");
  EXPECT_EQ(text_bar(1.0 / 32, 4), "▏");
  EXPECT_EQ(text_bar(2, 4), "████");
  EXPECT_EQ(text_bar(0, 4), "");
}

}  // namespace
}  // namespace warploom
