// SPDX-License-Identifier: Apache-2.0
// A folder gets all files of a run or none, whatever ends the run.
#include "bindings/cli/output_folder.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iterator>

#include "bindings/cli/interrupts.hpp"
#include "sim/core/errors.hpp"

namespace warploom {
namespace {

namespace fs = std::filesystem;

class OutputFolderTest : public ::testing::Test {
 protected:
  OutputFolderTest() {
    std::string pattern = (fs::temp_directory_path() / "output-XXXXXX").string();
    root = ::mkdtemp(pattern.data());
  }
  ~OutputFolderTest() override { fs::remove_all(root); }

  // Names of all that is there, hidden files too.
  std::vector<std::string> listed(const fs::path& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  static std::string content(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path root;
  std::promise<int> ended;
  Interrupts interrupts{[this](int exit_code) { ended.set_value(exit_code); }};
};

const std::vector<std::string> names = {"a", "b"};

TEST_F(OutputFolderTest, NothingIsSeenBeforeCommitAndAllOfItAfter) {
  const fs::path folder = root / "deep" / "down";
  OutputFolder output(folder.string(), names, interrupts);
  output.write("a", "first");
  output.write("b", [](std::ostream& out) { out << "second"; });
  EXPECT_FALSE(fs::exists(folder / "a") || fs::exists(folder / "b"));
  output.commit();
  EXPECT_EQ(listed(folder), names);
  EXPECT_EQ(content(folder / "a"), "first");
  EXPECT_EQ(content(folder / "b"), "second");
}

TEST_F(OutputFolderTest, WithoutCommitEvenTheFoldersItMadeAreGone) {
  fs::create_directory(root / "old");
  {
    OutputFolder(((root / "old") / "new" / "newer").string(), names, interrupts).write("a", "x");
  }
  EXPECT_EQ(listed(root), std::vector<std::string>{"old"});
  EXPECT_TRUE(listed(root / "old").empty());
}

TEST_F(OutputFolderTest, FilesOfTwoRunsDoNotMixAndFilesOfOthersStay) {
  for (const char* name : {"a", "b", "notes"}) std::ofstream(root / name) << "old";
  OutputFolder output(root.string(), names, interrupts);
  output.write("a", "new");
  output.commit();
  EXPECT_EQ(listed(root), (std::vector<std::string>{"a", "notes"}));
  EXPECT_EQ(content(root / "a"), "new");
  EXPECT_EQ(content(root / "notes"), "old");
}

TEST_F(OutputFolderTest, APlaceThatTakesNoFilesIsRefusedAtOnce) {
  std::ofstream(root / "file") << "x";
  fs::create_directories(root / "taken" / "b");
  EXPECT_THROW(OutputFolder((root / "file").string(), names, interrupts), UserError);
  EXPECT_THROW(OutputFolder((root / "file" / "below").string(), names, interrupts), UserError);
  EXPECT_THROW(OutputFolder((root / "taken").string(), names, interrupts), UserError);  // `b` is a folder there
  EXPECT_THROW(OutputFolder("", names, interrupts), UserError);
  EXPECT_THROW(OutputFolder("/proc/nothing/here", names, interrupts), UserError);
  EXPECT_EQ(listed(root), (std::vector<std::string>{"file", "taken"}));
  EXPECT_EQ(listed(root / "taken"), std::vector<std::string>{"b"});
}

TEST_F(OutputFolderTest, ContentThatFailsIsAnErrorAndLeavesTheOldFiles) {
  std::ofstream(root / "a") << "old";
  {
    OutputFolder output(root.string(), names, interrupts);
    EXPECT_THROW(output.write("a", [](std::ostream& out) { out.setstate(std::ios::badbit); }), UserError);
  }
  EXPECT_EQ(listed(root), std::vector<std::string>{"a"});
  EXPECT_EQ(content(root / "a"), "old");
}

TEST_F(OutputFolderTest, AnInterruptLeavesNothingHalfWritten) {
  OutputFolder output((root / "new").string(), names, interrupts);
  output.write("a", "x");
  ::kill(::getpid(), SIGINT);
  EXPECT_EQ(ended.get_future().get(), 130);
  EXPECT_TRUE(listed(root).empty());
}

TEST_F(OutputFolderTest, AnInterruptAfterCommitLeavesTheFiles) {
  OutputFolder output(root.string(), names, interrupts);
  output.write("a", "x");
  output.commit();
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(ended.get_future().get(), 143);
  EXPECT_EQ(listed(root), std::vector<std::string>{"a"});
}

TEST_F(OutputFolderTest, AnInterruptWaitsForWhatIsUninterrupted) {
  auto end = ended.get_future();
  interrupts.uninterrupted([&] {
    ::kill(::getpid(), SIGINT);
    EXPECT_EQ(end.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  });
  EXPECT_EQ(end.get(), 130);
}

}  // namespace
}  // namespace warploom
