// SPDX-License-Identifier: Apache-2.0
// Parts of options that say what is called: sizes, ranks, whole calls beside another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/work/call.hpp"
#include "sim/work/group.hpp"

namespace warploom {

struct Members {
  Group group;
  std::int64_t devices = 0;  // of the cluster that there must be
};

struct CallBeside {
  std::string text;  // as it was written
  Call call;
  Members members;
};

// All throw UserError that begins with the option's name.

Bytes bytes_of(const std::string& option, const std::string& text);

// "0-7,16,24": ranks in the order of the group's members, two at least, as equal steps.
Members members_of(const std::string& option, const std::string& text);

// Each "OPERATION SIZE RANKS", such as "all_to_all 64MiB 8-15".
std::vector<CallBeside> calls_beside(const std::vector<std::string>& texts);

}  // namespace warploom
