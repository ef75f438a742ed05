// SPDX-License-Identifier: Apache-2.0
// Declared fields are read strictly, and every mistake is said with place, expectation, what came, and what to do.
#include "sim/core/config.hpp"

#include "tests/unit/core/config_support.hpp"

namespace warploom {

enum class Algorithm { ring, tree, halving };
template <>
struct EnumNames<Algorithm> {
  static constexpr std::pair<Algorithm, std::string_view> values[] = {
      {Algorithm::ring, "ring"}, {Algorithm::tree, "tree"}, {Algorithm::halving, "halving"}};
};

namespace {

using testing::HasSubstr;

struct LinkSpec {
  Time latency;
  Bandwidth bandwidth;
  int lanes = 1;
  double efficiency = 1;

  static auto fields() {
    return field_list(
        field("latency", &LinkSpec::latency, "time from first bit sent to first bit received"),
        field("bandwidth", &LinkSpec::bandwidth, "bytes a second of one lane").positive(),
        field("lanes", &LinkSpec::lanes, "parallel lanes bonded into one link").optional().in(1, 64),
        field("efficiency", &LinkSpec::efficiency, "share of the bandwidth that is reached").optional().in(0, 1));
  }
};

struct PodSpec {
  std::string name = "pod";
  std::vector<LinkSpec> links;
  Algorithm algorithm = Algorithm::ring;
  bool is_fast = false;
  std::optional<Bytes> buffer;
  std::map<std::string, std::int64_t> counts;
  std::vector<Time> delays;
  Time skew;
  LinkSpec uplink{1_us, 50_GBps, 4, 0.9};
  ConfigValue fabric;

