// SPDX-License-Identifier: Apache-2.0
// `use:` starts from a library entry or file; keys beside it override; overrides from outside come last.
#include "tests/unit/core/config_support.hpp"

namespace warploom {
namespace {

using testing::HasSubstr;

class ConfigUse : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    write("lib/clusters/dgx.yaml", "nodes: 4\nlink: {latency: 1 us, lanes: 2}\ntiers: [1, 2]\n");
  }
  std::string resolved(std::string_view text, const std::vector<std::string>& overrides = {}) {
    write("a.yaml", text);
    return compact(load("a.yaml", overrides));
  }
  std::string error(std::string_view text, const std::vector<std::string>& overrides = {}) {
    write("a.yaml", text);
    return error_of([&] { load("a.yaml", overrides); });
  }
};

TEST_F(ConfigUse, MapsMergeAndTheRestIsReplaced) {
  EXPECT_EQ(resolved("use: clusters/dgx\nlink: {lanes: 8}\ntiers: [3]\nextra: 1\n"),
            "{nodes: 4, link: {latency: 1 us, lanes: 8}, tiers: [3], extra: 1}");
}

TEST_F(ConfigUse, WorksAtAnyLevelAndByBareName) {
  EXPECT_EQ(resolved("cluster: {use: dgx, nodes: 8}\nlist: [{use: dgx, tiers: ~, link: ~}]\n"),
            "{cluster: {nodes: 8, link: {latency: 1 us, lanes: 2}, tiers: [1, 2]}, list: [{nodes: 4}]}");
}

TEST_F(ConfigUse, RelativePathsAreRelativeToTheFileThatSaysThem) {
  write("sub/b.yaml", "use: ./c.yaml\nb: 1\n");
  write("sub/c.yaml", "use: ../d.yaml\nc: 1\n");
  write("d.yaml", "d: 1\n");
  EXPECT_EQ(resolved("use: ./sub/b.yaml\n"), "{d: 1, c: 1, b: 1}");
}

TEST_F(ConfigUse, ValuesKeepTheOriginOfTheirFile) {
  write("a.yaml", "use: dgx\nnodes: 9\n");
  const auto root = load("a.yaml", {"link.lanes=3"});
  EXPECT_EQ(root.find("nodes")->origin().to_string(), "a.yaml:2:8");
  EXPECT_EQ(root.find("tiers")->origin().to_string(), "lib/clusters/dgx.yaml:3:8");
  EXPECT_EQ(root.find("link")->find("lanes")->origin().to_string(), "command line");
}

TEST_F(ConfigUse, ASiblingCanPointAnInheritedUseElsewhere) {
  write("lib/clusters/other.yaml", "nodes: 1\n");
  write("base.yaml", "cluster: {use: dgx, note: x}\n");
  EXPECT_EQ(resolved("use: ./base.yaml\ncluster: {use: other}\n"), "{cluster: {nodes: 1, note: x}}");
  EXPECT_EQ(resolved("use: ./base.yaml\ncluster: {use: ~}\n"), "{cluster: {note: x}}");
}

TEST_F(ConfigUse, NullDropsAnInheritedKeyThroughSeveralFiles) {
  write("b.yaml", "use: dgx\nlink: {lanes: 4}\n");
  EXPECT_EQ(resolved("use: ./b.yaml\nlink: {lanes: ~}\nnodes: ~\n"), "{link: {latency: 1 us}, tiers: [1, 2]}");
  EXPECT_EQ(resolved("use: ./b.yaml\nnodez: ~\n"),  // a typo stays, for the reader to find
            "{nodes: 4, link: {latency: 1 us, lanes: 4}, tiers: [1, 2], nodez: ~}");
}

TEST_F(ConfigUse, AnnotationsAreNotFollowed) {
  EXPECT_EQ(resolved("x-old: {use: nowhere}\na: 1\n"), "{x-old: {use: nowhere}, a: 1}");
}

TEST_F(ConfigUse, UnknownNamesGetASuggestion) {
  EXPECT_EQ(error("cluster: {use: clusters/dgxx}\n"),
            "a.yaml:1:16: error: `cluster.use`: nothing in the library is called `clusters/dgxx`\n"
            "  hint: did you mean `clusters/dgx`?");
  EXPECT_EQ(error("use: dxg\n"),
            "a.yaml:1:6: error: `use`: nothing in the library is called `dxg`\n  hint: did you mean `dgx`?");
  EXPECT_EQ(error("use: cluster/dgx\n"),
            "a.yaml:1:6: error: `use`: nothing in the library is called `cluster/dgx`\n"
            "  hint: did you mean `clusters/dgx`?");
  EXPECT_EQ(error("use: ./nowhere.yaml\n"), "a.yaml:1:6: error: `use`: there is no file `nowhere.yaml`");
  write("beside.yaml", "a: 1\n");
  EXPECT_EQ(error("use: beside.yaml\n"),
            "a.yaml:1:6: error: `use`: nothing in the library is called `beside.yaml`\n"
            "  hint: for the file beside this one write `./beside.yaml`");
  EXPECT_THAT(error("use: clusters/../clusters/dgx\n"), HasSubstr("nothing in the library"));
}

