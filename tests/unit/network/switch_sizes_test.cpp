// SPDX-License-Identifier: Apache-2.0
// Trees of switches that have so many ports: what is built of them, and what cannot be.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "network/inspection.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

const std::string nodes = "node: {gpus: 8, nvlink: {links: 18, rate: 25 GB/s}}\nnic: {count: 8, rate: 400 Gb/s}\n";

std::string failure(const std::string& text, std::int64_t devices = 64) {
  try {
    test::any_topology(text, devices)->graph();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

void expect(const std::string& text, const std::string& message) {
  const std::string got = failure(text);
  EXPECT_NE(got.find(message), std::string::npos) << got;
}

// Four units of eight leaves with 32 cables down and up each: 1,024 / 64 spines of 64 ports, none larger.
TEST(SwitchSizes, ARadixHoldsForTheTiersAboveIt) {
  const auto tree = test::any_topology(
      "kind: rail_fat_tree\n" + nodes + "tiers: [{name: leaf, of: 32, switch: {radix: 64}}, {name: spine, of: 4}]\n",
      1024);
  for (const VertexCount& one : inspect(*tree).vertices) {
    if (one.name != "leaf" && one.name != "spine") continue;
    EXPECT_EQ(one.radix, 64);
    EXPECT_LE(one.most_ports, 64);
    EXPECT_EQ(one.count, one.name == "leaf" ? 32 : 16);
  }
}

// Rails of 8 + 8 ports: the spine over 16 units would need 1,152 ports a switch.
TEST(SwitchSizes, MorePortsThanTheRadixIsAnErrorThatNamesTheTier) {
  expect("kind: rail_fat_tree\n" + nodes + "tiers: [{name: leaf, of: 8, switch: {radix: 16}}, {name: spine, of: 16}]\n",
         "a unit of tier `spine` needs 64 switches of 16 ports, but the 8 uplinks of each switch below reach 8");
  expect("kind: fat_tree\n" + nodes + "tiers: [{name: leaf, of: 8, switch: {radix: 64}}, {name: spine, of: 2}]\n",
         "a switch of tier `leaf` has 64 ports, but 64 cables down and 64 up");
}

TEST(SwitchSizes, UplinksOfAGivenRateMustBeWhole) {
  expect("kind: fat_tree\n" + nodes +
             "tiers: [{name: leaf, of: 1, oversubscription: 3, cable: {rate: 400 Gb/s}}, {name: spine, of: 2}]\n",
         "a switch of tier `leaf` comes to 2.667 uplinks of 50 GB/s");
  EXPECT_EQ(
      failure("kind: fat_tree\n" + nodes +
                  "tiers: [{name: leaf, of: 1, oversubscription: 2, cable: {rate: 800 Gb/s}}, {name: spine, of: 2}]\n",
              16),
      "no error");
}

TEST(SwitchSizes, TiersHaveNamesOfTheirOwn) {
  const std::string tree = "kind: fat_tree\n" + nodes;
  expect(tree + "tiers: [{name: leaf, of: 8}, {name: leaf, of: 2}]\n", "`tiers[1].name`: two tiers are called `leaf`");
  expect(tree + "tiers: [{name: nic, of: 8}]\n", "`tiers[0].name`: `nic` is what other parts of a network are called");
  expect(tree + "tiers: [{name: \"\", of: 8}]\n", "`tiers[0].name`: expected a name");
}

}  // namespace
}  // namespace warploom
