// SPDX-License-Identifier: Apache-2.0
// How long every operation of a captured run takes on other hardware.
//
//   anchored  its shapes are recorded: measured x predicted(target) / predicted(source), so that what the model does
//             not know of the kernel cancels; communication with recorded bytes whose members were all captured: its
//             measured transfer x planned(target) / planned(source), moved on the target's network;
//   modelled  its shapes are recorded and the source is not described: predicted(target);
//             communication with recorded bytes: planned and moved on the target's network;
//   scaled    no shapes: as a kernel of its class that takes as long on the source (a square GEMM, causal attention, a
//             stream); communication without bytes: as one of its kind that takes as long on the source's network;
//   kept      as recorded: copies to and from the host, what the host does, communication that no model knows, and
//             kernels where the target's device is the source's.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "hw_models/device.hpp"
#include "network/network.hpp"
#include "traces/captured_run.hpp"

namespace warploom {

enum class Basis : std::uint8_t { anchored, modelled, scaled, kept };
inline constexpr std::array<std::string_view, 4> basis_names = {"anchored", "modelled", "scaled", "kept"};

struct RetimedClass {
  std::array<std::int64_t, 4> count{};    // by basis
  std::array<Nanoseconds, 4> measured{};  // as recorded, summed over ranks; of communication without the wait
  Nanoseconds predicted = 0;              // as played: edits and sharing included
};

// What is known of where the captures were made.
struct ReplaySource {
  std::vector<const DeviceSpec*> devices;  // by capture; null: not described
  const Network* network = nullptr;
  bool is_target = false;  // the run's collectives stay on this network
};

struct ReplayTarget {
  DeviceSpec device;
  std::int64_t devices = 0;     // that the run uses
  bool fills = false;           // one capture stands for all: equal groups run at once
  bool ignores_shapes = false;  // kernels are scaled by their class alone
};

struct Retimed {
  Retiming retiming;
  std::vector<std::vector<Basis>> bases;  // by capture and operation; empty: all are kept
  std::vector<Basis> collectives;         // by matched collective; likewise
  std::array<RetimedClass, 7> classes;    // by OpClass; see `sum_classes`
  std::vector<std::string> notes;
};

Retimed retime(const CapturedRun& run, const ReplaySource& source, const ReplayTarget& target);

// What of each class rests on what, of all that is played.
void sum_classes(const CapturedRun& run, Retimed& retimed);

}  // namespace warploom
