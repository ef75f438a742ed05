// SPDX-License-Identifier: Apache-2.0
// Parameters of the packet fabric: what a packet is on each kind of link, and how senders are held back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "network/graph/routing_policy.hpp"
#include "sim/core/config.hpp"

namespace warploom {

enum class CongestionControl : std::uint8_t { none, dcqcn, hpcc, swift };
template <>
struct EnumNames<CongestionControl> {
  static constexpr std::pair<CongestionControl, std::string_view> values[] = {{CongestionControl::none, "none"},
                                                                              {CongestionControl::dcqcn, "dcqcn"},
                                                                              {CongestionControl::hpcc, "hpcc"},
                                                                              {CongestionControl::swift, "swift"}};
};

enum class LossRecovery : std::uint8_t { go_back_n, selective_repeat };
template <>
struct EnumNames<LossRecovery> {
  static constexpr std::pair<LossRecovery, std::string_view> values[] = {
      {LossRecovery::go_back_n, "go_back_n"}, {LossRecovery::selective_repeat, "selective_repeat"}};
};

enum class PacketPaths : std::uint8_t { ecmp, spray, adaptive };
template <>
struct EnumNames<PacketPaths> {
  static constexpr std::pair<PacketPaths, std::string_view> values[] = {
      {PacketPaths::ecmp, "ecmp"}, {PacketPaths::spray, "spray"}, {PacketPaths::adaptive, "adaptive"}};
};

enum class LaneChoice : std::uint8_t { by_flow, by_hop };
template <>
struct EnumNames<LaneChoice> {
  static constexpr std::pair<LaneChoice, std::string_view> values[] = {{LaneChoice::by_flow, "by_flow"},
                                                                       {LaneChoice::by_hop, "by_hop"}};
};

// Explicit congestion notification: the chance of a mark rises from 0 at `kmin` to `pmax` at `kmax`, above it is 1.
// Defaults: the parameter set for DCQCN of HPCC's simulator (alibaba-edu/High-Precision-Congestion-Control 9f4be2a9,
// simulation/run.py), which scales with the link's rate.
struct EcnSpec {
  bool enabled = true;
  Bytes kmin{100'000};
  Bytes kmax{400'000};
  double pmax = 0.2;
  Bandwidth at_rate{25e9 / 8};
  static auto fields() {
    return field_list(
        field("enabled", &EcnSpec::enabled, "switches mark packets").optional(),
        field("kmin", &EcnSpec::kmin, "queue from which packets are marked").optional(),
        field("kmax", &EcnSpec::kmax, "queue from which every packet is marked").optional(),
        field("pmax", &EcnSpec::pmax, "chance of a mark just below `kmax`").optional().in(0, 1),
        field("at_rate", &EcnSpec::at_rate,
              "rate of the link that `kmin` and `kmax` are for; they scale with the rate of others; 0: they do not")
            .optional());
  }
  static void check(const EcnSpec& ecn, const ConfigValue& at, Diagnostics& diagnostics);
};

// Priority flow control, IEEE 802.1Qbb, on a shared buffer with dynamic thresholds (Choudhury and Hahne, ToN 1998).
struct PauseSpec {
  bool enabled = true;
  double alpha = 0.125;  // HPCC's simulator, switch-mmu.cc: threshold = free >> 3
  Bytes headroom{0};
  Bytes resume_offset{3000};  // same source
  static auto fields() {
    return field_list(
        field("enabled", &PauseSpec::enabled, "switches pause who sends to them; false: they drop what is too much")
            .optional(),
        field("alpha", &PauseSpec::alpha, "a port may hold this many times what is free of the shared buffer")
            .optional()
            .in(1e-6, 1024),
        field("headroom", &PauseSpec::headroom,
              "kept for each port and lane for what arrives after a pause; 0: what its link holds in a round trip, and "
              "two packets")
            .optional(),
        field("resume_offset", &PauseSpec::resume_offset, "a port resumes this far below its threshold").optional());
  }
};

// Published parameters of DCQCN: Zhu et al., "Congestion control for large-scale RDMA deployments", SIGCOMM 2015,
// section 5 and figure 14; names as there.
struct DcqcnSpec {
  double g = 1.0 / 256;
  Time alpha_timer = Time::picoseconds(55'000'000);
  Time rate_timer = Time::picoseconds(55'000'000);
  Bytes byte_counter{10'000'000};
  int fast_recovery = 5;
  Bandwidth additive_increase{40e6 / 8};
  Bandwidth hyper_increase{400e6 / 8};
  Time cnp_interval = Time::picoseconds(50'000'000);
  Bandwidth least_rate{40e6 / 8};
  Bandwidth at_rate{40e9 / 8};  // of the paper's cards
  static auto fields() {
    return field_list(
        field("g", &DcqcnSpec::g, "weight of news in the estimate of congestion").optional().in(1e-6, 1),
        field("alpha_timer", &DcqcnSpec::alpha_timer, "the estimate decays after this time without a notification")
            .optional()
            .positive(),
        field("rate_timer", &DcqcnSpec::rate_timer, "time between two increases").optional().positive(),
        field("byte_counter", &DcqcnSpec::byte_counter, "bytes between two increases").optional().positive(),
        field("fast_recovery", &DcqcnSpec::fast_recovery, "increases before the target rises").optional().in(1, 1000),
        field("additive_increase", &DcqcnSpec::additive_increase, "rise of the target rate").optional().positive(),
        field("hyper_increase", &DcqcnSpec::hyper_increase, "rise when timer and counter have both run out often")
            .optional()
            .positive(),
        field("cnp_interval", &DcqcnSpec::cnp_interval, "least time between two notifications of a flow").optional(),
        field("least_rate", &DcqcnSpec::least_rate, "no flow is slowed below this").optional().positive(),
        field(
            "at_rate", &DcqcnSpec::at_rate,
            "rate of the sender's link that the two increases are for; they scale with the rate of others; 0: they do "
            "not")
            .optional());
  }
};

// Li et al., "HPCC: high precision congestion control", SIGCOMM 2019, section 5.1.
struct HpccSpec {
  double target_utilisation = 0.95;  // eta
  int max_stage = 5;
  Bytes additive_increase{80};  // W_AI
  static auto fields() {
    return field_list(
        field("target_utilisation", &HpccSpec::target_utilisation, "share of a link that flows aim at")
            .optional()
            .in(0.1, 1),
        field("max_stage", &HpccSpec::max_stage, "additive increases before a multiplicative one")
            .optional()
            .in(0, 100),
        field("additive_increase", &HpccSpec::additive_increase, "rise of the window a round trip").optional());
  }
};

// Kumar et al., "Swift: delay is simple and effective for congestion control in the datacenter", SIGCOMM 2020,
// algorithm 1 and section 3.
struct SwiftSpec {
  Time base_target = Time::picoseconds(25'000'000);
  Time hop_target = Time::picoseconds(1'000'000);
  double additive_increase = 1.0;
  double beta = 0.8;
  double max_decrease = 0.5;
  Time flow_scaling_range = Time::picoseconds(100'000'000);
  double flow_scaling_least = 0.1;
  double flow_scaling_most = 100;
  static auto fields() {
    return field_list(
        field("base_target", &SwiftSpec::base_target, "delay that a flow aims at, without hops").optional().positive(),
        field("hop_target", &SwiftSpec::hop_target, "more for every link crossed").optional(),
        field("additive_increase", &SwiftSpec::additive_increase, "packets a round trip").optional().in(1e-6, 1000),
        field("beta", &SwiftSpec::beta, "strength of the decrease").optional().in(1e-6, 1),
        field("max_decrease", &SwiftSpec::max_decrease, "largest decrease a round trip").optional().in(1e-6, 1),
        field("flow_scaling_range", &SwiftSpec::flow_scaling_range, "most that small windows raise the target")
            .optional(),
        field("flow_scaling_least", &SwiftSpec::flow_scaling_least,
              "window, in packets, below which the target is highest")
            .optional()
            .in(1e-6, 1e6),
        field("flow_scaling_most", &SwiftSpec::flow_scaling_most, "window from which the target is not raised")
            .optional()
            .in(1e-6, 1e6));
  }
  static void check(const SwiftSpec& swift, const ConfigValue& at, Diagnostics& diagnostics);
};

struct EthernetSpec {
  Bytes mtu{4096};           // largest path MTU of RoCE (InfiniBand specification 1.4, annex A17)
  Bytes header{82};          // preamble and gap 20, Ethernet 18, IPv4 20, UDP 8, BTH 12, ICRC 4
  Bytes buffer{32'000'000};  // SimAI's default (SimAI.conf)
  EcnSpec ecn;
  PauseSpec pause;
  CongestionControl congestion_control = CongestionControl::dcqcn;
  DcqcnSpec dcqcn;
  HpccSpec hpcc;
  SwiftSpec swift;
  LossRecovery recovery = LossRecovery::go_back_n;
  Time retransmission_timeout = Time::picoseconds(1'000'000'000);
  double loss = 0;
  static auto fields() {
    return field_list(
        field("mtu", &EthernetSpec::mtu, "payload of a packet").optional().in(Bytes(64), Bytes(65536)),
        field("header", &EthernetSpec::header, "of a packet on the wire, gap included").optional().at_most(Bytes(4096)),
        field("buffer", &EthernetSpec::buffer, "shared by a switch's ports, where the switch does not say").optional(),
        field("ecn", &EthernetSpec::ecn, "marks").optional(),
        field("pause", &EthernetSpec::pause, "priority flow control").optional(),
        field("congestion_control", &EthernetSpec::congestion_control, "who slows senders down").optional(),
        field("dcqcn", &EthernetSpec::dcqcn, "its parameters").optional(),
        field("hpcc", &EthernetSpec::hpcc, "its parameters").optional(),
        field("swift", &EthernetSpec::swift, "its parameters").optional(),
        field("recovery", &EthernetSpec::recovery, "what is sent again after a loss").optional(),
        field("retransmission_timeout", &EthernetSpec::retransmission_timeout,
              "a packet that is not acknowledged is sent again after it")
            .optional()
            .positive(),
        field("loss", &EthernetSpec::loss, "share of packets that a link loses").optional().in(0, 0.5));
  }
  static void check(const EthernetSpec& ethernet, const ConfigValue& at, Diagnostics& diagnostics);
};

// InfiniBand architecture specification 1.4, volume 1, section A10 (congestion control); defaults as OpenSM's manual.
struct CongestionTableSpec {
  bool enabled = false;
  Bytes threshold{65536};
  int increase = 1;
  int limit = 127;
  Time timer = Time::picoseconds(153'600'000);  // CCTI_Timer 150 x 1.024 us
  double step = 1.0;
  static auto fields() {
    return field_list(
        field("enabled", &CongestionTableSpec::enabled, "switches set FECN, receivers send BECN, senders slow down")
            .optional(),
        field("threshold", &CongestionTableSpec::threshold, "queue from which packets are marked").optional(),
        field("increase", &CongestionTableSpec::increase, "steps in the table for each BECN").optional().in(1, 127),
        field("limit", &CongestionTableSpec::limit, "last entry of the table").optional().in(1, 16383),
        field("timer", &CongestionTableSpec::timer, "time after which one step is taken back").optional().positive(),
        field("step", &CongestionTableSpec::step,
              "gap between packets that an entry adds, in times that a packet takes on the wire")
            .optional()
            .in(1e-6, 1000));
  }
};

struct InfinibandSpec {
  Bytes mtu{4096};
  Bytes header{30};  // delimiters 2, LRH 8, BTH 12, ICRC 4, VCRC 2, and the start of the next
  Bytes buffer{0};
  CongestionTableSpec congestion_control;
  static auto fields() {
    return field_list(
        field("mtu", &InfinibandSpec::mtu, "payload of a packet").optional().in(Bytes(64), Bytes(65536)),
        field("header", &InfinibandSpec::header, "of a packet on the wire").optional().at_most(Bytes(4096)),
        field("buffer", &InfinibandSpec::buffer,
              "of each port and lane, for which credits are given; 0: what keeps the link busy over two round trips")
            .optional(),
        field("congestion_control", &InfinibandSpec::congestion_control, "table of injection delays").optional());
  }
  static void check(const InfinibandSpec& infiniband, const ConfigValue& at, Diagnostics& diagnostics);
};

// Foley and Danskin, "Ultra-performance Pascal GPU and NVLink interconnect", IEEE Micro 2017: packets of up to 18 flits
// of 128 bits, at most 16 of them data; with one header flit 16 / 17 of the rate is payload, as NVLink 3 and 4's
// 25 GB/s of 26.5625 GB/s are.
struct NvlinkSizeSpec {
  Bytes flit{16};
  int data_flits = 16;
  int header_flits = 1;
  int train = 16;
  Bytes buffer{0};
  static auto fields() {
    return field_list(
        field("flit", &NvlinkSizeSpec::flit, "smallest unit on the wire").optional().in(Bytes(1), Bytes(4096)),
        field("data_flits", &NvlinkSizeSpec::data_flits, "payload of a packet").optional().in(1, 1024),
        field("header_flits", &NvlinkSizeSpec::header_flits, "of a packet").optional().in(0, 1024),
        field("train", &NvlinkSizeSpec::train, "packets of a flow that are simulated as one").optional().in(1, 1024),
        field("buffer", &NvlinkSizeSpec::buffer,
              "of each port and lane, for which credits are given; 0: what keeps the link busy over two round trips")
            .optional());
  }
  Bytes packet() const { return flit * data_flits; }
};

struct PacketSpec {
  EthernetSpec ethernet;
  InfinibandSpec infiniband;
  NvlinkSizeSpec nvlink;
  // Not given: what `network.routing` says.
  std::optional<PacketPaths> routing;
  std::optional<int> queue_pairs;
  int spray_paths = 16;
  int lanes = 1;
  LaneChoice lane_choice = LaneChoice::by_flow;
  int train = 1;
  std::int64_t seed = 1;
  Time watch = Time::picoseconds(1'000'000'000);
  std::int64_t most_hops = 3'000'000'000;  // ten minutes at 5 million a second
  static auto fields() {
    return field_list(
        field("ethernet", &PacketSpec::ethernet, "RoCE over Ethernet").optional(),
        field("infiniband", &PacketSpec::infiniband, "InfiniBand, and what works by credits as it does").optional(),
        field("nvlink", &PacketSpec::nvlink, "NVLink").optional(),
        field("routing", &PacketSpec::routing,
              "ecmp: a path for each queue pair, by hash; spray: packets take turns among paths; adaptive: at each "
              "switch a packet takes the path whose queue is shortest. With several paths lost packets are sent again "
              "selectively; default: as `network.routing.policy` says"),
        field("queue_pairs", &PacketSpec::queue_pairs,
              "of a flow, each with a path of its own; default: as `network.routing.queue_pairs` says")
            .in(1, 1024),
        field("spray_paths", &PacketSpec::spray_paths, "most paths of a queue pair that is sprayed or adaptive")
            .optional()
            .in(1, 1024),
        field("lanes", &PacketSpec::lanes, "virtual lanes, or priorities, of a link").optional().in(1, 8),
        field("lane_choice", &PacketSpec::lane_choice,
              "by_hop: a packet moves to the next lane with every link, so that credits cannot wait in a circle")
            .optional(),
        field("train", &PacketSpec::train, "Ethernet or InfiniBand packets of a flow that are simulated as one")
            .optional()
            .in(1, 64),
        field("seed", &PacketSpec::seed, "of marks and losses; ways are hashed by `network.routing.seed`").optional(),
        field("watch", &PacketSpec::watch, "links that are held back this long are searched for a circle")
            .optional()
            .at_least(Time::picoseconds(1'000'000)),
        field("most_hops", &PacketSpec::most_hops,
              "packets times links of all transfers that are played; more are refused, for they take hours")
            .optional()
            .positive());
  }
  static void check(const PacketSpec& spec, const ConfigValue& at, Diagnostics& diagnostics);
};

// How packets find their ways: the network's routing, where the packet fabric has no keys of its own.
struct PacketRouting {
  PacketPaths paths = PacketPaths::spray;
  RoutingPolicy policy = RoutingPolicy::spray;  // whose router leads them; the packet fabric's own keys: shortest ways
  int queue_pairs = 1;
  int most_paths = 16;
  std::uint64_t seed = 1;
  // For reports: "packets take turns among up to 16 ways of equal cost (spray)".
  std::string in_words() const;
};
PacketRouting packet_routing(const PacketSpec& spec, const RoutingSpec& network);

}  // namespace warploom
