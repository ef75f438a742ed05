// SPDX-License-Identifier: Apache-2.0
// What the warps of a kernel do, as the inside of a device sees it: instructions of tiles, not of threads.
//
// One instruction stands for `count` equal warp instructions in a row. Rates and latencies are the device's, never the
// program's: a program says what is done, in which order, and what waits for what.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "sim/core/config.hpp"
#include "sim/work/data_type.hpp"

namespace warploom {

enum class Op : std::uint8_t {
  fma,          // on the FP32 lanes
  alu,          // integers, compares, conversions, shuffles
  sfu,          // exponentials, reciprocals
  mma,          // products of one warp, operands in registers; the warp may go on, `drain` waits for them
  wgmma,        // products of a warpgroup, B (and A) in shared memory; asynchronous, one queue a warpgroup
  tcgen05,      // products of a block, accumulators in tensor memory; asynchronous, arrives at a barrier
  drain,        // until at most `count` of the warp's products are left
  copy_tile,    // memory to shared memory by the TMA or cp.async; its bytes arrive at a barrier
  store_tile,   // shared memory to memory; asynchronous
  load,         // memory to registers; `use` waits for them
  store,        // registers to memory; asynchronous
  shared_load,  // shared memory to registers
  shared_store,
  use,          // until at most `count` of the warp's loads are left
  tensor_load,  // tensor memory to registers
  arrive,       // at a ring of barriers
  wait,         // for a ring's next phase
  depend,       // until the kernel before has ended: what comes before this ran under it (programmatic launch)
  sync,         // named barrier of `count` warps
  loop,         // `count` times up to its end
  end_loop,
};

template <>
struct EnumNames<Op> {
  static constexpr std::pair<Op, std::string_view> values[] = {
      {Op::fma, "fma"},
      {Op::alu, "alu"},
      {Op::sfu, "sfu"},
      {Op::mma, "mma"},
      {Op::wgmma, "wgmma"},
      {Op::tcgen05, "tcgen05"},
      {Op::drain, "drain"},
      {Op::copy_tile, "copy_tile"},
      {Op::store_tile, "store_tile"},
      {Op::load, "load"},
      {Op::store, "store"},
      {Op::shared_load, "shared_load"},
      {Op::shared_store, "shared_store"},
      {Op::use, "use"},
      {Op::tensor_load, "tensor_load"},
      {Op::arrive, "arrive"},
      {Op::wait, "wait"},
      {Op::depend, "depend"},
      {Op::sync, "sync"},
      {Op::loop, "loop"},
      {Op::end_loop, "end_loop"},
  };
};

constexpr std::string_view name(Op op) {
  for (const auto& [known, name] : EnumNames<Op>::values) {
    if (known == op) return name;
  }
  return "?";
}

struct Instruction {
  Op op = Op::alu;
  std::int64_t count = 1;  // warp instructions, turns of a loop (0 and less: the block's group has them), what is left
  std::int64_t bytes =
      0;            // that one of them moves: per warp, a tile's for copy_tile; of mma the fragments of all of them,
                    // of wgmma and tcgen05 what copies write into shared memory meanwhile: its one port is for both
  int ring = -1;    // KernelProgram::rings: what is waited for, or arrived at, also by a copy or tcgen05 at its end
  int stream = -1;  // KernelProgram::streams: whose traffic it is
  int m = 0, n = 0, k = 0;  // of one product
  DataType type = DataType::bf16;
  bool is_sparse = false;       // one operand has 2:4 structured sparsity: k counts what is left out, too
  bool a_in_registers = false;  // only B is read from shared memory
  double b_share = 1;           // of B, what this SM's shared memory holds: half in a pair of SMs
  double conflict = 1;          // shared memory is read so many times (ways of a bank conflict)
  double lines = 0;      // of 128 bytes that one load or store touches: the L1 takes one a cycle; 0: as its bytes
  double paths = 1;      // of a divergent branch, one after the other
  int stages = 0;        // of a loop whose turns are alike: its rings are where they were after so many
  std::int64_t fma = 0;  // independent ones on the other pipes among those of a math instruction or mma: the compiler
  std::int64_t alu = 0;  // interleaves them, so that all pipes are busy at once
  bool waits = false;    // the warp waits for the result of the last one (a dependent chain)
};

}  // namespace warploom
