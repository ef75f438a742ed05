// SPDX-License-Identifier: Apache-2.0
// Whole files appear or do not; what is no file is written to and stays what it is.
#include "sim/core/whole_file.hpp"

#include <sys/stat.h>

#include "tests/unit/core/config_support.hpp"

namespace warploom {
namespace {

namespace fs = std::filesystem;

class WholeFile : public FolderTest {};

TEST_F(WholeFile, IsThereWithAllOfItsText) {
  write_whole_file("a.txt", "one");
  write_whole_file("a.txt", "two");
  EXPECT_EQ(read_whole_file("a.txt"), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator("."), fs::directory_iterator()), 1);
}

TEST_F(WholeFile, ADeviceIsWrittenToAndNotReplaced) {
  write_whole_file("/dev/null", "text");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_THAT(error_of([] { write_whole_file("/dev/full", "text"); }), testing::HasSubstr("cannot write `/dev/full`"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(WholeFile, ALinkKeepsLeadingToItsFile) {
  write("file.txt", "old");
  fs::create_symlink("file.txt", "link.txt");
  write_whole_file("link.txt", "new");
  EXPECT_TRUE(fs::is_symlink("link.txt"));
  EXPECT_EQ(read_whole_file("file.txt"), "new");
}

TEST_F(WholeFile, AFolderOrAMissingFolderIsSaid) {
  fs::create_directory("folder");
  EXPECT_THAT(error_of([] { write_whole_file("folder", "x"); }), testing::HasSubstr("it is a folder"));
  EXPECT_THAT(error_of([] { write_whole_file("nowhere/a.txt", "x"); }), testing::HasSubstr("cannot write"));
}

}  // namespace
}  // namespace warploom
