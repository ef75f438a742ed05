// SPDX-License-Identifier: Apache-2.0
// A collective library as parameters: what a step costs under each of its protocols, what it takes of a device.
#pragma once

#include <string>

#include "sim/core/config.hpp"
#include "sim/core/units.hpp"

namespace warploom {

// How a library moves data over a link. NCCL: LL sends a flag with every 4 bytes, LL128 one with every 120, Simple
// apart.
struct ProtocolSpec {
  Time base;                        // of a call, launch included
  Time hop;                         // a step inside a node
  Time network_hop;                 // a step between nodes under one switch: cards, cable and that switch included
  double wire_bytes = 1.0;          // for each byte of payload
  double efficiency = 1.0;          // payload over what the node port can carry
  double network_efficiency = 1.0;  // payload over what the card can carry
  Time ramp;                        // a large call's extra time, reached by half at `ramp_bytes`
  Bytes ramp_bytes{200'000'000};
  int bytes_per_thread = 64;  // below this share of the call a thread is not worth waking

  static auto fields() {
    return field_list(
        field("base", &ProtocolSpec::base, "fixed time of a call"),
        field("hop", &ProtocolSpec::hop, "time of a step inside a node"),
        field("network_hop", &ProtocolSpec::network_hop, "time of a step between nodes under one switch"),
        field("wire_bytes", &ProtocolSpec::wire_bytes, "bytes on the wire for a byte of payload").optional().in(1, 16),
        field("efficiency", &ProtocolSpec::efficiency, "payload rate over what the node port can carry")
            .optional()
            .in(0.001, 1),
        field("network_efficiency", &ProtocolSpec::network_efficiency, "payload rate over what the card can carry")
            .optional()
            .in(0.001, 1),
        field("ramp", &ProtocolSpec::ramp, "extra time of a large call until its channels are full").optional(),
        field("ramp_bytes", &ProtocolSpec::ramp_bytes, "size of the call at which half of the ramp is reached")
            .optional()
            .positive(),
        field("bytes_per_thread", &ProtocolSpec::bytes_per_thread, "least bytes for which a thread takes part")
            .optional()
            .in(1, 1 << 20));
  }
};

struct LibrarySpec {
  std::string name;
  std::string source;
  ProtocolSpec ll;
  ProtocolSpec ll128;
  ProtocolSpec simple;
  int node_channels = 24;
  int network_channels = 16;
  int peer_channels = 8;
  int threads = 512;
  double copy_hbm_bytes = 2;
  double reduce_hbm_bytes = 3;

  static auto fields() {
    return field_list(
        field("name", &LibrarySpec::name, "name and version"),
        field("source", &LibrarySpec::source, "where its numbers come from").optional(),
        field("ll", &LibrarySpec::ll, "low-latency protocol, 8-byte units"),
        field("ll128", &LibrarySpec::ll128, "low-latency protocol, 128-byte units"),
        field("simple", &LibrarySpec::simple, "bulk protocol"),
        field("node_channels", &LibrarySpec::node_channels, "rings in parallel inside a node, one SM each")
            .optional()
            .in(1, 1024),
        field("network_channels", &LibrarySpec::network_channels, "rings in parallel across nodes, one SM each")
            .optional()
            .in(1, 1024),
        field("peer_channels", &LibrarySpec::peer_channels, "SMs of a send, a receive or an all-to-all")
            .optional()
            .in(1, 1024),
        field("threads", &LibrarySpec::threads, "threads of a channel").optional().in(32, 1024),
        field("copy_hbm_bytes", &LibrarySpec::copy_hbm_bytes, "HBM bytes of a device for a byte passed on")
            .optional()
            .in(0, 100),
        field("reduce_hbm_bytes", &LibrarySpec::reduce_hbm_bytes,
              "HBM bytes of a device for a byte reduced and passed on")
            .optional()
            .in(0, 100));
  }
};

}  // namespace warploom
