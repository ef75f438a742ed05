// SPDX-License-Identifier: Apache-2.0
// A detailed result as a line of words: every number as the 16 hexadecimal digits of its bits, so that it comes back as
// it was.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include "hw_models/detailed_cache.hpp"

namespace warploom {

namespace {

constexpr std::size_t most_programs = 64;
constexpr std::size_t most_name = 512;

class Writer {
 public:
  void word(std::uint64_t value) { text_ += fmt::format("{:x} ", value); }
  void number(double value) { word(std::bit_cast<std::uint64_t>(value)); }
  void integer(std::int64_t value) { word(static_cast<std::uint64_t>(value)); }
  void name(std::string_view text) {
    text_ += '"';
    for (const char c : text.substr(0, most_name)) text_ += fmt::format("{:02x}", static_cast<unsigned char>(c));
    text_ += ' ';
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::uint64_t word() {
    const std::string_view one = next();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), value, 16);
    if (one.empty() || error != std::errc() || end != one.data() + one.size()) is_good_ = false;
    return value;
  }
  // Finite and not negative, as all numbers of a result are.
  double number() {
    const double value = std::bit_cast<double>(word());
    if (!std::isfinite(value) || value < 0) is_good_ = false;
    return is_good_ ? value : 0;
  }
  std::int64_t integer(std::int64_t most) {
    const std::uint64_t value = word();
    if (value > static_cast<std::uint64_t>(most)) is_good_ = false;
    return is_good_ ? static_cast<std::int64_t>(value) : 0;
  }
  std::string name() {
    std::string_view one = next();
    if (one.empty() || one.front() != '"' || one.size() % 2 == 0 || one.size() > 2 * most_name + 1) {
      is_good_ = false;
      return {};
    }
    std::string text;
    for (one.remove_prefix(1); !one.empty(); one.remove_prefix(2)) {
      unsigned value = 0;
      const auto [end, error] = std::from_chars(one.begin(), one.begin() + 2, value, 16);
      if (error != std::errc() || end != one.begin() + 2) is_good_ = false;
      text += static_cast<char>(value);
    }
    return text;
  }
  bool is_good() const { return is_good_; }
  bool is_at_end() const { return rest_.empty(); }

 private:
  std::string_view next() {
    const std::size_t end = rest_.find(' ');
    if (end == std::string_view::npos) {
      is_good_ = false;
      return {};
    }
    const std::string_view one = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return one;
  }

  std::string_view rest_;
  bool is_good_ = true;
};

constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();

constexpr std::array counted = {
    &SmCounts::issued,      &SmCounts::tensor,       &SmCounts::fma,          &SmCounts::alu,   &SmCounts::sfu,
    &SmCounts::shared,      &SmCounts::vector_flops, &SmCounts::tensor_flops, &SmCounts::to_sm, &SmCounts::from_l2,
    &SmCounts::from_memory, &SmCounts::written,      &SmCounts::to_memory};
static_assert(sizeof(SmCounts) == sizeof(double) * (stall_count + counted.size()), "a count is not kept");

// Rounding of sums and differences may leave a count a little under zero.
double kept(double value) { return std::isfinite(value) && value > 0 ? value : 0; }

void write(Writer& out, const DetailedResult& result) {
  out.name(result.program);
  for (const double cycles : result.sm.stalls) out.number(kept(cycles));
  for (const auto member : counted) out.number(kept(result.sm.*member));
  for (const double value : {result.clock.value(), result.cycles, result.sm_cycles, result.occupancy, result.waves,
                             result.scale, result.extrapolated, result.prologue}) {
    out.number(kept(value));
  }
  for (const std::int64_t value :
       {std::int64_t{result.warps_an_sm}, std::int64_t{result.blocks_an_sm}, result.blocks, result.activations}) {
    out.integer(value);
  }
}

DetailedResult read_result(Reader& in) {
  DetailedResult result;
  result.program = in.name();
  for (double& cycles : result.sm.stalls) cycles = in.number();
  for (const auto member : counted) result.sm.*member = in.number();
  result.clock = Frequency(in.number());
  for (double* value : {&result.cycles, &result.sm_cycles, &result.occupancy, &result.waves, &result.scale,
                        &result.extrapolated, &result.prologue}) {
    *value = in.number();
  }
  result.warps_an_sm = static_cast<int>(in.integer(1 << 20));
  result.blocks_an_sm = static_cast<int>(in.integer(1 << 20));
  result.blocks = in.integer(any);
  result.activations = in.integer(any);
  return result;
}

}  // namespace

std::string encoded(const DetailedKernel& result) {
  Writer out;
  out.integer(result.cost.duration.ps());
  for (const double value : {result.cost.sm_share, result.cost.flops.value(), result.cost.power.value(),
                             result.clock.value(), result.energy.value()}) {
    out.number(kept(value));
  }
  out.integer(result.cost.hbm_bytes.count());
  out.integer(result.cost.l2_bytes.count());
  out.integer(static_cast<std::int64_t>(result.cost.bound_by));
  out.integer(result.gap.ps());
  out.integer(result.is_power_limited ? 1 : 0);
  out.integer(static_cast<std::int64_t>(result.programs.size()));
  for (const DetailedResult& program : result.programs) write(out, program);
  return out.take();
}

std::optional<DetailedKernel> decoded(std::string_view text) {
  Reader in(text);
  DetailedKernel result;
  result.cost.duration = Time::picoseconds(in.integer(any));
  result.cost.sm_share = in.number();
  result.cost.flops = Flops(in.number());
  result.cost.power = Power(in.number());
  result.clock = Frequency(in.number());
  result.energy = Energy(in.number());
  result.cost.hbm_bytes = Bytes(in.integer(any));
  result.cost.l2_bytes = Bytes(in.integer(any));
  result.cost.bound_by = static_cast<Bound>(in.integer(static_cast<std::int64_t>(Bound::power)));
  result.gap = Time::picoseconds(in.integer(any));
  result.is_power_limited = in.integer(1) != 0;
  const std::int64_t programs = in.integer(most_programs);
  for (std::int64_t i = 0; in.is_good() && i < programs; ++i) result.programs.push_back(read_result(in));
  const bool is_result = in.is_good() && in.is_at_end() && programs > 0 && result.cost.duration > Time::zero();
  return is_result ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace warploom
