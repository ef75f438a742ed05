// SPDX-License-Identifier: Apache-2.0
// Messages between peers: sends, receives and all-to-all.
//
// Equations, protocol p, messages of m bytes, f of them at once from a device:
//   time = base + network_hop (if they leave the node) + paths + f m / rate + fill x min(m, chunk) x f / rate,
//   rate = efficiency x port inside a node; else the least of that and of network_efficiency x card for the messages
//          that leave the node.
// A single message under Simple goes as a ring's step does: LL's base, Simple's efficiency, no fill (measured sends of
// A100 and H100 pairs, vidur 7d475133, to which nothing is fitted: 227 and 345 GB/s, all-to-alls of several reach
// less). LL up to ll_bytes a message, Simple beyond; nothing else is chosen by time. Source: NCCL 2.30.7 src/enqueue.cc
// (addP2pToPlan: LL up to 16 KiB a channel), src/init.cc; base, efficiency and fill are fitted (configs/libraries).
#pragma once

#include "network/collectives/collective.hpp"

namespace warploom {

struct Messages {
  FlowPattern pattern = FlowPattern::pair;
  Bytes bytes{0};          // of one
  std::int64_t count = 1;  // of a device
};

Protocol peer_protocol(const Setting& setting, Bytes message);
Plan peer_plan(const Setting& setting, Protocol protocol, const Messages& messages);

}  // namespace warploom
