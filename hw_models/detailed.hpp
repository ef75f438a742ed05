// SPDX-License-Identifier: Apache-2.0
// The inside of a device: plays a kernel's program on its SMs, the L2 and the memory.
//
// By default one SM, the busiest, is played in full against an L2 and a memory scaled to its share of the load; with
// `all_sms` every SM is. Turns and waves that repeat are played until they do, then counted. What crosses is data:
// SystemC stays behind it (hw_models/systemc).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hw_models/device.hpp"
#include "hw_models/programs/kernel_program.hpp"

namespace warploom {

// Where a warp's cycles went, by the names of Nsight Compute's warp states.
enum class Stall : std::uint8_t {
  selected,            // issued
  barrier,             // at a named barrier or mbarrier that other warps arrive at
  long_scoreboard,     // on data from the L2 and beyond
  gmma,                // on products that are not done
  math_pipe_throttle,  // on a busy FP32, integer or special function pipe
  mio_throttle,        // on the pipe to shared memory
  short_scoreboard,    // on data from shared or tensor memory
  wait,                // on the result of the last instruction, a fixed latency
  not_selected,        // another warp issued
  launch,              // its block starts
  lg_throttle,         // on stores that the L2 has not taken
  no_instruction,      // on instructions that are fetched for the first time
};
inline constexpr std::size_t stall_count = 12;

template <>
struct EnumNames<Stall> {
  static constexpr std::pair<Stall, std::string_view> values[] = {
      {Stall::selected, "selected"},
      {Stall::barrier, "barrier"},
      {Stall::long_scoreboard, "long_scoreboard"},
      {Stall::gmma, "gmma"},
      {Stall::math_pipe_throttle, "math_pipe_throttle"},
      {Stall::mio_throttle, "mio_throttle"},
      {Stall::short_scoreboard, "short_scoreboard"},
      {Stall::wait, "wait"},
      {Stall::not_selected, "not_selected"},
      {Stall::launch, "launch"},
      {Stall::lg_throttle, "lg_throttle"},
      {Stall::no_instruction, "no_instruction"},
  };
};

// Of one SM; `add` sums.
struct SmCounts {
  std::array<double, stall_count> stalls{};  // warp cycles
  double issued = 0;                         // warp instructions
  double tensor = 0;                         // cycles that a sub-partition's Tensor Core was busy, on average
  double fma = 0;                            // the same of the other pipes
  double alu = 0;
  double sfu = 0;
  double shared = 0;        // cycles of the pipe to shared memory
  double vector_flops = 0;  // of FP32, integer and special function lanes
  double tensor_flops = 0;  // issued, padding included
  double to_sm = 0;         // bytes into the SM
  double from_l2 = 0;       // bytes that the L2 was read for it
  double from_memory = 0;
  double written = 0;  // bytes from the SM
  double to_memory = 0;
  void add(const SmCounts& other, double times);
};

// What a warp or a unit did, for a picture.
struct Span {
  int lane = 0;
  std::string what;
  double start = 0;  // cycles
  double end = 0;
};

struct BlockPicture {
  std::vector<std::string> lanes;
  std::vector<Span> spans;
};

struct DetailedOptions {
  bool all_sms = false;
  bool draws = false;                               // keeps what the first block of the SM does
  std::function<void(double share)> progress = {};  // told now and then how much of the program has started
};

// What is added here is to be kept, too: hw_models/detailed_record.cpp.
struct DetailedResult {
  std::string program;
  Frequency clock{0};
  double cycles = 0;     // from the first block's start until the last result is in the L2
  double prologue = 0;   // of them, what may run under the kernel before
  SmCounts sm;           // of the SM that was played, or of all on average
  double sm_cycles = 0;  // that SM's own
  int warps_an_sm = 0;   // of the blocks that fit at once
  double occupancy = 0;  // of them, over the most an SM can have
  int blocks_an_sm = 0;
  std::int64_t blocks = 0;
  double waves = 0;  // blocks over places
  double scale = 1;  // SMs' worth of work of the whole kernel
  std::int64_t activations = 0;
  double extrapolated = 0;  // share of the cycles that steady state stands for
  BlockPicture picture;

  double share(double busy) const { return sm_cycles > 0 ? busy / sm_cycles : 0; }
  double stall_share(Stall stall) const;  // of all warp cycles
  // Beyond `selected`, `not_selected` and the waits of warps that only feed others: the one with most cycles.
  Stall top_stall() const;
  double from_l2() const { return scale * sm.from_l2; }  // bytes, of the device
  double from_memory() const { return scale * sm.from_memory; }
  double written() const { return scale * sm.written; }
  double to_memory() const { return scale * sm.to_memory; }
};

// How many blocks of the program an SM holds. Throws UserError with the arithmetic where none fits.
int resident_blocks(const KernelProgram& program, const DeviceSpec& device);

// Is pure, but runs one at a time in a process (SystemC's kernel is global). Throws UserError for a program that does
// not fit the device, that waits for ever, or that is too long.
DetailedResult simulate_detailed(const KernelProgram& program, const DeviceSpec& device, Frequency clock,
                                 const DetailedOptions& options = {});

// Whether this build has the model: it needs SystemC (Debian: libsystemc-dev).
bool has_detailed_model();

}  // namespace warploom
