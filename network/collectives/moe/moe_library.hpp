// SPDX-License-Identifier: Apache-2.0
// A library of MoE kernels as parameters: what physics does not give of DeepEP's dispatch and combine.
//
// Latencies are counted in hops, a step of the collective library's LL protocol on the same device (`ll.hop`: a store
// that another device sees), so that one figure holds for every device. moe_low_latency.hpp and moe_normal.hpp have the
// equations.
#pragma once

#include <string>

#include "sim/core/config.hpp"
#include "sim/core/units.hpp"

namespace warploom {

// One operation of the low-latency kernels.
struct MoeLowLatencySpec {
  double hops = 0;
  double group_hops = 0;
  Time token;
  Bandwidth token_rate{0};
  Bandwidth sm_rate{0};
  Bandwidth device_rate{0};
  double efficiency = 1;
  double network_efficiency = 1;
  Time receive_round;
  double memory_passes = 1;

  static auto fields() {
    return field_list(
        field("hops", &MoeLowLatencySpec::hops, "fixed time: launch, counts, flags").in(0, 1000),
        field("group_hops", &MoeLowLatencySpec::group_hops, "more for each further expert that an SM serves")
            .in(0, 1000),
        field("token", &MoeLowLatencySpec::token, "fixed time of a token in an SM"),
        field("token_rate", &MoeLowLatencySpec::token_rate, "at which an SM goes through a token's message").positive(),
        field("sm_rate", &MoeLowLatencySpec::sm_rate, "at which an SM fetches what it sends; 0: no limit").optional(),
        field("device_rate", &MoeLowLatencySpec::device_rate,
              "at which a device stores into others whatever its links carry; 0: no limit")
            .optional(),
        field("efficiency", &MoeLowLatencySpec::efficiency, "payload over what the node port can carry").in(0.01, 1),
        field("network_efficiency", &MoeLowLatencySpec::network_efficiency, "payload over what the card can carry")
            .in(0.01, 1),
        field("receive_round", &MoeLowLatencySpec::receive_round,
              "more for each further token that a receiving warp copies, where memory is not slower")
            .optional(),
        field("memory_passes", &MoeLowLatencySpec::memory_passes,
              "times that what was received goes through memory afterwards")
            .optional()
            .in(0, 100));
  }
};

// One operation of the normal kernels. A channel is two SMs, one sends and one receives.
struct MoeNormalSpec {
  Time base;
  double hops = 0;
  Time scan;
  double scan_hops = 0;
  double copy_hops = 0;
  Bandwidth warp_rate{0};
  double warps = 24;
  double forward_warps = 8;
  Time reduce_step;
  Time reduce_read;
  double reduce_warps = 23;
  double crowding = 0;
  double efficiency = 1;
  double network_efficiency = 1;
  double fill_tokens = 0;
  Bandwidth fill_rate{0};
  double fill_reads = 0;
  double network_chunk = 0;

  static auto fields() {
    return field_list(
        field("base", &MoeNormalSpec::base, "fixed time of a call, launches included"),
        field("hops", &MoeNormalSpec::hops, "fixed time beyond it: barriers and queues").in(0, 1000),
        field("scan", &MoeNormalSpec::scan, "of a channel for each of its tokens, wherever they go").optional(),
        field("scan_hops", &MoeNormalSpec::scan_hops, "the same, in hops").optional().in(0, 1000),
        field("copy_hops", &MoeNormalSpec::copy_hops, "of a warp for each token that it copies").optional().in(0, 1000),
        field("warp_rate", &MoeNormalSpec::warp_rate, "at which a warp copies a token").positive(),
        field("warps", &MoeNormalSpec::warps, "that copy in a channel, shared by the ranks of the node")
            .optional()
            .in(1, 32),
        field("forward_warps", &MoeNormalSpec::forward_warps,
              "that pass on in a channel what comes from other nodes, likewise")
            .optional()
            .in(1, 32),
        field("reduce_step", &MoeNormalSpec::reduce_step, "of a warp for 512 bytes of a sum").optional(),
        field("reduce_read", &MoeNormalSpec::reduce_read, "more for each rank that it sums over").optional(),
        field("reduce_warps", &MoeNormalSpec::reduce_warps, "that sum in a channel").optional().in(1, 32),
        field("crowding", &MoeNormalSpec::crowding, "by which each further channel slows all").optional().in(0, 1),
        field("efficiency", &MoeNormalSpec::efficiency, "payload over what the node port can carry").in(0.01, 1),
        field("network_efficiency", &MoeNormalSpec::network_efficiency, "payload over what the card can carry")
            .in(0.01, 1),
        field("fill_tokens", &MoeNormalSpec::fill_tokens, "copies of a token before a channel is busy")
            .optional()
            .in(0, 1000),
        field("fill_rate", &MoeNormalSpec::fill_rate, "at which the first token goes all the way; 0: at once")
            .optional(),
        field("fill_reads", &MoeNormalSpec::fill_reads,
              "of its time, more for each further rank that it is summed over")
            .optional()
            .in(0, 100),
        field("network_chunk", &MoeNormalSpec::network_chunk, "tokens that a channel sends to another node at once")
            .optional()
            .in(0, 10000));
  }
};

template <class Spec>
struct MoeOperations {
  Spec dispatch;
  Spec combine;

  static auto fields() {
    return field_list(field("dispatch", &MoeOperations::dispatch, "tokens to the experts' ranks"),
                      field("combine", &MoeOperations::combine, "sums of what the experts made of them, back"));
  }
};

struct MoeLibrarySpec {
  std::string name;
  std::string source;
  bool enabled = true;
  MoeOperations<MoeLowLatencySpec> low_latency;
  MoeOperations<MoeNormalSpec> normal;

  static auto fields() {
    return field_list(
        field("name", &MoeLibrarySpec::name, "what reports call it"),
        field("source", &MoeLibrarySpec::source, "where its numbers come from").optional(),
        field("enabled", &MoeLibrarySpec::enabled, "whether the devices can: they store into each other over NVLink")
            .optional(),
        field("low_latency", &MoeLibrarySpec::low_latency, "kernels that send every token straight to every expert"),
        field("normal", &MoeLibrarySpec::normal, "kernels that send a token once to a rank, over few SMs"));
  }
};

}  // namespace warploom
