// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of a message.
#include "network/collectives/send_recv.hpp"

#include <fmt/format.h>

#include "sim/core/errors.hpp"

namespace warploom {

bool SendRecv::is_possible(const Setting& setting, Protocol protocol) const {
  if (setting.ranks() != 2) {
    throw UserError(fmt::format("a send needs a group of 2 members, this one has {}", setting.ranks()));
  }
  return DirectCollective::is_possible(setting, protocol);
}

Messages SendRecv::messages(const Setting& setting) const { return {FlowPattern::pair, setting.call.bytes, 1}; }

Schedule SendRecv::schedule(int /*ranks*/) const { return {2, 1, {{0, 0, 1, 0, false}}}; }

}  // namespace warploom
