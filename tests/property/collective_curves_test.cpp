// SPDX-License-Identifier: Apache-2.0
// Collectives over size and ranks on the clusters that ship: more bytes, more nodes and more hops take no less time,
// but where the library itself goes another way, and nothing goes faster than its links.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "network/collective_estimate.hpp"
#include "sim/core/errors.hpp"
#include "workloads/network_lookup.hpp"

namespace warploom {
namespace {

const std::vector<CollectiveKind> all_kinds{
    CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
    CollectiveKind::broadcast,  CollectiveKind::reduce,     CollectiveKind::all_to_all,
    CollectiveKind::gather,     CollectiveKind::scatter,    CollectiveKind::send_recv};

const Library& library() {
  static const Library configs({WARPLOOM_SOURCE_DIR "/configs"});
  return configs;
}

CollectiveEstimate estimate(const FoundNetwork& cluster, CollectiveKind kind, std::int64_t ranks, std::int64_t bytes,
                            const CollectiveChoice& choice = {}) {
  return estimate_chosen(cluster.network, {kind, Bytes(bytes), DataType::bf16, 0}, first_ranks(ranks), choice);
}

std::vector<std::int64_t> sizes() {
  std::vector<std::int64_t> made{1, 3, 1'000'003};
  for (std::int64_t bytes = 16; bytes <= std::int64_t{8} << 30; bytes *= 2) {
    for (const std::int64_t quarters : {4, 5, 6, 7}) made.push_back(bytes / 4 * quarters);
    made.push_back(2 * bytes - bytes / 16);
  }
  std::ranges::sort(made);
  return made;
}

std::string way(const CollectiveEstimate& done) { return done.algorithm + "/" + done.protocol; }

// What a chunk is, the library chooses by the call's size: NVLS, trees.
bool has_stepped_chunks(const CollectiveEstimate& done) {
  return done.algorithm.starts_with("nvls") || done.algorithm == "tree";
}

const std::vector<std::string> clusters{"dgx_a100", "dgx_h100", "dgx_b200", "gb200_nvl72"};

// The chunk of NVLS grows in steps, and a larger one is quicker: measured 32 to 64 KiB a loop, 15% less time.
TEST(Curves, MoreBytesTakeNoLessTimeOverTheSameChannels) {
  for (const auto& name : clusters) {
    for (const std::int64_t ranks : {2, 5, 8, 64}) {
      const FoundNetwork cluster = load_network(name, ranks, {}, library());
      for (const CollectiveKind kind : all_kinds) {
        if (kind == CollectiveKind::send_recv && ranks != 2) continue;
        std::map<std::string, std::pair<Time, std::int64_t>> longest;
        for (const std::int64_t bytes : sizes()) {
          const CollectiveEstimate done = estimate(cluster, kind, ranks, bytes);
          auto& known = longest[way(done) + "/" + std::to_string(done.channels)];
          const double least = has_stepped_chunks(done) ? 0.85 : 1 - 1e-6;
          EXPECT_GE(done.duration.seconds(), known.first.seconds() * least)
              << name << " " << warploom::name(kind) << " of " << ranks << ": " << bytes << " B after " << known.second
              << " B, " << way(done);
          if (done.duration > known.first) known = {done.duration, bytes};
        }
      }
    }
  }
}

// Where the library wakes a channel or goes from one protocol to the next, what comes after may be quicker: its choice
// is no prediction. Furthest off is LL up to 512 KiB a peer, whatever their number (all-to-all of 48 devices of NVL72).
TEST(Curves, WhereTheLibrarySwitchesTimeFallsByLittleMoreThanHalf) {
  for (const auto& name : clusters) {
    for (const std::int64_t ranks : {2, 7, 48}) {
      const FoundNetwork cluster = load_network(name, ranks, {}, library());
      for (const CollectiveKind kind : all_kinds) {
        if (kind == CollectiveKind::send_recv && ranks != 2) continue;
        Time longest = Time::zero();
        for (const std::int64_t bytes : sizes()) {
          const CollectiveEstimate done = estimate(cluster, kind, ranks, bytes);
          EXPECT_GE(done.duration.seconds(), longest.seconds() * 0.45)
              << name << " " << warploom::name(kind) << " of " << ranks << ": " << bytes << " B, " << way(done);
          longest = std::max(longest, done.duration);
        }
      }
    }
  }
}

// The same way with whole nodes. LL: a rank's part shrinks with more of them, and its threads move whole rounds. Trees
// and messages: chunks in steps.
TEST(Curves, MoreNodesTakeNoLessTime) {
  for (const auto& name : {"dgx_a100", "dgx_h100", "dgx_b200"}) {
    std::map<std::pair<std::string, std::int64_t>, std::pair<Time, std::int64_t>> longest;
    for (const std::int64_t nodes : {2, 3, 4, 5, 6, 8, 16, 32, 128}) {
      const FoundNetwork cluster = load_network(name, nodes * 8, {}, library());
      for (const CollectiveKind kind : all_kinds) {
        if (kind == CollectiveKind::send_recv) continue;
        for (std::int64_t bytes = 64; bytes <= std::int64_t{8} << 30; bytes *= 4) {
          const CollectiveEstimate done = estimate(cluster, kind, nodes * 8, bytes);
          auto& known = longest[{std::string(warploom::name(kind)) + " " + way(done), bytes}];
          const bool is_stepped = has_stepped_chunks(done) || done.algorithm == "direct";
          const double least = done.protocol == "ll" ? 0.75 : is_stepped ? 0.85 : 0.99;
          EXPECT_GE(done.duration.seconds(), known.first.seconds() * least)
              << name << " " << warploom::name(kind) << " of " << bytes << " B on " << nodes << " nodes after "
              << known.second << ", " << way(done);
          if (done.duration > known.first) known = {done.duration, nodes};
        }
      }
    }
  }
}

TEST(Curves, AChainTakesNoLessTimeWithMoreRanks) {
  for (const auto& name : clusters) {
    const std::int64_t most = name == "gb200_nvl72" ? 72 : 8;
    for (const CollectiveKind kind : {CollectiveKind::broadcast, CollectiveKind::reduce}) {
      for (const char* protocol : {"ll128", "simple"}) {
        std::map<std::int64_t, Time> longest;
        for (std::int64_t ranks = 2; ranks <= most; ++ranks) {
          const FoundNetwork cluster = load_network(name, ranks, {}, library());
          for (std::int64_t bytes = 1024; bytes <= std::int64_t{8} << 30; bytes *= 8) {
            const Time took = estimate(cluster, kind, ranks, bytes, {"ring", protocol}).duration;
            EXPECT_GE(took, longest[bytes]) << name << " " << protocol << " " << bytes << " B of " << ranks;
            longest[bytes] = took;
          }
        }
      }
    }
  }
}

// Odd sizes and odd numbers of ranks, every operation and every cluster. A switch that adds moves a byte of a reduction
// once where a ring moves it twice; rings through nodes of k cross a port with (k - 1) / k of their bytes; a root is
// reached over its port and its card at once.
TEST(Curves, NothingGoesFasterThanItsLinks) {
  for (const auto& file : std::filesystem::directory_iterator(WARPLOOM_SOURCE_DIR "/configs/clusters")) {
    const std::string path = file.path().string();
    for (const std::int64_t ranks : {2, 3, 5, 7, 12, 16}) {
      FoundNetwork cluster;
      try {
        cluster = load_network(path, ranks, {}, library());
      } catch (const UserError&) {
        continue;  // of fewer devices
      }
      const bool is_through = ranks > cluster.network.topology->node_size();
      const auto in_node = static_cast<double>(std::min(ranks, cluster.network.topology->node_size()));
      const double port =
          cluster.network.topology->port().value() * (is_through && in_node > 1 ? in_node / (in_node - 1) : 1);
      for (const CollectiveKind kind : all_kinds) {
        if (kind == CollectiveKind::send_recv && ranks != 2) continue;
        for (const std::int64_t bytes : {std::int64_t{3}, std::int64_t{1'000'003}, std::int64_t{4'000'000'007}}) {
          const CollectiveEstimate done = estimate(cluster, kind, ranks, bytes);
          EXPECT_GT(done.duration, Time::zero());
          const bool has_root = kind == CollectiveKind::gather || kind == CollectiveKind::scatter;
          const double card = is_through && has_root ? cluster.network.topology->card().value() : 0;
          const double most = kind == CollectiveKind::all_reduce ? 2 * port : port + card;
          EXPECT_LE(done.bus_bandwidth.value(), most * (1 + 1e-6))
              << path << " " << warploom::name(kind) << " of " << ranks << ", " << bytes << " B, " << way(done);
        }
      }
    }
  }
}

}  // namespace
}  // namespace warploom