TEST_F(ConfigUse, AmbiguousNamesAreListed) {
  write("lib/nodes/dgx.yaml", "a: 1\n");
  EXPECT_EQ(error("use: dgx\n"),
            "a.yaml:1:6: error: `use`: `dgx` is in several folders of the library: `clusters/dgx`, `nodes/dgx`\n"
            "  hint: say which, with its folder");
}

TEST_F(ConfigUse, CyclesAreShownAsAChain) {
  write("b.yaml", "x: {use: ./c.yaml}\n");
  write("c.yaml", "use: ./a.yaml\n");
  EXPECT_EQ(error("use: ./b.yaml\n"),
            "c.yaml:1:6: error: `x.use`: `use:` goes in a circle: a.yaml -> b.yaml -> c.yaml -> a.yaml\n"
            "  hint: remove one of these `use:`");
  EXPECT_THAT(error("use: ./a.yaml\n"), HasSubstr("goes in a circle: a.yaml -> a.yaml"));
  EXPECT_THAT(error("deep: {use: ./a.yaml}\n"), HasSubstr("goes in a circle: a.yaml -> a.yaml"));
}

TEST_F(ConfigUse, UsingTheSameFileTwiceIsNoCycle) {
  write("b.yaml", "p: {use: ./leaf.yaml}\nq: {use: ./leaf.yaml}\n");
  write("leaf.yaml", "k: 1\n");
  EXPECT_EQ(resolved("use: ./b.yaml\nr: {use: ./leaf.yaml}\ns: {use: ./b.yaml}\n"),
            "{p: {k: 1}, q: {k: 1}, r: {k: 1}, s: {p: {k: 1}, q: {k: 1}}}");
}

TEST_F(ConfigUse, UseBombsAreRefused) {
  for (int i = 0; i < 12; ++i) {
    std::string text;
    for (int k = 0; k < 10; ++k) {
      text += fmt::format("k{}: {{use: ./bomb{}.yaml}}\n", k, i + 1);
    }
    write(fmt::format("bomb{}.yaml", i), text);
  }
  write("bomb12.yaml", "end: 1\n");
  EXPECT_THAT(error("use: ./bomb0.yaml\n"), HasSubstr("the configuration grows beyond 1000000 values"));
}

TEST_F(ConfigUse, UseMustBeANameAndItsFileAMap) {
  EXPECT_THAT(error("use: [dgx]\n"), HasSubstr("a.yaml:1:6: error: `use`: expected the name of a library entry"));
  write("list.yaml", "[1, 2]\n");
  EXPECT_THAT(error("use: ./list.yaml\n"), HasSubstr("`list.yaml` is not a map: nothing to start from"));
  write("broken.yaml", "a: [\n");
  EXPECT_THAT(error("use: ./broken.yaml\n"), HasSubstr("broken.yaml:"));
}

TEST_F(ConfigUse, OverridesReplaceWhatUseBrought) {
  EXPECT_EQ(resolved("use: dgx\n", {"nodes=2", "link.lanes=4", "tiers[1]=9", "new.deep.key=x"}),
            "{nodes: 2, link: {latency: 1 us, lanes: 4}, tiers: [1, 9], new: {deep: {key: x}}}");
}

TEST_F(ConfigUse, OverrideValuesAreYaml) {
  EXPECT_EQ(resolved("use: dgx\n", {"link={latency: 2 us}", "tiers=[7, 8]", "name='a: b'", "nodes=~"}),
            "{link: {latency: 2 us}, tiers: [7, 8], name: a: b}");
  EXPECT_EQ(resolved("a: 1\n", {"\"llama3.1\".x=a=b"}), "{a: 1, llama3.1: {x: a=b}}");
}

TEST_F(ConfigUse, TheLastOverrideOfAKeyCounts) {
  EXPECT_EQ(resolved("use: dgx\n", {"nodes=1", "nodes=2"}),
            "{nodes: 2, link: {latency: 1 us, lanes: 2}, tiers: [1, 2]}");
  EXPECT_EQ(resolved("a: {b: 1}\n", {"a.b=2", "a={c: 3}"}), "{a: {c: 3}}");
  EXPECT_EQ(resolved("a: {b: 1}\n", {"a={c: 3}", "a.b=2"}), "{a: {c: 3, b: 2}}");
}

