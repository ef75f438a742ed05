// SPDX-License-Identifier: Apache-2.0
// Times written as decimal text, to whole nanoseconds without a floating-point number in between: an epoch in
// microseconds (1.7e15) has a double's last place at 0.25 us.
#pragma once

#include <cstdint>
#include <string_view>

namespace warploom {

struct DecimalTime {
  enum class Status : std::uint8_t { ok, malformed, overflow };  // overflow: `ns` is the nearest that int64 holds
  std::int64_t ns = 0;
  bool is_finer_than_unit = false;  // a digit other than 0 stands below the unit
  Status status = Status::malformed;

  bool is_ok() const { return status == Status::ok; }
};

// What one of the text's unit is in nanoseconds, as a power of ten.
enum class DecimalUnit : int { ns = 0, us = 3, ms = 6, s = 9 };

// "4458677009853.422", "-1", "1.5e3"; digits below a nanosecond are rounded, halves away from zero. No spaces.
DecimalTime parse_time(std::string_view text, DecimalUnit unit = DecimalUnit::us);

}  // namespace warploom
