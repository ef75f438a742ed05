// SPDX-License-Identifier: Apache-2.0
// YAML becomes a tree of texts with places; whatever is not plain YAML of a sane size is refused with its place.
#include "sim/core/config_value.hpp"

#include <sys/stat.h>

#include "tests/unit/core/config_support.hpp"

namespace warploom {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

ConfigValue parse(std::string_view text) { return parse_config_text(text, "a.yaml"); }
std::string parse_error(std::string_view text) {
  return error_of([&] { parse(text); });
}

TEST(ConfigValue, KeepsFileOrderAndEveryScalarAsText) {
  const auto root = parse("b: 010\na: [1e3, yes, 0x1F, '7', \"x\\ty\"]\nc: {d: ~, e: 2.50}\n");
  EXPECT_EQ(compact(root), "{b: 010, a: [1e3, yes, 0x1F, 7, x\ty], c: {d: ~, e: 2.50}}");
}

TEST(ConfigValue, EveryValueKnowsPlaceAndPath) {
  const auto root = parse("links:\n  - {latency: 700 ns}\n  - latency: 3 us\nllama3.1: x\n");
  const auto links = *root.find("links");
  const auto second = *links.items()[1].find("latency");
  EXPECT_EQ(second.path(), "links[1].latency");
  EXPECT_EQ(second.origin().to_string(), "a.yaml:3:14");
  EXPECT_EQ(root.entries()[1].origin.to_string(), "a.yaml:4:1");
  EXPECT_EQ(root.find("llama3.1")->path(), "\"llama3.1\"");
}

TEST(ConfigValue, QuotesAreRemembered) {
  const auto root = parse("a: '8'\nb: 8\nc: |\n  text\n");
  EXPECT_TRUE(root.find("a")->is_quoted());
  EXPECT_FALSE(root.find("b")->is_quoted());
  EXPECT_EQ(root.find("c")->text(), "text\n");
}

TEST(ConfigValue, AnEmptyFileIsAnEmptyMap) {
  EXPECT_EQ(compact(parse("")), "{}");
  EXPECT_EQ(compact(parse("# only a comment\n")), "{}");
  EXPECT_EQ(parse("").origin().to_string(), "a.yaml:1:1");
}

TEST(ConfigValue, AliasesAreCopiedAndKeepWhereTheyWereWritten) {
  const auto root = parse("a: &x {k: 1}\nb: *x\n");
  EXPECT_EQ(compact(root), "{a: {k: 1}, b: {k: 1}}");
  EXPECT_EQ(root.find("b")->find("k")->path(), "b.k");
  EXPECT_EQ(root.find("b")->find("k")->origin().to_string(), "a.yaml:1:11");
}

TEST(ConfigValue, RepeatedKeysAreKeptForTheReader) {
  const auto root = parse("a: 1\nb: 2\na: 3\n");
  ASSERT_EQ(root.repeats().size(), 1u);
  EXPECT_EQ(root.repeats()[0].origin.to_string(), "a.yaml:3:1");
  EXPECT_EQ(root.repeats()[0].first.to_string(), "a.yaml:1:1");
}

TEST(ConfigValue, BrokenYamlIsNamedWithItsPlace) {
  EXPECT_THAT(parse_error("a: [1, 2\nb: 3\n"), StartsWith("a.yaml:2:2: error: not valid YAML: "));
  EXPECT_EQ(parse_error("a:\n\tb: 1\n"),
            "a.yaml:2:3: error: not valid YAML: illegal map value\n  hint: indent with spaces, not tabs");
  EXPECT_EQ(
      parse_error("a: 1\n---\nb: 2\n"),
      "a.yaml:3:1: error: a second YAML document begins here\n  hint: one configuration a file: remove the `---`");
}

TEST(ConfigValue, UnsupportedYamlIsRefused) {
  EXPECT_EQ(parse_error("a: !!int 5\n"), "a.yaml:1:4: error: tags are not supported, got `tag:yaml.org,2002:int`");
  EXPECT_EQ(parse_error("[a, b]: 5\n"),
            "a.yaml:1:1: error: a key must be a plain text, not a list or map\n  hint: is a bracket left open?");
  EXPECT_EQ(parse_error("~: 5\n"), "a.yaml:1:1: error: a key must not be empty");
  EXPECT_EQ(parse_error("a: &x [*x]\n"), "a.yaml:1:8: error: this alias refers to the value that it is in");
  EXPECT_THAT(parse_error("a: *nobody\n"), HasSubstr("a.yaml:1:4: error: not valid YAML: "));
}

TEST(ConfigValue, BinaryGarbageIsRefusedWithItsPlace) {
  EXPECT_EQ(parse_error(std::string_view("a: 1\nb\0c", 8)),
            "a.yaml:2:2: error: not a YAML text: byte 0x00 is neither text nor UTF-8\n  hint: is this a binary file?");
  EXPECT_THAT(parse_error("\x7f"
                          "ELF\x02\x01\x01"),
              StartsWith("a.yaml:1:5: error: not a YAML text: byte 0x02"));
  EXPECT_THAT(parse_error("a: \xff\xfe"), StartsWith("a.yaml:1:4: error: not a YAML text: byte 0xff"));
  EXPECT_THAT(parse_error("a: \xe2\x82"), StartsWith("a.yaml:1:4: error: not a YAML text"));  // cut euro sign
  EXPECT_EQ(compact(parse("a: \xe2\x82\xac\n")), "{a: \xe2\x82\xac}");
}

TEST(ConfigValue, DepthIsBounded) {
  EXPECT_NO_THROW(parse("a: " + std::string(63, '[') + std::string(63, ']')));
  EXPECT_THAT(parse_error("a: " + std::string(64, '[') + std::string(64, ']')),
              HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(parse_error(std::string(100'000, '[')), StartsWith("a.yaml:1:1"));  // yaml-cpp sees an open key
}

TEST(ConfigValue, AliasBombsAreRefusedQuickly) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += (k > 0 ? ", " : "") + before;
    bomb += "]\n";
  }
  EXPECT_THAT(parse_error(bomb), HasSubstr("the configuration grows beyond 1000000 values or 64 MiB of text"));
}

TEST(ConfigValue, RepeatedLongTextsAreRefused) {
  std::string text = "a: &a " + std::string(1'000'000, 'x') + "\nb: [";
  for (int i = 0; i < 100; ++i) text += "*a, ";
  EXPECT_THAT(parse_error(text + "]\n"), HasSubstr("64 MiB of text"));
}

TEST(ConfigValue, LongKeysAreRefused) {
  EXPECT_NO_THROW(parse(std::string(200, 'k') + ": 1\n"));
  EXPECT_EQ(parse_error(std::string(201, 'k') + ": 1\n"),
            "a.yaml:1:1: error: a key of 201 bytes, at most 200 are allowed");
}

TEST(ConfigValue, HugeTextIsRefused) {
  EXPECT_THAT(parse_error(std::string((16 << 20) + 1, '#')), HasSubstr("larger than 16 MiB: not a configuration"));
}

TEST(ConfigValue, UnreadKeysAreFound) {
  const auto root = parse("a: {b: 1, c: 2}\nd: [1]\nx-note: {e: 3}\n");
  root.find("a")->find("b")->text();
  Diagnostics diagnostics;
  report_unread(root, diagnostics);
  ASSERT_EQ(diagnostics.all().size(), 2u);
  EXPECT_EQ(diagnostics.all()[0].to_string(),
            "a.yaml:1:11: error: `a.c`: nothing reads this key\n"
            "  hint: remove it; notes of your own go under keys that start with `x-`");
  EXPECT_EQ(diagnostics.all()[1].path, "d");
}

class ConfigFile : public FolderTest {};

TEST_F(ConfigFile, MissingFileSuggestsNearNames) {
  write("configs/pod_a100.yaml", "a: 1\n");
  EXPECT_EQ(error_of([&] { load("configs/pod_a10.yaml"); }),
            "error: there is no file `configs/pod_a10.yaml`\n  hint: did you mean `configs/pod_a100.yaml`?");
  EXPECT_EQ(error_of([&] { load("configz/pod.yaml"); }),
            "error: there is no file `configz/pod.yaml`\n  hint: the folder `configz` does not exist");
}

TEST_F(ConfigFile, FoldersAndUnreadableFilesAreNamed) {
  write("configs/pod.yaml", "a: 1\n");
  EXPECT_EQ(error_of([&] { load("configs"); }), "error: `configs` is a folder, not a file");
  chmod("configs/pod.yaml", 0);
  if (geteuid() != 0) {  // root reads everything
    EXPECT_EQ(error_of([&] { load("configs/pod.yaml"); }), "error: cannot read `configs/pod.yaml`: Permission denied");
  }
}

TEST_F(ConfigFile, LibraryEntryIsLoadedByName) {
  write("lib/experiments/demo.yaml", "a: 1\n");
  EXPECT_EQ(compact(load("demo")), "{a: 1}");
  EXPECT_EQ(compact(load("experiments/demo")), "{a: 1}");
  EXPECT_EQ(error_of([&] { load("dmo"); }), "error: there is no file `dmo`\n  hint: did you mean `demo`?");
}

TEST_F(ConfigFile, PathsBelowTheWorkingDirectoryAreShownRelative) {
  write("configs/pod.yaml", "a: 1\n");
  EXPECT_EQ(load((folder() / "configs/pod.yaml").string()).find("a")->origin().to_string(), "configs/pod.yaml:1:4");
}

}  // namespace
}  // namespace warploom