  static auto fields() {
    return field_list(field("name", &PodSpec::name, "what it is called").optional(),
                      field("links", &PodSpec::links, "all links").optional(),
                      field("algorithm", &PodSpec::algorithm, "how to reduce").optional(),
                      field("fast", &PodSpec::is_fast, "whether to hurry").optional(),
                      field("buffer", &PodSpec::buffer, "staging buffer"),
                      field("counts", &PodSpec::counts, "how many of each").optional().at_least(0),
                      field("delays", &PodSpec::delays, "delays of the tiers").optional().in(1_ns, 1_ms),
                      field("skew", &PodSpec::skew, "clock skew").optional().in(-1_us, 1_us),
                      field("uplink", &PodSpec::uplink, "to the next tier").optional(),
                      field("fabric", &PodSpec::fabric, "decided later").optional());
  }
};

struct Layout {
  std::int64_t devices = 1;
  int tensor = 1;
  static auto fields() {
    return field_list(field("devices", &Layout::devices, "number of devices").positive(),
                      field("tensor", &Layout::tensor, "tensor-parallel size").optional().positive());
  }
  static void check(const Layout& layout, const ConfigValue& value, Diagnostics& diagnostics) {
    if (layout.devices % layout.tensor == 0) return;
    diagnostics.error(value.find("tensor")->origin(), value.path_of("tensor"),
                      fmt::format("expected a divisor of {} devices, got `{}`", layout.devices, layout.tensor));
  }
};

template <class T>
std::string mistakes(std::string_view text) {
  const auto root = parse_config_text(text, "pod.yaml");
  return error_of([&] { read<T>(root); });
}

TEST(Config, ReadsEveryTypeOfMember) {
  const auto root = parse_config_text(
      "name: 010\nlinks: [{latency: 700 ns, bandwidth: 400 Gb/s, lanes: 2}]\nalgorithm: tree\nfast: true\n"
      "buffer: 4 MiB\ncounts: {a: 1, b: 20}\ndelays: [1 ns, 2 us]\nskew: -5 ns\n"
      "uplink: {latency: 3 us, bandwidth: 1 GB/s}\nfabric: {kind: torus}\n",
      "pod.yaml");
  const auto pod = read<PodSpec>(root);
  EXPECT_EQ(pod.name, "010");
  ASSERT_EQ(pod.links.size(), 1u);
  EXPECT_EQ(pod.links[0].latency, 700_ns);
  EXPECT_EQ(pod.links[0].bandwidth, 50_GBps);
  EXPECT_EQ(pod.links[0].lanes, 2);
  EXPECT_EQ(pod.links[0].efficiency, 1.0);
  EXPECT_EQ(pod.algorithm, Algorithm::tree);
  EXPECT_TRUE(pod.is_fast);
  EXPECT_EQ(pod.buffer, 4_MiB);
  EXPECT_EQ(pod.counts, (std::map<std::string, std::int64_t>{{"a", 1}, {"b", 20}}));
  EXPECT_EQ(pod.delays, (std::vector<Time>{1_ns, 2_us}));
  EXPECT_EQ(pod.skew, -5_ns);
  EXPECT_EQ(pod.uplink.latency, 3_us);
  EXPECT_EQ(pod.fabric.path(), "fabric");
}

TEST(Config, WhatIsLeftOutKeepsTheInitialValue) {
  const auto pod = read<PodSpec>(parse_config_text("name: ~\n", "pod.yaml"));
  EXPECT_EQ(pod.name, "pod");
  EXPECT_EQ(pod.uplink.latency, 1_us);
  EXPECT_EQ(pod.uplink.lanes, 4);
  EXPECT_EQ(pod.buffer, std::nullopt);
  EXPECT_TRUE(pod.fabric.is_null());
}

TEST(Config, PartOfANestedStructKeepsItsOtherDefaults) {
  const auto pod = read<PodSpec>(parse_config_text("uplink: {latency: 2 us, bandwidth: 1 GB/s}\n", "pod.yaml"));
  EXPECT_EQ(pod.uplink.lanes, 4);
}

TEST(Config, WrongUnitsHaveTheHouseText) {
  EXPECT_EQ(mistakes<PodSpec>("delays: [700]\n"),
            "pod.yaml:1:10: error: `delays[0]`: expected a time such as `700 ns`, got `700`\n"
            "  hint: add a unit: ps, ns, us, ms, s");
  EXPECT_EQ(mistakes<PodSpec>("skew: 5 NS\n"),
            "pod.yaml:1:7: error: `skew`: expected a time such as `700 ns`, got `5 NS`\n"
            "  hint: did you mean `5 ns`? units: ps, ns, us, ms, s");
  EXPECT_EQ(mistakes<PodSpec>("skew: 5 parsecs\n"),
            "pod.yaml:1:7: error: `skew`: expected a time such as `700 ns`, got `5 parsecs`\n"
            "  hint: units: ps, ns, us, ms, s");
  EXPECT_EQ(mistakes<PodSpec>("skew: soon\n"),
            "pod.yaml:1:7: error: `skew`: expected a time such as `700 ns`, got `soon`\n"
            "  hint: write a decimal number and a unit: ps, ns, us, ms, s");
  EXPECT_EQ(mistakes<PodSpec>("skew: 1e30 s\n"),
            "pod.yaml:1:7: error: `skew`: expected a time such as `700 ns`, got `1e30 s`\n"
            "  hint: this does not fit: too large, or too small to be told from 0");
  EXPECT_THAT(mistakes<PodSpec>("uplink: {latency: 1 us, bandwidth: 450 GBps}\n"),
              HasSubstr("hint: did you mean `450 GB/s`? units: "));
  EXPECT_THAT(mistakes<PodSpec>("uplink: {latency: 1 us, bandwidth: 400 Gbps}\n"),
              HasSubstr("hint: did you mean `400 Gb/s`? units: "));
}

TEST(Config, UnknownKeysGetTheNearestName) {
  EXPECT_EQ(mistakes<PodSpec>("algoritm: ring\n"),
            "pod.yaml:1:1: error: `algoritm`: unknown key\n  hint: did you mean `algorithm`?");
  EXPECT_EQ(mistakes<LinkSpec>("latency: 1 us\nbandwidth: 1 GB/s\ncolour: red\n"),
            "pod.yaml:3:1: error: `colour`: unknown key\n  hint: known keys: latency, bandwidth, lanes, efficiency");
  EXPECT_EQ(mistakes<PodSpec>("a: &a {b: 1}\n<<: *a\n").find("`<<`: unknown key\n  hint: YAML's merge key") !=
                std::string::npos,
            true);
}

TEST(Config, RepeatedKeysNameBothPlaces) {
  EXPECT_EQ(mistakes<PodSpec>("name: a\nfast: true\nname: b\n"),
            "pod.yaml:3:1: error: `name`: repeated key, first set at pod.yaml:1:1\n  hint: remove one of the two");
  EXPECT_EQ(mistakes<PodSpec>("counts: {a: 1, a: 2}\n"),
            "pod.yaml:1:16: error: `counts.a`: repeated key, first set at pod.yaml:1:10\n"
            "  hint: remove one of the two");
}

TEST(Config, MissingKeysSayWhatTheyMean) {
  EXPECT_EQ(mistakes<LinkSpec>("bandwidth: 1 GB/s\n"),
            "pod.yaml:1:1: error: `latency`: missing, expected a time such as `700 ns`\n"
            "  hint: latency: time from first bit sent to first bit received");
  EXPECT_EQ(mistakes<LinkSpec>("latency: ~\nbandwidth: 1 GB/s\n"),
            "pod.yaml:1:10: error: `latency`: missing, expected a time such as `700 ns`\n"
            "  hint: latency: time from first bit sent to first bit received");
}

TEST(Config, WrongTypesSayWhatCame) {
  EXPECT_EQ(mistakes<PodSpec>("links: {a: 1}\n"),
            "pod.yaml:1:8: error: `links`: expected a list, each a map, got a map");
  EXPECT_EQ(mistakes<PodSpec>("delays: 1 ns\n"),
            "pod.yaml:1:9: error: `delays`: expected a list, each a time such as `700 ns`, got `1 ns`\n"
            "  hint: write [1 ns]");
  EXPECT_EQ(mistakes<PodSpec>("uplink: [1]\n"),
            "pod.yaml:1:9: error: `uplink`: expected a map, got a list\n"
            "  hint: known keys: latency, bandwidth, lanes, efficiency");
  EXPECT_EQ(mistakes<PodSpec>("counts: 5\n"),
            "pod.yaml:1:9: error: `counts`: expected a map, each a whole number such as `8`, got `5`");
  EXPECT_EQ(mistakes<PodSpec>("name: [a]\n"), "pod.yaml:1:7: error: `name`: expected a text, got a list");
  EXPECT_EQ(mistakes<PodSpec>("buffer: {a: 1}\n"),
            "pod.yaml:1:9: error: `buffer`: expected a size such as `80 GB`, got a map");
  EXPECT_THAT(mistakes<PodSpec>("[1]\n"), HasSubstr("pod.yaml:1:1: error: expected a map, got a list"));
}

TEST(Config, WholeNumbersAreDecimalDigitsOnly) {
  const auto hint_for = [](const std::string& number) {
    const std::string text = mistakes<PodSpec>("counts: {a: " + number + "}\n");
    EXPECT_THAT(text, HasSubstr("`counts.a`: expected a whole number such as `8`, got `"));
    const std::size_t at = text.find("\n  hint: ");
    return at == std::string::npos ? std::string() : text.substr(at + 9);
  };
  EXPECT_EQ(hint_for("010"), "no leading zeros (some read this as octal): write 10");
  EXPECT_EQ(hint_for("000"), "no leading zeros (some read this as octal): write 0");
  EXPECT_EQ(hint_for("1e12"), "write it out in decimal digits: 1000000000000");
  EXPECT_EQ(hint_for("8.0"), "write it out in decimal digits: 8");
  EXPECT_EQ(hint_for("16_384"), "no separators in numbers: write 16384");
  EXPECT_EQ(hint_for("+5"), "without the plus: 5");
  EXPECT_EQ(hint_for("'5'"), "remove the quotes");
  EXPECT_EQ(hint_for("99999999999999999999"), "this does not fit into 64 bits");
  EXPECT_EQ(hint_for("0x10"), "");
  EXPECT_EQ(hint_for("1.5"), "");
  EXPECT_EQ(hint_for("many"), "");
  EXPECT_EQ(hint_for("''"), "");
}

TEST(Config, NumbersAreFiniteDecimals) {
  for (const char* text : {".nan", ".inf", "nan", "inf", "0x1p3", "1.", ".5", "1e", "01.5", "1e999", "50%", "yes"}) {
    EXPECT_THAT(mistakes<LinkSpec>(fmt::format("latency: 1 us\nbandwidth: 1 GB/s\nefficiency: {}\n", text)),
                HasSubstr(fmt::format("`efficiency`: expected a number such as `0.85`, got `{}`", text)));
  }
  EXPECT_EQ(read<LinkSpec>(parse_config_text("latency: 1 us\nbandwidth: 1 GB/s\nefficiency: 2.5e-1\n", "a")).efficiency,
            0.25);
}

TEST(Config, BooleansAreTrueOrFalseOnly) {
  EXPECT_EQ(mistakes<PodSpec>("fast: yes\n"),
            "pod.yaml:1:7: error: `fast`: expected `true` or `false`, got `yes`\n  hint: write true");
  EXPECT_THAT(mistakes<PodSpec>("fast: Off\n"), HasSubstr("got `Off`\n  hint: write false"));
  EXPECT_THAT(mistakes<PodSpec>("fast: 'true'\n"), HasSubstr("got `true`\n  hint: remove the quotes"));
  EXPECT_THAT(mistakes<PodSpec>("fast: maybe\n"), testing::EndsWith("got `maybe`"));
}

TEST(Config, EnumsListTheirNames) {
  EXPECT_EQ(mistakes<PodSpec>("algorithm: rng\n"),
            "pod.yaml:1:12: error: `algorithm`: expected one of `ring`, `tree`, `halving`, got `rng`\n"
            "  hint: did you mean `ring`?");
  EXPECT_THAT(mistakes<PodSpec>("algorithm: Ring\n"), HasSubstr("got `Ring`\n  hint: did you mean `ring`?"));
}

TEST(Config, RangesAreChecked) {
  const auto lanes = [](const char* text) {
    return mistakes<LinkSpec>(fmt::format("latency: 1 us\nbandwidth: 1 GB/s\nlanes: {}\n", text));
  };
  EXPECT_EQ(lanes("0"), "pod.yaml:3:8: error: `lanes`: expected a whole number from 1 to 64, got `0`");
  EXPECT_EQ(lanes("65"), "pod.yaml:3:8: error: `lanes`: expected a whole number from 1 to 64, got `65`");
  EXPECT_EQ(lanes("5000000000"),
            "pod.yaml:3:8: error: `lanes`: expected a whole number from 1 to 64, got `5000000000`");
  EXPECT_EQ(mistakes<LinkSpec>("latency: 1 us\nbandwidth: 0 GB/s\n"),
            "pod.yaml:2:12: error: `bandwidth`: expected a bandwidth above 0 B/s, got `0 GB/s`");
  EXPECT_EQ(mistakes<LinkSpec>("latency: -1 us\nbandwidth: 1 GB/s\n"),  // quantities are not negative by default
            "pod.yaml:1:10: error: `latency`: expected a time of at least 0 s, got `-1 us`");
  EXPECT_EQ(mistakes<PodSpec>("delays: [1 ps, 5 us, 2 ms]\n"),
            "pod.yaml:1:10: error: `delays[0]`: expected a time from 1 ns to 1 ms, got `1 ps`\n"
            "pod.yaml:1:22: error: `delays[2]`: expected a time from 1 ns to 1 ms, got `2 ms`");
  EXPECT_EQ(mistakes<PodSpec>("skew: 2 us\n"),
            "pod.yaml:1:7: error: `skew`: expected a time from -1 us to 1 us, got `2 us`");
  EXPECT_EQ(mistakes<Layout>("devices: 0\n"),
            "pod.yaml:1:10: error: `devices`: expected a whole number above 0, got `0`");
}

TEST(Config, TheEndsOfARangeAreInside) {
  for (const char* lanes : {"1", "64"}) {
    EXPECT_NO_THROW(read<LinkSpec>(
        parse_config_text(fmt::format("latency: 0 s\nbandwidth: 1 B/s\nlanes: {}\n", lanes), "pod.yaml")));
  }
}

TEST(Config, CrossFieldChecksRunOnceTheFieldsAreRight) {
  EXPECT_EQ(mistakes<Layout>("devices: 10\ntensor: 4\n"),
            "pod.yaml:2:9: error: `tensor`: expected a divisor of 10 devices, got `4`");
  EXPECT_EQ(mistakes<Layout>("devices: 10\ntensor: 0\n"),  // would divide by zero
            "pod.yaml:2:9: error: `tensor`: expected a whole number above 0, got `0`");
}

TEST(Config, AllMistakesOfAFileComeAtOnce) {
  EXPECT_EQ(mistakes<PodSpec>("name: a\nfast: on\nlinks:\n  - {latency: 700, bandwidth: 1 GB/s}\n  - {latncy: 1 us}\n"
                              "name: b\nbuffer: 80 gb\n"),
            "pod.yaml:2:7: error: `fast`: expected `true` or `false`, got `on`\n"
            "  hint: write true\n"
            "pod.yaml:4:15: error: `links[0].latency`: expected a time such as `700 ns`, got `700`\n"
            "  hint: add a unit: ps, ns, us, ms, s\n"
            "pod.yaml:5:5: error: `links[1].latency`: missing, expected a time such as `700 ns`\n"
            "  hint: latency: time from first bit sent to first bit received\n"
            "pod.yaml:5:5: error: `links[1].bandwidth`: missing, expected a bandwidth such as `450 GB/s`\n"
            "  hint: bandwidth: bytes a second of one lane\n"
            "pod.yaml:5:6: error: `links[1].latncy`: unknown key\n"
            "  hint: did you mean `latency`?\n"
            "pod.yaml:6:1: error: `name`: repeated key, first set at pod.yaml:1:1\n"
            "  hint: remove one of the two\n"
            "pod.yaml:7:9: error: `buffer`: expected a size such as `80 GB`, got `80 gb`\n"
            "  hint: did you mean `80 GB`? units: B, kB, MB, GB, TB, PB (powers of 1000), KiB, MiB, GiB, TiB, PiB "
            "(powers of 1024)");
}

TEST(Config, AnnotationsAreIgnoredEverywhere) {
  const auto root = parse_config_text(
      "x-owner: {a: [1]}\nuplink: {latency: 1 us, bandwidth: 1 GB/s, x-source: p. 18}\ncounts: {x-note: many, a: 1}\n",
      "pod.yaml");
  Diagnostics diagnostics;
  const auto pod = read<PodSpec>(root, diagnostics);
  report_unread(root, diagnostics);
  EXPECT_NO_THROW(diagnostics.throw_if_any());
  EXPECT_EQ(pod.counts.size(), 1u);
}

TEST(Config, WhatNobodyDispatchesOnIsFoundUnread) {
  const auto root = parse_config_text("fabric: {kind: torus}\nfast: true\n", "pod.yaml");
  Diagnostics diagnostics;
  const auto pod = read<PodSpec>(root, diagnostics);
  report_unread(root, diagnostics);
  ASSERT_EQ(diagnostics.error_count(), 1u);
  EXPECT_EQ(diagnostics.all()[0].path, "fabric");
}

TEST(Config, MistakesAreNotReportedAgainAsUnread) {
  const auto root = parse_config_text("fsat: true\nlinks: {a: {b: 1}}\nuplink: 7\n", "pod.yaml");
  Diagnostics diagnostics;
  read<PodSpec>(root, diagnostics);
  const std::size_t before = diagnostics.error_count();
  report_unread(root, diagnostics);
  EXPECT_EQ(before, 3u);
  EXPECT_EQ(diagnostics.error_count(), before);
}

class ConfigInheritance : public FolderTest {};

TEST_F(ConfigInheritance, UnknownInheritedKeysSayHowToDropThem) {
  write("lib/base.yaml", "latency: 1 us\nlevels: 3\nbandwidth: 1 GB/s\n");
  write("a.yaml", "use: base\nlanes: 2\n");
  EXPECT_EQ(error_of([&] { read<LinkSpec>(load("a.yaml")); }),
            "lib/base.yaml:2:1: error: `levels`: unknown key\n"
            "  hint: known keys: latency, bandwidth, lanes, efficiency; it is inherited: `levels: ~` drops it");
  EXPECT_NO_THROW(read<LinkSpec>(load("a.yaml", {"levels=~"})));
}

TEST_F(ConfigInheritance, MistakesOnTheCommandLineSaySo) {
  write("a.yaml", "latency: 1 us\nbandwidth: 1 GB/s\n");
  EXPECT_EQ(error_of([&] { read<LinkSpec>(load("a.yaml", {"lans=2", "latency=7"})); }),
            "command line: error: `lans`: unknown key\n"
            "  hint: did you mean `lanes`?\n"
            "command line: error: `latency`: expected a time such as `700 ns`, got `7`\n"
            "  hint: add a unit: ps, ns, us, ms, s");
  EXPECT_THAT(error_of([&] { read<LinkSpec>(load("a.yaml", {"lans=~"})); }), HasSubstr("`lans`: unknown key"));
}

TEST(Config, ReferenceTableShowsNestedFieldsWithTheirDefaults) {
  EXPECT_EQ(reference_markdown<PodSpec>(),
            "| key | type | default | range | meaning |\n"
            "|---|---|---|---|---|\n"
            "| `name` | text | `pod` |  | what it is called |\n"
            "| `links` | list of map | `[]` |  | all links |\n"
            "| `links[].latency` | time | required |  | time from first bit sent to first bit received |\n"
            "| `links[].bandwidth` | bandwidth | required | above 0 B/s | bytes a second of one lane |\n"
            "| `links[].lanes` | whole number | `1` | from 1 to 64 | parallel lanes bonded into one link |\n"
            "| `links[].efficiency` | number | `1` | from 0 to 1 | share of the bandwidth that is reached |\n"
            "| `algorithm` | `ring`, `tree`, `halving` | `ring` |  | how to reduce |\n"
            "| `fast` | boolean | `false` |  | whether to hurry |\n"
            "| `buffer` | size | none |  | staging buffer |\n"
            "| `counts` | map of whole number | `{}` | of at least 0 | how many of each |\n"
            "| `delays` | list of time | `[]` | from 1 ns to 1 ms | delays of the tiers |\n"
            "| `skew` | time | `0 s` | from -1 us to 1 us | clock skew |\n"
            "| `uplink` | map |  |  | to the next tier |\n"
            "| `uplink.latency` | time | required |  | time from first bit sent to first bit received |\n"
            "| `uplink.bandwidth` | bandwidth | required | above 0 B/s | bytes a second of one lane |\n"
            "| `uplink.lanes` | whole number | `4` | from 1 to 64 | parallel lanes bonded into one link |\n"
            "| `uplink.efficiency` | number | `0.9` | from 0 to 1 | share of the bandwidth that is reached |\n"
            "| `fabric` | any |  |  | decided later |\n");
}

}  // namespace
}  // namespace warploom
