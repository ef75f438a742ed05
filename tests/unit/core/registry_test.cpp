// SPDX-License-Identifier: Apache-2.0
// `kind:` picks an implementation; unknown kinds and parameters of other kinds are mistakes.
#include "sim/core/registry.hpp"

#include "tests/unit/core/config_support.hpp"

namespace warploom {
namespace {

struct Topology {
  virtual ~Topology() = default;
  virtual int ports() const = 0;
};

struct TorusSpec {
  int dimensions = 0;
  static auto fields() {
    return field_list(field("dimensions", &TorusSpec::dimensions, "number of dimensions").in(1, 6));
  }
};

struct Torus : Topology {
  using Spec = TorusSpec;
  Torus(const TorusSpec& spec, int scale) : count(2 * spec.dimensions * scale) {}
  int ports() const override { return count; }
  int count;
};

struct Star : Topology {
  explicit Star(int scale) : count(scale) {}
  int ports() const override { return count; }
  int count;
};

Registry<Topology, int> topologies() {
  Registry<Topology, int> r;
  r.add<Torus>("torus", "k-ary n-cube with dimension-order routing");
  r.add<Star>("star", "one switch");
  return r;
}

std::string mistakes(std::string_view text) {
  const auto root = parse_config_text(text, "pod.yaml");
  Diagnostics diagnostics;
  EXPECT_EQ(topologies().make(*root.find("fabric"), diagnostics, 1), nullptr);
  root.entries();
  report_unread(root, diagnostics);  // nothing is reported twice
  return error_of([&] { diagnostics.throw_if_any(); });
}

TEST(Registry, MakesTheKindThatIsNamedWithItsParametersAndArguments) {
  const auto root = parse_config_text("fabric: {kind: torus, dimensions: 3, x-note: 1}\n", "pod.yaml");
  Diagnostics diagnostics;
  const auto made = topologies().make(*root.find("fabric"), diagnostics, 10);
  report_unread(root, diagnostics);
  EXPECT_NO_THROW(diagnostics.throw_if_any());
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->ports(), 60);
}

TEST(Registry, APlainNameIsEnoughWithoutParameters) {
  const auto root = parse_config_text("fabric: star\n", "pod.yaml");
  Diagnostics diagnostics;
  const auto made = topologies().make(*root.find("fabric"), diagnostics, 7);
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->ports(), 7);
  EXPECT_EQ(topologies().make_named("star", 5)->ports(), 5);
}

TEST(Registry, UnknownKindsListTheKnownOnes) {
  EXPECT_EQ(mistakes("fabric: {kind: tors, dimensions: 3}\n"),
            "pod.yaml:1:16: error: `fabric.kind`: expected one of `torus`, `star`, got `tors`\n"
            "  hint: did you mean `torus`?");
  EXPECT_EQ(mistakes("fabric: sta\n"),
            "pod.yaml:1:9: error: `fabric`: expected one of `torus`, `star`, got `sta`\n  hint: did you mean `star`?");
  EXPECT_EQ(mistakes("fabric: {dimensions: 3}\n"),
            "pod.yaml:1:9: error: `fabric.kind`: missing, expected one of `torus`, `star`");
  EXPECT_EQ(mistakes("fabric: [torus]\n"),
            "pod.yaml:1:9: error: `fabric`: expected one of `torus`, `star`, got a list");
  EXPECT_EQ(error_of([] { topologies().make_named("stra", 1); }),
            "error: expected one of torus, star, got `stra`\n  hint: did you mean `star`?");
}

TEST(Registry, ParametersOfAKindAreReadStrictly) {
  EXPECT_EQ(mistakes("fabric: {kind: torus, dimensions: 9, dims: 1}\n"),
            "pod.yaml:1:35: error: `fabric.dimensions`: expected a whole number from 1 to 6, got `9`\n"
            "pod.yaml:1:38: error: `fabric.dims`: unknown key\n  hint: known keys: dimensions");
  EXPECT_EQ(mistakes("fabric: {kind: star, dimensions: 9}\n"),
            "pod.yaml:1:22: error: `fabric.dimensions`: unknown key\n  hint: `star` has no parameters");
  EXPECT_EQ(mistakes("fabric: torus\n"),
            "pod.yaml:1:9: error: `fabric.dimensions`: missing, expected a whole number such as `8`\n"
            "  hint: dimensions: number of dimensions");
  EXPECT_EQ(mistakes("fabric: {kind: star, kind: torus}\n"),
            "pod.yaml:1:22: error: `fabric.kind`: repeated key, first set at pod.yaml:1:10\n"
            "  hint: remove one of the two");
}

TEST(Registry, KindsAreListedInOrderWithMeaningAndParameters) {
  const auto r = topologies();
  ASSERT_EQ(r.kinds().size(), 2u);
  EXPECT_EQ(r.names(), (std::vector<std::string>{"torus", "star"}));
  EXPECT_EQ(r.kinds()[1].meaning, "one switch");
  EXPECT_THAT(r.kinds()[0].reference, testing::HasSubstr("| `dimensions` | whole number | required |"));
  EXPECT_EQ(r.kinds()[1].reference, "");
}

TEST(Registry, AddingAKindTwiceIsOurBug) {
  auto r = topologies();
  EXPECT_THROW(r.add<Star>("star", "again"), InternalError);
}

}  // namespace
}  // namespace warploom
