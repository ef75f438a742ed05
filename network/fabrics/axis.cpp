// SPDX-License-Identifier: Apache-2.0
// Member numbers are mixed-radix: an axis is some of the digits, or parts of them.
#include "network/fabrics/axis.hpp"

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

// Cuts the digits so that one of them begins at member `index`; false where none can.
bool cut_digits(std::vector<Stride>& digits, std::int64_t index) {
  std::int64_t before = 1;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (before == index) return true;
    const Stride digit = digits[i];
    if (index < before * digit.count) {
      const std::int64_t low = index / before;
      if (index % before != 0 || digit.count % low != 0) return false;
      digits[i].count = low;
      digits.insert(digits.begin() + static_cast<std::ptrdiff_t>(i) + 1, {digit.count / low, digit.stride * low});
      return true;
    }
    before *= digit.count;
  }
  return before == index;
}

}  // namespace

std::optional<Group> lines_along(const Axis& axis, const Group& group) {
  if (axis.count == 0) return group;
  if (axis.count < 1 || axis.stride < 1 || group.member_count() % (axis.stride * axis.count) != 0) return std::nullopt;
  std::vector<Stride> digits = group.members.digits;
  if (!cut_digits(digits, axis.stride) || !cut_digits(digits, axis.stride * axis.count)) return std::nullopt;
  Group lines;
  lines.members.base = group.members.base;
  lines.instances = group.instances;
  std::int64_t before = 1;
  for (const Stride& digit : digits) {
    if (before >= axis.stride && before < axis.stride * axis.count) {
      lines.members.digits.push_back(digit);
    } else if (digit.count > 1) {
      for (auto& box : lines.instances) box.digits.push_back(digit);
    }
    before *= digit.count;
  }
  return lines;
}

Group require_lines(const Axis& axis, const Group& group) {
  auto lines = lines_along(axis, group);
  WARPLOOM_CHECK(lines.has_value(), "no lines of {} members, {} apart, in a group of {}", axis.count, axis.stride,
                 group.member_count());
  return std::move(*lines);
}

}  // namespace warploom
