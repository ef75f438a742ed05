// SPDX-License-Identifier: Apache-2.0
// Lines of members as groups of their own: the rings of a two-level collective are those of its lines.
#pragma once

#include <optional>

#include "sim/play/ports.hpp"

namespace warploom {

// The group whose instances are the lines of `group` along the axis, in all its instances; the group itself for the
// axis of all members. Empty where members are not numbered so (a line of 5 through a digit of 12).
std::optional<Group> lines_along(const Axis& axis, const Group& group);

// The same; an error of ours where there are none.
Group require_lines(const Axis& axis, const Group& group);

}  // namespace warploom
