// SPDX-License-Identifier: Apache-2.0
// The explained tree says where each line came from and reads back as the same configuration; the hash changes with
// values and with nothing else.
#include "tests/unit/core/config_support.hpp"

namespace warploom {
namespace {

ConfigValue parse(std::string_view text) { return parse_config_text(text, "a.yaml"); }
std::string hash(std::string_view text) { return config_hash(parse(text)); }

class Explain : public FolderTest {};

TEST_F(Explain, EveryLineSaysWhereItCameFrom) {
  write("lib/clusters/pod.yaml", "# published\nlink:\n  latency: 700 ns\n  lanes: 2\n");
  write("a.yaml", "cluster:\n  use: pod\ntiers:\n  - {up: 4}\n  - up: 5\n    down: 6\nsizes: [1, 2]\n");
  EXPECT_EQ(explain(load("a.yaml", {"cluster.link.lanes=4"})),
            "cluster:             # a.yaml:1\n"
            "  link:              # lib/clusters/pod.yaml:2\n"
            "    latency: 700 ns  # lib/clusters/pod.yaml:3\n"
            "    lanes: 4         # command line\n"
            "tiers:               # a.yaml:3\n"
            "  - up: 4            # a.yaml:4\n"
            "  - up: 5            # a.yaml:5\n"
            "    down: 6          # a.yaml:6\n"
            "sizes: [1, 2]        # a.yaml:7\n");
}

TEST(ConfigPrint, ExplainedTextReadsBackAsTheSameConfiguration) {
  for (const char* text :
       {"a: 1\n", "{}", "[]", "a: ~\n", "a: 'null'\nb: '~'\nc: ''\n", "a: {}\nb: []\n",
        "a: [[1, [2]], [], {}, {b: [3]}]\n", "- a\n- b: 1\n  c: [x]\n-\n  - d\n",
        "a: \"x: y # z\"\nb: '- q'\nc: \"tab\\tnew\\nline \\\"q\\\" \\\\ \\x01\"\n", "\"a: b\": 1\n'#c': 2\n\"\": 3\n",
        "a: |\n  two\n  lines\n", "a: '[1]'\nb: '{x}'\nc: '*x'\nd: '&x'\ne: '!t'\nf: '%'\n",
        "a: \xe2\x82\xac\nb: -5\nc: '---'\nd: '-'\ne: '- -'\n", "plain text", "a:\n- 1\n- - 2\n  - b: 3\n    c: 4\n"}) {
    const auto root = parse(text);
    const std::string explained = explain(root);
    EXPECT_EQ(config_hash(parse(explained)), config_hash(root)) << text << "\n" << explained;
    EXPECT_EQ(compact(parse(explained)), compact(root)) << explained;
  }
}

TEST(ConfigHash, DoesNotDependOnCommentsOrderQuotesOrNotes) {
  const std::string reference = hash("a: 1\nb: {c: x, d: [1, 2]}\n");
  EXPECT_EQ(reference.size(), 16u);
  EXPECT_EQ(hash("# hello\nb:\n  d:\n  - 1\n  - 2\n  c: x\na: 1\n"), reference);
  EXPECT_EQ(hash("a: '1'\nb: {c: \"x\", d: [1, 2]}\nx-note: {e: 5}\n"), reference);
}

TEST(ConfigHash, ChangesWithEveryValueKeyAndShape) {
  const std::vector<std::string> different = {"a: 1\nb: {c: x, d: [1, 2]}\n",
                                              "a: 2\nb: {c: x, d: [1, 2]}\n",
                                              "a: 1\nb: {c: x, d: [2, 1]}\n",
                                              "a: 1\nb: {c: x, d: [12]}\n",
                                              "a: 1\nb: {c: x, d: 12}\n",
                                              "a: 1\nb: {c: x, e: [1, 2]}\n",
                                              "a: 1\nb: {c: ~, d: [1, 2]}\n",
                                              "a: 1\nb: {c: '', d: [1, 2]}\n",
                                              "a: 1\nb: {c: {}, d: [1, 2]}\n",
                                              "a: 1\nb: {c: [], d: [1, 2]}\n",
                                              "a: 1\n",
                                              "{}"};
  std::vector<std::string> seen;
  for (const std::string& text : different) {
    EXPECT_EQ(std::count(seen.begin(), seen.end(), hash(text)), 0) << text;
    seen.push_back(hash(text));
  }
}

TEST(ConfigHash, IsPinned) { EXPECT_EQ(hash("a: 1\n"), "3fbf86a035eff78b"); }

}  // namespace
}  // namespace warploom
