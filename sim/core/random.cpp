// SPDX-License-Identifier: Apache-2.0
// xoshiro256**, splitmix64 and distributions without the platform's libm (sqrt is exact by IEEE 754; log is ours).
#include "sim/core/random.hpp"

#include <bit>
#include <cmath>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

// Natural logarithm of a positive normal number: m in [sqrt(1/2), sqrt(2)), log m = 2 atanh((m - 1) / (m + 1)).
double natural_log(double x) {
  constexpr double ln2 = 0.693147180559945309417;
  auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & ((1ULL << 52) - 1)) | (1023ULL << 52);
  double m = std::bit_cast<double>(bits);
  if (m > 1.41421356237309504880) {
    m /= 2;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double sum = 0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * square + 1.0 / k;  // |s| <= 0.172: the rest is below 1e-18
  return exponent * ln2 + 2 * s * sum;
}

double polynomial(const double* coefficients, int count, double x) {
  double sum = 0;
  for (int i = count - 1; i >= 0; --i) sum = sum * x + coefficients[i];
  return sum;
}

}  // namespace

std::uint64_t splitmix64(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return splitmix64(hash);
}

Random::Random(std::uint64_t seed) : seed_(seed) {
  std::uint64_t state = seed;
  for (std::uint64_t& word : state_) word = splitmix64(state);
}

Random Random::split(std::uint64_t key) const {
  std::uint64_t state = seed_;
  std::uint64_t mixed = splitmix64(state) ^ key;
  return Random(splitmix64(mixed));
}

std::uint64_t Random::bits() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

// Lemire (arXiv:1805.10941): the high half of a 128-bit product, rejecting the few low halves that would be biased.
std::uint64_t Random::below(std::uint64_t n) {
  WARPLOOM_CHECK(n > 0);
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t threshold = (0 - n) % n;
  while (true) {
    const Wide product = static_cast<Wide>(bits()) * n;
    if (static_cast<std::uint64_t>(product) >= threshold) return static_cast<std::uint64_t>(product >> 64);
  }
}

double Random::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

double Random::exponential(double mean) { return -mean * natural_log(1 - uniform()); }

double Random::normal(double mean, double deviation) {
  // (0, 1): never the ends.
  const double p = (static_cast<double>(bits() >> 12) + 0.5) * 0x1p-52;
  return mean + deviation * normal_quantile(p);
}

double normal_quantile(double p) {
  WARPLOOM_CHECK(p > 0 && p < 1, "p = {}", p);
  static constexpr double a[] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                                 1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                                 3.3430575583588128105e4, 2.5090809287301226727e3};
  static constexpr double b[] = {1.0,
                                 4.2313330701600911252e1,
                                 6.8718700749205790830e2,
                                 5.3941960214247511077e3,
                                 2.1213794301586595867e4,
                                 3.9307895800092710610e4,
                                 2.8729085735721942674e4,
                                 5.2264952788528545610e3};
  static constexpr double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                 3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                 2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr double d[] = {1.0,
                                 2.05319162663775882187e0,
                                 1.67638483018380384940e0,
                                 6.89767334985100004550e-1,
                                 1.48103976427480074590e-1,
                                 1.51986665636164571966e-2,
                                 5.47593808499534494600e-4,
                                 1.05075007164441684324e-9};
  static constexpr double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                 2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                 2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr double f[] = {1.0,
                                 5.99832206555887937690e-1,
                                 1.36929880922735805310e-1,
                                 1.48753612908506148525e-2,
                                 7.86869131145613259100e-4,
                                 1.84631831751005468180e-5,
                                 1.42151175831644588870e-7,
                                 2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(a, 8, r) / polynomial(b, 8, r);
  }
  double r = std::sqrt(-natural_log(q < 0 ? p : 1 - p));
  double value = 0;
  if (r <= 5) {
    r -= 1.6;
    value = polynomial(c, 8, r) / polynomial(d, 8, r);
  } else {
    r -= 5;
    value = polynomial(e, 8, r) / polynomial(f, 8, r);
  }
  return q < 0 ? -value : value;
}

}  // namespace warploom
