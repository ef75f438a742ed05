// SPDX-License-Identifier: Apache-2.0
// An ASTRA-sim experiment, unchanged, played on our executor: its files in, when every rank finishes and why out.
//
// What differs from ASTRA-sim, on purpose: messages of everything that runs share links fairly (its congestion-unaware
// back end lets them pass through each other, its aware one sends whole messages hop by hop); groups communicate side
// by side; nothing is rounded to a nanosecond; what can never end is an error with names. `backend` other than
// shared_links gives collectives the durations of its analytical back ends instead.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/play/executor.hpp"
#include "sim/play/report.hpp"
#include "traces/repairs.hpp"
#include "workloads/astra_sim/collective.hpp"

namespace warploom {

struct AstraSimInputs {
  std::string system;    // JSON
  std::string network;   // YAML
  std::string workload;  // prefix of PREFIX.RANK.et
  std::optional<std::string> remote_memory;
  std::optional<std::string> comm_group;  // without: PREFIX.json where there is one (as STAGE writes it)
  AstraBackend backend = AstraBackend::shared_links;
  bool rendezvous = false;     // a send waits for its receive
  double comm_scale = 1;       // of every comm_size
  double injection_scale = 1;  // of endpoint-delay
  bool strict = false;         // a repair of a trace is an error
};

struct AstraRankResult {
  std::int64_t rank = 0;
  Time finish = Time::zero();
  Time compute = Time::zero();                // at least one kernel runs
  Time host = Time::zero();                   // calls of the host
  Time communication = Time::zero();          // at least one collective or message is under way or waited for
  Time exposed_communication = Time::zero();  // of it, without a kernel
  Time waiting = Time::zero();                // of the exposed: its peers are not there yet
};

struct AstraSimResult {
  std::vector<AstraRankResult> ranks;
  Time makespan = Time::zero();
  std::vector<std::string> notes;
  std::vector<Repair> repairs;
  std::map<std::string, std::int64_t> nodes;  // by type
  std::map<std::string, std::string> calls;   // "all_reduce of 1048576 bytes, all ranks": its algorithm
  std::string network;                        // "Ring 8 x Switch 4"
  std::string backend;                        // "shared links", "analytical, congestion-unaware"
  Report report;
  Program program;
  Timeline timeline;
};

// Throws UserError.
AstraSimResult play_astra_sim(const AstraSimInputs& inputs, const PlayOptions& options = {});

}  // namespace warploom
