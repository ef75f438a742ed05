// SPDX-License-Identifier: Apache-2.0
// Messages between peers: sends, receives and all-to-all.
//
// Equations, protocol p, messages of m bytes, f of them at once from a device, o = 1 where it also copies its own part
// (all-to-all), else 0:
//   time = base + network_hop (if they leave the node) + paths + handshake + proxy x the sends and receives that leave
//   it
//          + (m + fill x part x min(1, 8 / (f + o))) / rate;
//   rate = of one message: the least of efficiency x port / f and channels x channel_rate / (f + o) inside a node; else
//          the least of that and of network_efficiency x card / the messages that leave the node;
//   part = the least of chunk and m / c, c the channels of a message: all (two where some leave the node), halved while
//          a channel would have more than four messages at once; a channel works on eight together, so that only of
//          those the first part is exposed. Calls that leave the node: chunk 128 KiB, / 4 of m < 128 KiB, / 2 of less
//          than eight of them.
// Over the network no more than eight slots of a message's chunk are under way in each of its channels (windowed_rate):
// over links of 100 km that binds.
// That rate sets how long the first parts take, and what a flow may reach where a device sends all its messages itself
// (all-to-all, scatter). A gather's flows are limited by what one sender's channels push, min(port, channels of the
// message x channel_rate), between nodes min(port, card); what the root's links leave each of them is the fabric's
// matter: fair shares, or queues, marks and pauses. A single message under Simple goes as a ring's step does: LL's
// base, Simple's efficiency, no fill (measured sends of A100 and H100 pairs, vidur 7d475133, to which nothing is
// fitted: 227 and 345 GB/s, all-to-alls of several reach less). LL up to ll_bytes a message, Simple beyond and wherever
// messages leave the node: connections between nodes have no LL buffers (NCCL_ALLOC_P2P_NET_LL_BUFFERS is 0:
// src/transport/net.cc); nothing is chosen by time. Source: NCCL 2.30.7 src/enqueue.cc (addP2pToPlan: LL up to 16 KiB a
// channel, channels of a message), src/init.cc, src/graph/paths.cc (two channels a peer over the network); base,
// efficiency, channel_rate and fill are fitted (configs/libraries). That channels bind where links are fast is seen on
// B200: 4 and 8 devices send 467 and 553 GB/s each, with their own part 623 and 632.
#pragma once

#include "network/collectives/collective.hpp"

namespace warploom {

struct Messages {
  FlowPattern pattern = FlowPattern::pair;
  Bytes bytes{0};                 // of one
  std::int64_t count = 1;         // of a device, the most that it sends or receives
  bool copies_own = false;        // a part stays where it is
  bool meet_at_receiver = false;  // each sender has one of them, and all come to one device
};

Protocol peer_protocol(const Setting& setting, Bytes message);
Plan peer_plan(const Setting& setting, Protocol protocol, const Messages& messages);

// A call that is grouped sends and receives: LL or Simple, offered as the size of its messages says.
class DirectCollective : public Collective {
 public:
  Algorithm algorithm() const final { return Algorithm::direct; }
  bool is_possible(const Setting& setting, Protocol protocol) const override;
  bool is_offered(const Setting& setting, Protocol protocol) const final;
  Plan plan(const Setting& setting, Protocol protocol) const final;

 private:
  virtual Messages messages(const Setting& setting) const = 0;
};

}  // namespace warploom
