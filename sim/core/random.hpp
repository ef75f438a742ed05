// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every platform: xoshiro256** (Blackman and Vigna, arXiv:1805.01407) seeded by
// splitmix64, and own distributions from + - * / and sqrt only (the standard library's differ between vendors).
#pragma once

#include <cstdint>
#include <string_view>

namespace warploom {

// One step of splitmix64: advances the state, returns 64 well-mixed bits.
std::uint64_t splitmix64(std::uint64_t& state);

// A 64-bit hash of a text (FNV-1a, mixed).
std::uint64_t hash_text(std::string_view text);

class Random {
 public:
  explicit Random(std::uint64_t seed);

  // An independent stream for a part of the model. It depends on this stream's seed and the key, not on how many
  // numbers were drawn, so that a new part does not change the others.
  Random split(std::uint64_t key) const;
  Random split(std::string_view key) const { return split(hash_text(key)); }

  std::uint64_t seed() const { return seed_; }
  std::uint64_t bits();                  // 64 uniform bits
  std::uint64_t below(std::uint64_t n);  // 0 to n - 1, unbiased; n > 0
  double uniform();                      // [0, 1), 53 bits
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  double exponential(double mean = 1);
  double normal(double mean = 0, double deviation = 1);

 private:
  std::uint64_t seed_;
  std::uint64_t state_[4];
};

// The inverse of the standard normal's distribution function, |error| < 1e-15 relative (Wichura, AS 241); p in (0, 1).
// A sampled maximum of n draws is normal_quantile(pow(u, 1 / n)).
double normal_quantile(double p);

}  // namespace warploom
