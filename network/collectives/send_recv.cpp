// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of a message.
#include "network/collectives/send_recv.hpp"

#include <fmt/format.h>

#include "network/collectives/peer.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

bool SendRecv::is_possible(const Setting& setting, Protocol protocol) const {
  if (setting.ranks() != 2) {
    throw UserError(fmt::format("a send needs a group of 2 members, this one has {}", setting.ranks()));
  }
  return protocol != Protocol::ll128;
}

bool SendRecv::is_offered(const Setting& setting, Protocol protocol) const {
  return protocol == peer_protocol(setting, setting.call.bytes);
}

Plan SendRecv::plan(const Setting& setting, Protocol protocol) const {
  return peer_plan(setting, protocol, {FlowPattern::pair, setting.call.bytes, 1});
}

Schedule SendRecv::schedule(int /*ranks*/) const { return {2, 1, {{0, 0, 1, 0, false}}}; }

}  // namespace warploom
