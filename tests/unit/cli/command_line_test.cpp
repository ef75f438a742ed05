// SPDX-License-Identifier: Apache-2.0
// The command line as data: every option completes and helps, every failure has its exit code.
#include "bindings/cli/command_line.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <stdexcept>

#include "bindings/cli/completion.hpp"
#include "bindings/cli/measured_tables.hpp"
#include "bindings/cli/progress.hpp"
#include "bindings/cli/usage_error.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "sim/core/whole_file.hpp"

namespace warploom {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// What a function writes to a descriptor that is a pipe.
template <class Write>
std::string written_by(Write write) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  write(ends[1]);
  ::close(ends[1]);
  std::string text(65536, '\0');
  const ssize_t size = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return text;
}

struct Came {
  int exit_code;
  std::string errors;
};

Came run(const std::vector<std::string>& arguments) {
  Interrupts interrupts([](int) {});
  Came came{};
  came.errors = written_by([&](int errors) {
    const int nowhere = ::open("/dev/null", O_WRONLY);
    const Console console(nowhere, errors);
    Session session{console, interrupts};
    came.exit_code = run_command_line(arguments, session);
    ::close(nowhere);
  });
  return came;
}

TEST(CommandLine, EveryOptionIsInEveryCompletion) {
  Action action;
  const auto app = make_command_line(action);
  for (const auto& script : {bash_completion(*app), zsh_completion(*app), fish_completion(*app)}) {
    for (const CLI::App* command : app->get_subcommands({})) {
      EXPECT_THAT(script, HasSubstr(command->get_name()));
      for (const CLI::Option* option : command->get_options({})) {
        for (const auto& name : option->get_lnames()) EXPECT_THAT(script, HasSubstr(name)) << command->get_name();
        for (const auto& choice : choices_of(*option)) EXPECT_THAT(script, HasSubstr(choice)) << command->get_name();
      }
    }
  }
}

TEST(CommandLine, EveryCommandHelpsWithExamplesExitCodesAndAMeaningForEveryOption) {
  Action action;
  const auto app = make_command_line(action);
  for (const CLI::App* command : app->get_subcommands({})) {
    const std::string help = command->help();
    EXPECT_THAT(help, StartsWith("warploom " + command->get_name() + ": "));
    EXPECT_THAT(help, HasSubstr("Examples:\n  "));
    EXPECT_THAT(help, HasSubstr("\n  2    a mistake"));
    for (const auto& line : split(help, '\n')) EXPECT_LE(line.size(), 80U) << line;
    for (const CLI::Option* option : command->get_options({})) EXPECT_FALSE(option->get_description().empty());
  }
}

TEST(CommandLine, OverridesTakeOneValueEachSoThatAFileMayFollow) {
  EXPECT_THAT(run({"explain", "--set", "a=1", "--set", "b=2", "/nowhere.yaml"}).errors,
              HasSubstr("there is no file `/nowhere.yaml`"));
}

TEST(CommandLine, MistakesExitWithTwoAndSayWhatWasMeant) {
  const auto mistyped = run({"rnu"});
  EXPECT_EQ(mistyped.exit_code, 2);
  EXPECT_EQ(mistyped.errors, "error: there is no command `rnu`\n  hint: did you mean `run`?\n");
  EXPECT_EQ(run({"run", "x.yaml", "--jsno"}).exit_code, 2);
  EXPECT_EQ(run({"run", "/nowhere.yaml"}).exit_code, 2);
  EXPECT_EQ(run({}).exit_code, 2);
  EXPECT_EQ(run({"--version"}).exit_code, 0);
}

TEST(CommandLine, NoCompletionHasAnOptionWithoutAName) {
  Action action;
  const auto app = make_command_line(action);
  EXPECT_THAT(bash_completion(*app), Not(HasSubstr("        ) ")));
}

