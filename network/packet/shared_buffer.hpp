// SPDX-License-Identifier: Apache-2.0
// The packet memory of an Ethernet switch, shared by its ports with a dynamic threshold, and when to pause who sends.
//
// Equations. Of the buffer B the headrooms are set aside: S = B - sum headroom. A lane of an ingress port may hold
// T = alpha (S - used) of the shared part. Above T it asks for a pause (XOFF) and what still arrives goes to its
// headroom; a packet that finds the headroom full is dropped. It resumes (XON) when the headroom is empty and it holds
// at most T - offset. Without pauses a packet is dropped where its egress queue would pass alpha (S - used).
// Sources: IEEE 802.1Qbb; Choudhury and Hahne, "Dynamic queue length thresholds", ToN 1998; switch-mmu.cc of HPCC's
// simulator.
#pragma once

#include <cstdint>

#include "network/packet/spec.hpp"
#include "network/packet/state.hpp"

namespace warploom {

struct SharedBuffer {
  std::int64_t size = 0;  // shared part
  std::int64_t used = 0;  // of it
  std::int64_t most_used = 0;
  double alpha = 0.125;
  std::int64_t resume_offset = 0;
  bool pauses = true;

  std::int64_t threshold() const { return static_cast<std::int64_t>(alpha * static_cast<double>(size - used)); }

  enum class Verdict : std::uint8_t { taken, taken_and_pause, dropped };

  // A packet of `bytes` has come by `lane`; its egress queue holds `waiting`.
  Verdict take(Lane& lane, std::int64_t bytes, std::int64_t waiting) {
    if (!pauses) {
      if (used + bytes > size || waiting + bytes > threshold()) return Verdict::dropped;
      add(lane, bytes);
      return Verdict::taken;
    }
    if (lane.is_held_by_far || used + bytes > size) {
      if (lane.headroom + bytes > lane.headroom_limit) return Verdict::dropped;
      lane.headroom += bytes;
      return pause(lane);
    }
    add(lane, bytes);
    return lane.shared > threshold() ? pause(lane) : Verdict::taken;
  }

  // It leaves. True: the lane resumes.
  bool give(Lane& lane, std::int64_t bytes) {
    const std::int64_t from_headroom = bytes < lane.headroom ? bytes : lane.headroom;
    lane.headroom -= from_headroom;
    lane.shared -= bytes - from_headroom;
    used -= bytes - from_headroom;
    if (!lane.is_held_by_far || lane.headroom > 0) return false;
    if (lane.shared > 0 && lane.shared + resume_offset > threshold()) return false;
    lane.is_held_by_far = false;
    return true;
  }

 private:
  void add(Lane& lane, std::int64_t bytes) {
    lane.shared += bytes;
    used += bytes;
    if (used > most_used) most_used = used;
  }
  static Verdict pause(Lane& lane) {
    if (lane.is_held_by_far) return Verdict::taken;
    lane.is_held_by_far = true;
    return Verdict::taken_and_pause;
  }
};

}  // namespace warploom
