// SPDX-License-Identifier: Apache-2.0
// A collective library as parameters: what a step costs under each of its protocols, how it cuts a call into channels
// and chunks, and the constants by which it chooses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "network/collectives/choice.hpp"
#include "network/collectives/moe/moe_library.hpp"
#include "sim/core/config.hpp"
#include "sim/core/units.hpp"

namespace warploom {

// How a library moves data over a link. NCCL: LL sends a flag with every 4 bytes, LL128 one with every 120, Simple
// apart. The threads of a channel move `round` bytes at once: less costs as much.
struct ProtocolSpec {
  bool enabled = true;
  Time base;                             // of a call, launch included
  Time wide;                             // more than that, of a call that fills the threads of two channels
  Time hop;                              // a step inside a node
  Time network_hop;                      // a step between nodes under one switch: cards, cable and that switch included
  std::optional<Time> tree_network_hop;  // the same of a tree; a ring's where there is none
  double wire_bytes = 1.0;               // for each byte of payload
  double efficiency = 1.0;               // payload over what the node port can carry
  double network_efficiency = 1.0;       // payload over what the card can carry
  Bandwidth channel_rate{0};             // payload of one channel: its threads' own pace; 0: faster than the link
  Bytes round{4096};                     // that the threads of a channel move at once, where channel_rate binds
  Bytes chunk{2'097'152};                // payload of a step in a channel at most
  double fill = 0;                       // of a chunk's time, before a ring's links are busy
  int threads = 512;                     // of a channel
  int bytes_per_thread = 64;             // below this share of the call a thread is not worth waking
  bool per_rank = false;                 // that share is for every rank of a ring

  static auto fields() {
    return field_list(
        field("enabled", &ProtocolSpec::enabled, "whether the library may choose it").optional(),
        field("base", &ProtocolSpec::base, "fixed time of a call"),
        field("wide", &ProtocolSpec::wide, "added to it when the call fills the threads of two channels").optional(),
        field("hop", &ProtocolSpec::hop, "time of a step inside a node"),
        field("network_hop", &ProtocolSpec::network_hop, "time of a step between nodes under one switch"),
        field("tree_network_hop", &ProtocolSpec::tree_network_hop, "the same in a tree; default: network_hop"),
        field("wire_bytes", &ProtocolSpec::wire_bytes, "bytes on the wire for a byte of payload").optional().in(1, 16),
        field("efficiency", &ProtocolSpec::efficiency, "payload rate over what the node port can carry")
            .optional()
            .in(0.001, 1),
        field("network_efficiency", &ProtocolSpec::network_efficiency, "payload rate over what the card can carry")
            .optional()
            .in(0.001, 1),
        field("channel_rate", &ProtocolSpec::channel_rate, "payload rate of one channel's threads; 0: the link binds")
            .optional(),
        field("round", &ProtocolSpec::round, "bytes that a channel's threads move at once").optional().positive(),
        field("chunk", &ProtocolSpec::chunk, "payload of one step of a channel, at most").optional().positive(),
        field("fill", &ProtocolSpec::fill, "share of a chunk's time that passes before all links of a ring are busy")
            .optional()
            .in(0, 4),
        field("threads", &ProtocolSpec::threads, "threads of a channel").optional().in(32, 1024),
        field("bytes_per_thread", &ProtocolSpec::bytes_per_thread, "least bytes for which a thread takes part")
            .optional()
            .in(1, 1 << 20),
        field("per_rank", &ProtocolSpec::per_rank, "those bytes are for each rank of a ring").optional());
  }
};

// All-reduce inside NVSwitch (NVLS): every rank is the head of a slice; the switch adds what all hold of it and gives
// all the sum. collectives/nvls_all_reduce.hpp has the equation.
struct NvlsSpec {
  bool enabled = false;
  int channels = 16;
  Bytes chunk{131'072};
  Time base = Time::zero();
  Time step = Time::zero();
  Time small_step = Time::zero();
  double efficiency = 1.0;
  double fill = 2.0;
  double tree_rate = 1.0;

  static auto fields() {
    return field_list(
        field("enabled", &NvlsSpec::enabled, "whether devices and switch can").optional(),
        field("channels", &NvlsSpec::channels, "channels, one SM each").optional().in(1, 1024),
        field("chunk", &NvlsSpec::chunk, "bytes of a head's step in a channel, at most").optional().positive(),
        field("base", &NvlsSpec::base, "first step and fill, at least").optional(),
        field("step", &NvlsSpec::step, "fixed time of a step").optional(),
        field("small_step", &NvlsSpec::small_step,
              "more than that, of a step whose chunk is below 64 KiB, what the threads move in one round")
            .optional(),
        field("efficiency", &NvlsSpec::efficiency, "rate of a step over what the node port can carry")
            .optional()
            .in(0.01, 1),
        field("fill", &NvlsSpec::fill, "steps that pass before and after the loops").optional().in(0, 16),
        field("tree_rate", &NvlsSpec::tree_rate, "rate of an NVLS tree over what the library's own model says")
            .optional()
            .in(0.1, 2));
  }
};

// Sends, receives and all-to-all: a message under one of two protocols.
struct PeerProtocolSpec {
  Time base = Time::zero();
  double efficiency = 1.0;
  Bandwidth channel_rate{0};
  double fill = 0;

