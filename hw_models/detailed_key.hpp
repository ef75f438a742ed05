// SPDX-License-Identifier: Apache-2.0
// What a detailed result is kept under: a hash of all that decides it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace warploom {

struct DetailedKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const DetailedKey&, const DetailedKey&) = default;
};

struct DetailedKeyHash {
  std::size_t operator()(const DetailedKey& key) const noexcept { return key.high ^ key.low; }
};

}  // namespace warploom
