// SPDX-License-Identifier: Apache-2.0
// The schema is JSON, says what the declarations say, and its patterns accept what the reader accepts.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "sim/core/config.hpp"
#include "sim/core/registry.hpp"

namespace warploom {

enum class Side { left, right };
template <>
struct EnumNames<Side> {
  static constexpr std::pair<Side, std::string_view> values[] = {{Side::left, "left"}, {Side::right, "right"}};
};

namespace {

struct Inner {
  Time latency;
  int lanes = 1;
  static auto fields() {
    return field_list(field("latency", &Inner::latency, "a \"quoted\" meaning"),
                      field("lanes", &Inner::lanes, "lanes").optional().in(1, 64));
  }
};

struct Outer {
  std::vector<Inner> links;
  std::map<std::string, double> shares;
  Side side = Side::left;
  ConfigValue rest;
  static auto fields() {
    return field_list(field("links", &Outer::links, "links"),
                      field("shares", &Outer::shares, "shares").optional().positive(),
                      field("side", &Outer::side, "side"), field("rest", &Outer::rest, "rest").optional());
  }
};

struct Base {
  virtual ~Base() = default;
};
struct Plain : Base {};
struct Full : Base {
  using Spec = Inner;
  explicit Full(const Inner&) {}
};

TEST(Schema, SaysWhatTheDeclarationsSay) {
  const auto schema = nlohmann::json::parse(json_schema<Outer>("outer"));
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema["title"], "outer");
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["anyOf"][1]["required"], nlohmann::json({"links", "side"}));
  const auto& link = schema["properties"]["links"]["items"]["properties"];
  EXPECT_EQ(link["latency"]["description"], "a \"quoted\" meaning");
  EXPECT_EQ(link["lanes"]["anyOf"][0], nlohmann::json({{"type", "integer"}, {"minimum", 1}, {"maximum", 64}}));
  const auto& share = schema["properties"]["shares"]["anyOf"][0]["additionalProperties"];
  EXPECT_EQ(share, nlohmann::json({{"type", "number"}, {"exclusiveMinimum", 0}}));
  EXPECT_EQ(schema["properties"]["side"]["enum"], nlohmann::json({"left", "right"}));
}

template <class Q>
void expect_pattern_agrees() {
  const std::regex pattern(quantity_pattern<Q>());
  for (std::string text : {"1", "10", "0", "010", "1.5", "1.", ".5", "1e3", "-2", "+2", "1_0", ""}) {
    for (const char* unit : {"", " ns", "us", " GB", "GiB", " Gb/s", " GB/s", " TFLOP/s", " FLOP", "GHz", " W", " pJ",
                             " kWh", " cycles", " cycle", " Ns", "  s", " s "}) {
      EXPECT_EQ(std::regex_match(text + unit, pattern), looks_like_quantity<Q>(text + unit)) << text + unit;
    }
  }
}

TEST(Schema, QuantityPatternsAcceptWhatTheParserAccepts) {
  expect_pattern_agrees<Time>();
  expect_pattern_agrees<Bytes>();
  expect_pattern_agrees<Bandwidth>();
  expect_pattern_agrees<FlopRate>();
  expect_pattern_agrees<Flops>();
  expect_pattern_agrees<Frequency>();
  expect_pattern_agrees<Power>();
  expect_pattern_agrees<Energy>();
  expect_pattern_agrees<Cycles>();
}

TEST(Schema, ARegistryIsOneOfItsKinds) {
  Registry<Base> r;
  r.add<Full>("full", "with parameters");
  r.add<Plain>("plain", "without");
  const auto schema = nlohmann::json::parse(r.json_schema());
  ASSERT_EQ(schema["oneOf"].size(), 2u);
  EXPECT_EQ(schema["oneOf"][0]["properties"]["kind"]["const"], "full");
  EXPECT_TRUE(schema["oneOf"][0]["properties"].contains("latency"));
  EXPECT_EQ(schema["oneOf"][1]["properties"]["kind"]["description"], "without");
  EXPECT_EQ(schema["oneOf"][1]["additionalProperties"], false);
}

}  // namespace
}  // namespace warploom