  static auto fields() {
    return field_list(
        field("base", &PeerProtocolSpec::base, "fixed time of a call").optional(),
        field("efficiency", &PeerProtocolSpec::efficiency, "payload rate of a device over what the node port can carry")
            .optional()
            .in(0.001, 1),
        field("channel_rate", &PeerProtocolSpec::channel_rate,
              "payload rate of one channel's threads, the copy to oneself included; 0: the link binds")
            .optional(),
        field("fill", &PeerProtocolSpec::fill, "chunks of every message that are not overlapped").optional().in(0, 64));
  }
};

struct PeerSpec {
  PeerProtocolSpec ll;
  PeerProtocolSpec simple;
  Bytes ll_bytes{524'288};       // of one message, at most, under LL
  bool network_ll = false;       // messages over the network, too
  bool over_network = true;      // what leaves the node does so
  Bytes chunk{524'288};          // of a channel
  Bytes network_chunk{131'072};  // the same of calls over the network
  int channels = 32;             // of all messages together
  int network_channels = 2;      // of a message of such calls, at most
  Time proxy;                    // of the thread that posts and polls a message to or from another node

  static auto fields() {
    return field_list(
        field("ll", &PeerSpec::ll, "small messages").optional(),
        field("simple", &PeerSpec::simple, "large messages").optional(),
        field("ll_bytes", &PeerSpec::ll_bytes, "largest message under the low-latency protocol").optional(),
        field("network_ll", &PeerSpec::network_ll,
              "whether messages over the network have buffers for it (NCCL_ALLOC_P2P_NET_LL_BUFFERS)")
            .optional(),
        field("over_network", &PeerSpec::over_network,
              "whether what leaves the node goes over a network; false: through the memory of one host")
            .optional(),
        field("chunk", &PeerSpec::chunk, "bytes that a channel sends at once").optional().positive(),
        field("network_chunk", &PeerSpec::network_chunk, "the same of calls over the network (NCCL_P2P_NET_CHUNKSIZE)")
            .optional()
            .positive(),
        field("channels", &PeerSpec::channels, "channels of all messages together, one SM each").optional().in(1, 1024),
        field("network_channels", &PeerSpec::network_channels,
              "channels of one message of calls over the network, at most (NCCL_NCHANNELS_PER_NET_PEER)")
            .optional()
            .in(1, 1024),
        field("proxy", &PeerSpec::proxy, "time of the device's proxy thread for each message to or from another node")
            .optional());
  }
};

// Reductions in the network's switches (collnet.hpp). Latencies: NCCL 2.30.7 src/graph/tuning.cc, hwLat of CollNet.
struct CollnetSpec {
  bool enabled = false;
  Time hop = Time::picoseconds(3'700'000);
  Time network_hop = Time::picoseconds(31'000'000);
  Time chain_hop = Time::picoseconds(2'800'000);
  Time chain_network_hop = Time::picoseconds(30'000'000);

  static auto fields() {
    return field_list(
        field("enabled", &CollnetSpec::enabled, "whether the switches can add (SHARP) and the library uses it")
            .optional(),
        field("hop", &CollnetSpec::hop, "direct: a step inside a node").optional(),
        field("network_hop", &CollnetSpec::network_hop, "direct: through the switches and back").optional(),
        field("chain_hop", &CollnetSpec::chain_hop, "chain: a step inside a node").optional(),
        field("chain_network_hop", &CollnetSpec::chain_network_hop, "chain: through the switches and back").optional());
  }
};

// What a level of the network is given (HCCL_ALGO).
enum class LevelAlgorithm : std::uint8_t { none, ring, mesh, halving_doubling, nhr, nb };
template <>
struct EnumNames<LevelAlgorithm> {
  static constexpr std::pair<LevelAlgorithm, std::string_view> values[] = {
      {LevelAlgorithm::none, "none"}, {LevelAlgorithm::ring, "ring"},
      {LevelAlgorithm::mesh, "mesh"}, {LevelAlgorithm::halving_doubling, "halving_doubling"},
      {LevelAlgorithm::nhr, "nhr"},   {LevelAlgorithm::nb, "nb"}};
};

struct LevelsSpec {
  LevelAlgorithm node = LevelAlgorithm::none;
  LevelAlgorithm beyond = LevelAlgorithm::none;

  static auto fields() {
    return field_list(
        field("node", &LevelsSpec::node,
              "inside a node, of calls between nodes (HCCL_ALGO level0); `none`: one algorithm over all ranks")
            .optional(),
        field("beyond", &LevelsSpec::beyond, "above the first switch between nodes (level2); `none`: as between nodes")
            .optional());
  }
};

template <>
struct EnumNames<Protocol> {
  static constexpr std::pair<Protocol, std::string_view> values[] = {{Protocol::ll, name(Protocol::ll)},
                                                                     {Protocol::ll128, name(Protocol::ll128)},
                                                                     {Protocol::simple, name(Protocol::simple)}};
};

// A plugin's own tuner chooses between nodes from what its makers measured: here, what is predicted to be quickest of
// these protocols. None: the library's model chooses.
struct PluginTunerSpec {
  std::vector<Protocol> all_reduce;
  std::vector<Protocol> all_gather;
  std::vector<Protocol> reduce_scatter;

  static auto fields() {
    return field_list(
        field("all_reduce", &PluginTunerSpec::all_reduce, "protocols it takes for all-reduces").optional(),
        field("all_gather", &PluginTunerSpec::all_gather, "for all-gathers").optional(),
        field("reduce_scatter", &PluginTunerSpec::reduce_scatter, "for reduce-scatters").optional());
  }
};

// What carries messages between nodes where it is not InfiniBand's verbs: a plugin of the library and its network.
struct TransportSpec {
  Time latency;           // of a message, beyond the protocol's own step between nodes
  Bytes eager{0};         // a message up to here goes at once; 0: any
  Time handshake;         // the first longer one of a call waits for its receiver; later ones are asked for ahead
  Time reported_latency;  // what the plugin tells the library, whose choice it moves
  bool flushes = true;    // Simple's receiver reads once more, which the choice counts as a second latency
  double serial = 0.8;    // share of a step's latency for which a channel of a Simple tree holds its next chunk back
  PluginTunerSpec tuner;  // of the plugin, if it has one
  Bytes nvls_tree_chunk{131'072};      // a chunk of an NVLS tree, at most
  Bytes nvls_tree_wide_chunk{65'536};  // the same over four nodes and more

  static auto fields() {
    return field_list(
        field("latency", &TransportSpec::latency, "of a message between nodes, beyond the protocol's network_hop")
            .optional(),
        field("eager", &TransportSpec::eager, "longest message that is sent without asking its receiver; 0: any")
            .optional(),
        field("handshake", &TransportSpec::handshake,
              "how long the first longer message of a call waits for its receiver")
            .optional(),
        field("reported_latency", &TransportSpec::reported_latency, "what the library is told of it, for its choice")
            .optional(),
        field("flushes", &TransportSpec::flushes, "whether that counts twice under Simple").optional(),
        field("serial", &TransportSpec::serial,
              "share of that step for which a tree's channel waits with its next chunk")
            .optional()
            .in(0, 1),
        field("tuner", &TransportSpec::tuner, "how the plugin chooses in the library's place; default: it does not")
            .optional(),
        field("nvls_tree_chunk", &TransportSpec::nvls_tree_chunk, "chunk of an NVLS tree, at most")
            .optional()
            .positive(),
        field("nvls_tree_wide_chunk", &TransportSpec::nvls_tree_wide_chunk, "the same over four nodes and more")
            .optional()
            .positive());
  }
};

enum class TunedLink : std::uint8_t { nvlink, pcie };
template <>
struct EnumNames<TunedLink> {
  static constexpr std::pair<TunedLink, std::string_view> values[] = {{TunedLink::nvlink, "nvlink"},
                                                                      {TunedLink::pcie, "pcie"}};
};

// NCCL's own cost model, by which it chooses and which predicts poorly (nccl_tuner.hpp). Lists: one node, two nodes,
// more.
struct TunerSpec {
  TunedLink link = TunedLink::nvlink;
  std::vector<Bandwidth> speeds;  // of a channel, that the search tries, descending
  Bandwidth split_above{25e9};    // a channel faster than this is split into two
  std::vector<Bandwidth> ll;
  std::vector<Bandwidth> ring_ll128_channel;
  std::vector<Bandwidth> tree_ll128_channel;
  std::vector<Bandwidth> tree_channel;
  std::vector<Bandwidth> nvls_tree_channel;
  int card_channels = 2;
  double nvls_efficiency = 0.85;
  double tree_factor = 1.0;

  static auto fields() {
    return field_list(
        field("link", &TunerSpec::link, "what joins the devices of a node").optional(),
        field("speeds", &TunerSpec::speeds, "rates of a channel that the search tries, descending").optional(),
        field("split_above", &TunerSpec::split_above, "a channel faster than this is split into two").optional(),
        field("ll", &TunerSpec::ll, "most of LL: one node, two nodes, more").optional(),
        field("ring_ll128_channel", &TunerSpec::ring_ll128_channel, "most of a channel of an LL128 ring").optional(),
        field("tree_ll128_channel", &TunerSpec::tree_ll128_channel, "most of a channel of an LL128 tree").optional(),
        field("tree_channel", &TunerSpec::tree_channel, "most of a channel of a Simple tree").optional(),
        field("nvls_tree_channel", &TunerSpec::nvls_tree_channel, "most of a channel of an NVLS tree").optional(),
        field("card_channels", &TunerSpec::card_channels, "channels of a network card").optional().in(1, 64),
        field("nvls_efficiency", &TunerSpec::nvls_efficiency, "of NVLS over its links").optional().in(0.01, 1),
        field("tree_factor", &TunerSpec::tree_factor, "of trees whose node is entered at one device")
            .optional()
            .in(0.01, 1));
  }
  static void check(const TunerSpec& spec, const ConfigValue& at, Diagnostics& diagnostics);

  // Of one of the lists; none where it is empty.
  static std::optional<Bandwidth> at_nodes(const std::vector<Bandwidth>& list, std::int64_t nodes) {
    if (list.empty()) return std::nullopt;
    return list[static_cast<std::size_t>(std::min<std::int64_t>(nodes, 3) - 1)];
  }
};

// What a version of the library does otherwise than those before it.
struct LibraryChange {
  std::string since;
  std::optional<bool> ll128;
  std::optional<Bytes> peer_ll_bytes;
  std::optional<Bandwidth> peer_channel_rate;
  std::string source;

  static auto fields() {
    return field_list(field("since", &LibraryChange::since, "first version that does so"),
                      field("ll128", &LibraryChange::ll128, "whether LL128 may be chosen"),
                      field("peer_ll_bytes", &LibraryChange::peer_ll_bytes, "largest message under LL"),
                      field("peer_channel_rate", &LibraryChange::peer_channel_rate, "of messages under Simple"),
                      field("source", &LibraryChange::source, "how that is known").optional());
  }
};

struct LibrarySpec {
  std::string name;
  std::string source;
  std::string version;
  std::string family = "nccl";
  ProtocolSpec ll;
  ProtocolSpec ll128;
  ProtocolSpec simple;
  NvlsSpec nvls;
  CollnetSpec collnet;
  bool pat = false;
  LevelsSpec levels;
  Bandwidth reduce_rate{0};
  PeerSpec peer;
  TransportSpec transport;
  TunerSpec tuner;
  std::vector<LibraryChange> changes;
  std::string algorithm = "auto";
  std::string protocol = "auto";
  int node_channels = 0;
  int network_channels = 16;
  double two_pass_fill = 0.5;
  double loop_fill = 0.5;
  double copy_hbm_bytes = 2;
  double reduce_hbm_bytes = 3;
  std::optional<MoeLibrarySpec> moe;

  static auto fields() {
    return field_list(
        field("name", &LibrarySpec::name, "what reports call it"),
        field("source", &LibrarySpec::source, "where its numbers come from").optional(),
        field("version", &LibrarySpec::version, "such as 2.29.2; empty: what the numbers were taken from").optional(),
        field("family", &LibrarySpec::family, "whose algorithms and choice: `nccl` or `hccl`").optional(),
        field("ll", &LibrarySpec::ll, "low-latency protocol, 8-byte units"),
        field("ll128", &LibrarySpec::ll128, "low-latency protocol, 128-byte units"),
        field("simple", &LibrarySpec::simple, "bulk protocol"),
        field("nvls", &LibrarySpec::nvls, "all-reduce inside the node's switch").optional(),
        field("collnet", &LibrarySpec::collnet, "all-reduce inside the network's switches").optional(),
        field("pat", &LibrarySpec::pat, "whether it may choose PAT where a node has one member").optional(),
        field("levels", &LibrarySpec::levels, "algorithms of the network's levels, where the library works in levels")
            .optional(),
        field("reduce_rate", &LibrarySpec::reduce_rate,
              "bytes a second that a device adds in a step of rounds; 0: while they arrive")
            .optional(),
        field("peer", &LibrarySpec::peer, "sends, receives, all-to-all").optional(),
        field("transport", &LibrarySpec::transport, "what carries messages between nodes, if not InfiniBand")
            .optional(),
        field("tuner", &LibrarySpec::tuner, "the library's own cost model, by which it chooses").optional(),
        field("changes", &LibrarySpec::changes, "what versions do otherwise than those before").optional(),
        field("algorithm", &LibrarySpec::algorithm,
              "`auto`, the one to take, or wishes such as `allreduce:tree,ring` (NCCL_ALGO), or an MSCCL file "
              "(`plan.xml`)")
            .optional(),
        field("protocol", &LibrarySpec::protocol, "`auto`, the one to take, or wishes such as `^ll` (NCCL_PROTO)")
            .optional(),
        field("node_channels", &LibrarySpec::node_channels,
              "rings in parallel inside a node, one SM each; 0: as the library's search finds")
            .optional()
            .in(0, 1024),
        field("network_channels", &LibrarySpec::network_channels, "rings in parallel across nodes, one SM each")
            .optional()
            .in(1, 1024),
        field("two_pass_fill", &LibrarySpec::two_pass_fill, "an all-reduce's fill over an all-gather's")
            .optional()
            .in(0, 2),
        field("loop_fill", &LibrarySpec::loop_fill, "fill of each further round of chunks over the first's")
            .optional()
            .in(0, 2),
        field("copy_hbm_bytes", &LibrarySpec::copy_hbm_bytes, "HBM bytes of a device for a byte passed on")
            .optional()
            .in(0, 100),
        field("reduce_hbm_bytes", &LibrarySpec::reduce_hbm_bytes,
              "HBM bytes of a device for a byte reduced and passed on")
            .optional()
            .in(0, 100),
        field("moe", &LibrarySpec::moe, "kernels for MoE dispatch and combine; default: none").optional());
  }
  static void check(const LibrarySpec& spec, const ConfigValue& at, Diagnostics& diagnostics);

  // The library as `version` has it: the changes up to it are made.
  LibrarySpec at_version() const;
};

// Of versions such as 2.27.3, number by number.
bool is_version_at_least(std::string_view version, std::string_view least);

}  // namespace warploom
