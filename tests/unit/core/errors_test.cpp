// SPDX-License-Identifier: Apache-2.0
// The form of messages: where, what was expected, what came, what to do.
#include "sim/core/errors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warploom {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

TEST(Errors, DiagnosticHasTheHouseForm) {
  const Diagnostic d{Origin("configs/clusters/pod.yaml", 7, 12), Severity::error, "links.latency",
                     "expected a time such as `700 ns`, got `700`", "add a unit: ps, ns, us, ms, s"};
  EXPECT_EQ(d.to_string(),
            "configs/clusters/pod.yaml:7:12: error: `links.latency`: expected a time such as `700 ns`, got `700`\n"
            "  hint: add a unit: ps, ns, us, ms, s");
}

TEST(Errors, OriginNamesFileCommandLineOrNothing) {
  EXPECT_EQ(Origin("a.yaml", 3, 4).to_string(), "a.yaml:3:4");
  EXPECT_EQ(Origin("a.yaml", 3, 4).line_to_string(), "a.yaml:3");
  EXPECT_EQ(Origin::command_line().to_string(), "command line");
  EXPECT_TRUE(Origin::command_line().is_command_line());
  EXPECT_EQ(Origin().to_string(), "");
  EXPECT_EQ(UserError("no such thing", "try another").what(), std::string("error: no such thing\n  hint: try another"));
}

TEST(Errors, ExitCodesTellWhoseMistakeItIs) {
  EXPECT_EQ(UserError::exit_code, 2);
  EXPECT_EQ(ConfigError::exit_code, 2);
  EXPECT_EQ(OverflowError::exit_code, 2);
  EXPECT_EQ(InternalError::exit_code, 70);
}

TEST(Errors, AtMostTwentyMistakesArePrinted) {
  Diagnostics diagnostics;
  for (int i = 1; i <= 25; ++i) diagnostics.error(Origin("a.yaml", i, 1), "", fmt::format("mistake {}", i));
  try {
    diagnostics.throw_if_any();
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.diagnostics().size(), 25u);
    EXPECT_THAT(error.what(), HasSubstr("mistake 20\nand 5 more"));
    EXPECT_THAT(std::string(error.what()), testing::Not(HasSubstr("mistake 21")));
  }
}

TEST(Errors, MistakesAreSortedByPlaceWithinAFile) {
  Diagnostics diagnostics;
  diagnostics.error(Origin("b.yaml", 9, 1), "", "three");
  diagnostics.error(Origin("a.yaml", 1, 1), "", "four");
  diagnostics.error(Origin("b.yaml", 2, 5), "", "two");
  diagnostics.error(Origin("b.yaml", 2, 1), "", "one");
  try {
    diagnostics.throw_if_any();
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "b.yaml:2:1: error: one\nb.yaml:2:5: error: two\nb.yaml:9:1: error: three\na.yaml:1:1: error: four");
  }
}

TEST(Errors, WarningsDoNotThrow) {
  Diagnostics diagnostics;
  diagnostics.warning(Origin("a.yaml", 1, 1), "x", "odd");
  EXPECT_NO_THROW(diagnostics.throw_if_any());
  ASSERT_EQ(diagnostics.warnings().size(), 1u);
  EXPECT_EQ(diagnostics.warnings().front().to_string(), "a.yaml:1:1: warning: `x`: odd");
}

TEST(Errors, CheckSaysThatItIsOurBug) {
  const int left = 3;
  try {
    WARPLOOM_CHECK(left == 0, "{} events left", left);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("this is a bug in warploom: "));
    EXPECT_THAT(error.what(), EndsWith("`left == 0` does not hold: 3 events left"));
  }
  EXPECT_THROW(WARPLOOM_CHECK(false), InternalError);
  EXPECT_NO_THROW(WARPLOOM_CHECK(left == 3, "{}", left));
}

}  // namespace
}  // namespace warploom