TEST_F(ConfigUse, UseItselfCanBeOverridden) {
  write("lib/clusters/other.yaml", "nodes: 1\nlanes: 2\n");
  EXPECT_EQ(resolved("cluster: {use: dgx, tiers: [5]}\n", {"cluster.use=other"}),
            "{cluster: {nodes: 1, lanes: 2, tiers: [5]}}");
  EXPECT_EQ(resolved("a: 1\n", {"cluster.nodes=6", "cluster.use=other"}), "{a: 1, cluster: {nodes: 6, lanes: 2}}");
  EXPECT_EQ(resolved("use: dgx\n", {"use=other"}), "{nodes: 1, lanes: 2}");
  write("base.yaml", "cluster: {use: dgx}\n");
  EXPECT_EQ(resolved("use: ./base.yaml\n", {"cluster.use=other"}), "{cluster: {nodes: 1, lanes: 2}}");
  EXPECT_EQ(
      error("a: 1\n", {"cluster.use=othr"}),
      "command line: error: `cluster.use`: nothing in the library is called `othr`\n  hint: did you mean `other`?");
}

TEST_F(ConfigUse, AnOverrideMayBringItsOwnUse) {
  EXPECT_EQ(resolved("cluster: {nodes: 1}\n", {"cluster={use: dgx, tiers: []}"}),
            "{cluster: {nodes: 4, link: {latency: 1 us, lanes: 2}, tiers: []}}");
}

TEST_F(ConfigUse, OverridesThroughWhatIsNotThereAreErrors) {
  EXPECT_EQ(error("use: dgx\n", {"tiers[2]=1"}),
            "command line: error: override `tiers[2]=1`: `tiers` has 2 entries, there is no [2]\n"
            "  hint: entries are counted from 0");
  EXPECT_EQ(error("use: dgx\n", {"nodes.x=1"}),
            "command line: error: override `nodes.x=1`: `nodes` is a plain value, not a map with a key `x`");
  EXPECT_EQ(error("use: dgx\n", {"link[0]=1"}),
            "command line: error: override `link[0]=1`: `link` is a map, not a list\n"
            "  hint: without an index: `a.b=value`");
  EXPECT_EQ(error("use: dgx\n", {"tiers.x=1"}),
            "command line: error: override `tiers.x=1`: `tiers` is a list, not a map with a key `x`\n"
            "  hint: say which entry: `a[0].b=value`");
  EXPECT_EQ(error("use: dgx\n", {"none[0]=1"}),
            "command line: error: override `none[0]=1`: `none` is empty, not a list\n"
            "  hint: without an index: `a.b=value`");
}

TEST_F(ConfigUse, MalformedOverridesShowTheForm) {
  const std::string hint =
      "\n  hint: an override is written `key.path=value`, for example `cluster.nodes=2` or `links[0].lanes=4`";
  EXPECT_EQ(error("", {"nodes"}), "command line: error: override `nodes`: there is no `=`" + hint);
  EXPECT_EQ(error("", {"=3"}), "command line: error: override `=3`: a key is missing" + hint);
  EXPECT_EQ(error("", {"a..b=3"}), "command line: error: override `a..b=3`: a key is missing" + hint);
  EXPECT_EQ(error("", {"a[x]=3"}), "command line: error: override `a[x]=3`: an index must be a whole number" + hint);
  EXPECT_EQ(error("", {"a[1=3"}), "command line: error: override `a[1=3`: a `]` is missing" + hint);
  EXPECT_EQ(error("", {"a]=3"}), "command line: error: override `a]=3`: unexpected `]`" + hint);
  EXPECT_THAT(error("", {"a=[1"}), HasSubstr("override `a=[1`: "));
  EXPECT_THAT(error("", {"\"a=3"}), HasSubstr("a quote is not closed"));
}

TEST_F(ConfigUse, AllMistakesOfALoadAreReportedTogether) {
  EXPECT_EQ(error("a: {use: nope1}\nb: {use: nope2}\n", {"x", "a[0]=1"}),
            "command line: error: override `x`: there is no `=`\n"
            "  hint: an override is written `key.path=value`, for example `cluster.nodes=2` or `links[0].lanes=4`\n"
            "command line: error: override `a[0]=1`: `a` is a map, not a list\n"
            "  hint: without an index: `a.b=value`\n"
            "a.yaml:1:10: error: `a.use`: nothing in the library is called `nope1`\n"
            "  hint: `warploom list` shows the library; a file beside this one is written `./name.yaml`\n"
            "a.yaml:2:10: error: `b.use`: nothing in the library is called `nope2`\n"
            "  hint: `warploom list` shows the library; a file beside this one is written `./name.yaml`");
}

}  // namespace
}  // namespace warploom