TEST(CommandLine, NamesOfKernelsAreUnderstoodOrRefusedWithTheReason) {
  const std::vector<std::string> kernel = {"kernel", "gemm", "--device", "h100", "-m",
                                           "512",    "-n",   "4096",     "-k",   "4096"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), kernel.begin(), kernel.end());
    return run(more);
  };
  const std::string name = "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNN";
  EXPECT_EQ(with({"--kernel-name", name, "--grid", "32,2,1", "--explain"}).exit_code, 0);
  const auto unknown = with({"--kernel-name", "flash_fwd_kernel"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("kernel name `flash_fwd_kernel` is not understood"));
  EXPECT_THAT(with({"--kernel-name", name, "--grid", "32,x,1"}).errors, HasSubstr("`--grid`: expected three numbers"));
  EXPECT_THAT(with({"--grid", "32,2,1"}).errors, HasSubstr("`--grid` needs `--kernel-name`"));
  EXPECT_THAT(with({"--kernel-name", name, "--tile-m", "64", "--tile-n", "64"}).errors, HasSubstr("in two ways"));
  EXPECT_EQ(with({"--selection", "gemm/selection_batch_invariant"}).exit_code, 0);
  const auto missing = with({"--selection", "/nowhere.yaml"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.errors, HasSubstr("/nowhere.yaml"));
}

TEST(CommandLine, VariantsOfAProductExcludeOneAnother) {
  const std::vector<std::string> kernel = {"kernel", "gemm", "--device", "h100", "-m",
                                           "512",    "-n",   "4096",     "-k",   "4096"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), kernel.begin(), kernel.end());
    return run(more);
  };
  for (const char* one : {"--stream-k", "--deterministic", "--sparse"}) EXPECT_EQ(with({one}).exit_code, 0) << one;
  EXPECT_EQ(with({"--stream-k", "--deterministic"}).exit_code, 2);
  EXPECT_EQ(with({"--deterministic", "--split-k", "4"}).exit_code, 2);
  EXPECT_THAT(with({"--sparse", "--dtype", "fp32"}).errors, HasSubstr("Tensor Cores"));
}

TEST(CommandLine, ANegativeSizeNamesItsOption) {
  const auto came = run({"collective", "all_reduce", "--cluster", "dgx_h100", "--gpus", "8", "--bytes=-1GiB"});
  EXPECT_EQ(came.exit_code, 2);
  EXPECT_THAT(came.errors, StartsWith("error: `--bytes`: expected a size of at least 0 B, got `-1GiB`"));
}

TEST(CommandLine, WhatOnlyTheDetailedModelHasIsRefusedByTheAnalyticOne) {
  const std::vector<std::string> kernel = {"kernel", "gemm", "--device", "h100", "-m", "8", "-n", "8", "-k", "8"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), kernel.begin(), kernel.end());
    return run(more);
  };
  EXPECT_THAT(with({"--sms", "all"}).errors, StartsWith("error: `--sms` needs `--model detailed`"));
  EXPECT_THAT(with({"--timeline", "x"}).errors, StartsWith("error: `--timeline` needs `--model detailed`"));
  EXPECT_THAT(with({"--model", "detialed"}).errors, HasSubstr("did you mean `detailed`?"));
  EXPECT_THAT(with({"--ideal", "hmb"}).errors, HasSubstr("did you mean `hbm`?"));
  EXPECT_EQ(with({"--ideal", "hbm"}).exit_code, 0);
}

TEST(CommandLine, AProgramThatIsNotThereIsTold) {
  const auto came = run({"kernel", "program", "nowhere", "--device", "h100"});
  EXPECT_EQ(came.exit_code, 2);
  EXPECT_THAT(came.errors, StartsWith("error: there is no file `nowhere`"));
  EXPECT_THAT(run({"kernel", "program", "/"}).errors, HasSubstr("`/` is a folder"));
  EXPECT_THAT(run({"kernel", "program"}).errors, HasSubstr("needs a file of instructions"));
}

