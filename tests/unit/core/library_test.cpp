// SPDX-License-Identifier: Apache-2.0
// Library entries are found by whole and by bare name, in the order of the roots, and nowhere outside of them.
#include "sim/core/library.hpp"

#include "sim/core/version.hpp"
#include "tests/unit/core/config_support.hpp"

namespace warploom {
namespace {

class LibraryFolders : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    write("one/clusters/a.yaml", "");
    write("one/models/m.json", "");
    write("two/clusters/a.yaml", "");
    write("two/devices/b.yaml", "");
    write("secret.yaml", "");
  }
  Library both() const { return Library({"one", "two"}); }
};

TEST_F(LibraryFolders, EarlierRootsShadowLaterOnes) {
  ASSERT_EQ(both().find("clusters/a").size(), 1u);
  EXPECT_EQ(both().find("clusters/a")[0].path, "one/clusters/a.yaml");
  ASSERT_EQ(both().find("a").size(), 1u);
  EXPECT_EQ(both().find("a")[0].path, "one/clusters/a.yaml");
  EXPECT_EQ(both().find("b.yaml")[0].name, "devices/b");
}

TEST_F(LibraryFolders, EntriesAreSortedAndUnique) {
  std::vector<std::string> names;
  for (const auto& entry : both().entries()) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"clusters/a", "devices/b"}));
  EXPECT_EQ(both().entries(".json").size(), 1u);
  EXPECT_EQ(both().path_of("m", ".json"), "one/models/m.json");
}

TEST_F(LibraryFolders, NamesDoNotLeaveTheRoots) {
  for (const char* name : {"../secret", "/etc/passwd", "clusters/../../secret", "", ".", "clusters//a", "./secret"}) {
    EXPECT_TRUE(both().find(name).empty()) << name;
  }
}

TEST_F(LibraryFolders, MissingRootsAreEmpty) {
  EXPECT_TRUE(Library({"nowhere"}).entries().empty());
  EXPECT_TRUE(Library().find("a").empty());
}

TEST_F(LibraryFolders, RootsComeFromTheEnvironment) {
  setenv("WARPLOOM_CONFIGS", "one:two", 1);
  EXPECT_EQ(library_roots(), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(Library::from_environment().entries().size(), 2u);
  unsetenv("WARPLOOM_CONFIGS");
}

TEST_F(LibraryFolders, AnUnknownNameThrowsWithASuggestion) {
  EXPECT_EQ(error_of([&] { both().path_of("devices/bb"); }),
            "error: nothing in the library is called `devices/bb`\n  hint: did you mean `devices/b`?");
}

}  // namespace
}  // namespace warploom
