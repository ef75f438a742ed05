// SPDX-License-Identifier: Apache-2.0
// What a network is made of and what it can do, counted and measured on the written-out network.
//
// Equations: an optical cable has two transceivers; power and price are those of switches and cables as far as their
// files give them. Ports used: of one switch, cables of all its links (of a switch of several chips, of all of them
// together). Latencies: of the shortest way from device 0 to the first, last and farthest of the devices that it meets
// at as many links, as far as links have one. All is of the devices that the job uses (of all where it uses all): for
// fewer, what their ways lead over, or would if it were not down, and the inside of their nodes (graph/part.hpp), and
// injection, bisection and diameter among them alone, measured. Bisection lies between whole nodes and is compared with
// what its smaller half can send: of 3 nodes 1, injection x 1 / 3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "network/graph/part.hpp"
#include "network/topology.hpp"

namespace warploom {

struct VertexCount {
  std::string name;
  VertexKind kind = VertexKind::network_switch;
  std::int64_t count = 0;
  std::int64_t first = 0;  // their least and their greatest number: `leaf 0` to `leaf 511`
  std::int64_t last = 0;
  std::int64_t down = 0;   // that no link reaches any more
  std::int64_t chips = 0;  // in all of them
  std::int64_t least_ports = 0;
  std::int64_t most_ports = 0;
  std::int64_t radix = 0;  // 0: unknown
  Power power{0};          // of all; 0: unknown
  double price = 0;
};

struct CableCount {
  std::string name;
  LinkMedium medium = LinkMedium::optic;
  LinkProtocol protocol = LinkProtocol::infiniband;
  std::int64_t count = 0;
  std::int64_t down = 0;  // that carry nothing
  std::int64_t degraded = 0;
  double least_share = 1.0;  // of its rate that any of the degraded has left
  std::int64_t busy = 0;     // of which others take a share
  double background = 0;     // the largest such share
  std::int64_t optics = 0;   // transceivers
  Bandwidth rate{0};         // of one, one way, as the data sheet says it
  double efficiency = 1.0;
  Time latency;
  Power power{0};
  double price = 0;
};

// Devices that device 0 reaches over so many links.
struct Reach {
  int links = 0;
  std::int64_t devices = 0;
  Time least;
  Time most;
};

struct Inspection {
  std::string kind;
  std::int64_t devices = 0;
  std::int64_t cluster_size = 0;
  std::int64_t node_size = 1;
  std::vector<VertexCount> vertices;
  std::vector<CableCount> cables;
  Bandwidth port{0};           // payload
  Bandwidth card{0};           // of a device, out of its node
  bool leaves_by_card = true;  // else over what joins devices in a node too: links of a torus, a scale-up network
  Bandwidth injection{0};
  Bandwidth bisection{0};
  Bandwidth half_injection{0};  // of the smaller of the bisection's halves
  int diameter = 0;
  std::vector<Reach> reach;
  std::vector<std::string> notes;  // what a reader should know of these numbers

  double bisection_share() const { return half_injection.value() > 0 ? bisection.value() / half_injection.value() : 0; }
  bool is_part() const { return devices < cluster_size; }
  std::int64_t switches() const;  // chips in all
  std::int64_t switches_down() const;
  std::int64_t optics() const;
  Power power() const;
  double price() const;
};

// With the network as it is written out and what of it the job uses, for its picture.
struct InspectedNetwork {
  Inspection counts;
  NetworkGraph graph;
  GraphPart part;
  std::vector<double> background;  // by edge: the share that others take; empty: none
};

InspectedNetwork inspect_network(const Topology& topology);
inline Inspection inspect(const Topology& topology) { return inspect_network(topology).counts; }

std::string_view name(VertexKind kind);
std::string_view name(LinkMedium medium);
std::string_view name(LinkProtocol protocol);

}  // namespace warploom
