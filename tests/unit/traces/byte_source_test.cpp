// SPDX-License-Identifier: Apache-2.0
// Bytes of files, compressed or not: all of them, in order, and what is broken said where it is met.
#include "traces/byte_source.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/core/errors.hpp"
#include "tests/support/gzip.hpp"

namespace warploom {
namespace {

// Compresses badly, so that the compressed form is large too.
std::string noise(std::size_t size) {
  std::string text(size, ' ');
  std::uint32_t state = 1;
  for (char& c : text) {
    state = state * 1664525U + 1013904223U;
    c = static_cast<char>('!' + (state >> 24U) % 90);
  }
  return text;
}

std::string all_of(ByteSource& source, std::size_t step) {
  std::string text;
  std::vector<char> part(step);
  while (const std::size_t count = source.read(part)) text.append(part.data(), count);
  return text;
}

TEST(ByteSource, LargeGzipComesWholeAndInOrder) {
  const std::string text = noise(5'000'000);
  const std::string packed = gzip(text);
  ASSERT_GT(packed.size(), 1U << 20U);  // from there on a thread reads ahead
  for (const std::size_t step : {std::size_t{777}, std::size_t{1} << 20U}) {
    const auto source = bytes_of("large", packed);
    EXPECT_EQ(source->peek(), std::string_view(text).substr(0, source->peek().size()));
    EXPECT_TRUE(all_of(*source, step) == text);
    EXPECT_EQ(source->bytes_taken(), packed.size());
  }
}

TEST(ByteSource, ALengthOfWholeBlocksEndsAsWell) {
  const std::string text = noise(std::size_t{8} << 18U);
  const std::string packed = gzip(text);
  const auto source = bytes_of("blocks", packed);
  EXPECT_TRUE(all_of(*source, 1000) == text);
}

TEST(ByteSource, LeavingALargeGzipHalfReadEndsItsThread) {
  const std::string packed = gzip(noise(5'000'000));
  std::vector<char> part(10);
  for (int i = 0; i < 20; ++i) bytes_of("large", packed)->read(part);
}

TEST(ByteSource, WhatCameBeforeABrokenPlaceIsGivenFirst) {
  for (const std::size_t size : {std::size_t{200'000}, std::size_t{5'000'000}}) {
    const std::string text = noise(size);
    const std::string packed = gzip(text);
    const auto source = bytes_of("cut", std::string_view(packed).substr(0, packed.size() * 3 / 4));
    std::string got;
    std::vector<char> part(1000);
    const auto read_on = [&] {
      while (const std::size_t count = source->read(part)) got.append(part.data(), count);
    };
    EXPECT_THROW(read_on(), UserError);
    EXPECT_GT(got.size(), size / 2);
    EXPECT_TRUE(text.starts_with(got));
    EXPECT_THROW(read_on(), UserError);  // and again, not an end
  }
}

TEST(ByteSource, APeekThatMeetsABrokenPlaceLeavesNoZeros) {
  const std::string text = noise(60'000);
  const std::string packed = gzip(text);
  const auto source = bytes_of("cut", std::string_view(packed).substr(0, packed.size() / 2));
  EXPECT_THROW(source->peek(), UserError);
  std::vector<char> part(100);
  ASSERT_EQ(source->read(part), part.size());
  EXPECT_EQ(std::string(part.data(), part.size()), text.substr(0, part.size()));
}

}  // namespace
}  // namespace warploom