TEST(CommandLine, AModelIsNoExperiment) {
  const auto came = run({"run", "mixtral_8x7b"});
  EXPECT_EQ(came.exit_code, 2);
  EXPECT_THAT(came.errors, HasSubstr("`mixtral_8x7b` is a model"));
  EXPECT_THAT(came.errors, HasSubstr("`model: mixtral_8x7b`"));
  EXPECT_THAT(run({"run", "h100_sxm"}).errors, HasSubstr("`h100_sxm` is a device"));
}

TEST(CommandLine, TablesAreFoundInSubfoldersOfTheDataFolder) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "warploom_data";
  std::filesystem::create_directories(folder / "measured");
  write_whole_file((folder / "measured/gemm.csv").string(), "a\n");
  ::setenv("WARPLOOM_DATA", folder.c_str(), 1);
  EXPECT_EQ(table_path("gemm.csv"), (folder / "measured/gemm.csv").string());
  EXPECT_EQ(table_path("measured/gemm.csv"), (folder / "measured/gemm.csv").string());
  const std::string missing = run({"validate", "gem.csv"}).errors;
  EXPECT_THAT(missing, HasSubstr(folder.string()));
  EXPECT_THAT(missing, HasSubstr("did you mean `measured/gemm.csv`?"));
  ::unsetenv("WARPLOOM_DATA");
  std::filesystem::remove_all(folder);
}

TEST(CommandLine, OurOwnMistakesExitWithSeventyAndAskForAReport) {
  int exit_code = 0;
  const std::string errors = written_by([&](int descriptor) {
    exit_code = exit_code_of([] { WARPLOOM_CHECK(1 + 1 == 3, "sums"); }, Console(1, descriptor));
  });
  EXPECT_EQ(exit_code, 70);
  EXPECT_THAT(errors, StartsWith("error: this is a bug in warploom "));
  EXPECT_THAT(errors, HasSubstr("`1 + 1 == 3` does not hold: sums\n  hint: please report it"));
  EXPECT_EQ(exit_code_of([] { throw std::out_of_range("at"); }, Console(1, -1)), 70);
}

TEST(CommandLine, TooLittleMemoryIsNoBug) {
  EXPECT_EQ(exit_code_of([] { throw std::bad_alloc(); }, Console(1, -1)), 2);
}

TEST(CommandLine, AReaderThatHasGoneIsNotAnError) {
  Interrupts interrupts([](int) {});
  ::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  std::string errors = written_by([&](int descriptor) {
    const Console console(ends[1], descriptor);
    Session session{console, interrupts};
    EXPECT_EQ(run_command_line({"--help"}, session), 141);
  });
  ::close(ends[1]);
  EXPECT_EQ(errors, "");
}

TEST(CommandLine, AFullDiskIsSaid) {
  Interrupts interrupts([](int) {});
  const int full = ::open("/dev/full", O_WRONLY);
  const std::string errors = written_by([&](int descriptor) {
    const Console console(full, descriptor);
    Session session{console, interrupts};
    EXPECT_EQ(run_command_line({"--help"}, session), 2);
  });
  ::close(full);
  EXPECT_EQ(errors, "error: cannot write to standard output: No space left on device\n");
}

TEST(Progress, SaysNothingWhereNobodyWatches) {
  const std::string text = written_by([](int descriptor) {
    const Console console(1, descriptor);
    Progress progress(console, ProgressMode::automatic);
    for (std::size_t done = 0; done <= 10; ++done) progress(done, 10);
  });
  EXPECT_EQ(text, "");
}

TEST(Progress, WritesLinesWhereItIsAskedFor) {
  const std::string text = written_by([](int descriptor) {
    const Console console(1, descriptor);
    Progress progress(console, ProgressMode::always);
    progress(5, 10);
    progress(6, 10);  // less than a second later
  });
  EXPECT_THAT(text, StartsWith("simulating\nsimulating:  50%, 5 of 10 operations"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

}  // namespace
}  // namespace warploom
