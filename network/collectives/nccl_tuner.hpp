// SPDX-License-Identifier: Apache-2.0
// NCCL's own cost model: by it the library chooses algorithm and protocol. It predicts poorly (23% over 1,200 measured
// points of one node), so it is never a prediction here, but for the rate of trees between nodes, where it is close.
//
// Equation: time = latency + bytes / rate, with a table of corrections for trees by size. Latencies count steps, rates
// count channels; nccl_tuner.cpp has the constants. Source: NCCL 2.30.7 src/graph/tuning.cc
// (ncclTunerConstantsDefaults, ncclTopoTuneModel, ncclTopoGetAlgoTime). What depends on the generation of devices
// stands in the library's file. Assumes one card a device of a node at most, and the results of the topology search by
// rule (channels.hpp).
#pragma once

#include "network/collectives/collective.hpp"

namespace warploom {

struct TunerEstimate {
  Time latency;
  Bandwidth rate{0};  // of the bytes that the call counts
  Time total(Bytes bytes) const { return latency + bytes / rate; }
};

// Not for `direct`, between which and others NCCL does not choose.
TunerEstimate tuner_estimate(const Setting& setting, CollectiveKind kind, Algorithm algorithm, Protocol protocol);

// With the correction for trees: what the library compares.
Time library_estimate(const Setting& setting, Algorithm algorithm, Protocol protocol);

}  // namespace warploom
