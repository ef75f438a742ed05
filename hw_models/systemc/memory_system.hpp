// SPDX-License-Identifier: Apache-2.0
// The L2 and the device memory behind it: two servers with a latency, for one SM's share of the load or for all SMs.
//
// Lines of a tile lie on all slices and channels, so that each is one server at the rate of all. Where the L2 has two
// partitions, what a kernel reads beyond the half that is near is far for half of the SMs.
#pragma once

#include <algorithm>

#include "hw_models/detailed.hpp"
#include "hw_models/device.hpp"
#include "hw_models/programs/kernel_program.hpp"
#include "hw_models/systemc/server.hpp"

namespace warploom::detailed {

class MemorySystem {
 public:
  MemorySystem(const DeviceSpec& device, Frequency clock, const KernelProgram& program, bool is_of_all);

  // Share of the SMs that are at work: the one that is played has so much less of the L2 and the memory.
  void set_load(double share) { load_ = is_of_all_ ? 1 : share; }

  // Cycles of work that wait.
  // When all that has been written is in the memory: kernels that follow one another cannot leave it to the next.
  double written_back() const { return memory_.free(); }
  // Share of what is there for one SM of all that it has asked for in so many cycles.
  double asked(const SmCounts& counts, double cycles, int sms) const {
    const double memory = (counts.from_memory + counts.to_memory) / memory_bytes_;
    return std::max(memory, (counts.from_l2 + counts.written) / l2_bytes_) * sms / cycles;
  }
  double backlog(double now) const { return std::max({0.0, l2_.free() - now, memory_.free() - now}); }

  // When `bytes` for one SM are there, asked for at `now`.
  double read(const TileStream& stream, double bytes, double now, SmCounts& counts);
  // When they are in the L2.
  double write(const TileStream& stream, double bytes, double now, SmCounts& counts);

 private:
  Server l2_, memory_;
  bool is_of_all_;
  double load_ = 1;
  double l2_bytes_;      // a cycle: of one SM where all read, or of all
  double memory_bytes_;  // the same
  double l2_latency_;
  double write_buffer_;      // bytes of this share of the L2 that may wait to be written back
  double short_rows_;        // share of the memory's rate that reads of short rows get
  double short_row_writes_;  // the same of writes
  double beyond_latency_;    // of the memory, behind the L2
};

}  // namespace warploom::detailed
