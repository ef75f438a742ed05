// SPDX-License-Identifier: Apache-2.0
// A kernel as its blocks run it: roles of warps, the barriers between them, and where their traffic comes from.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "hw_models/programs/instruction.hpp"
#include "sim/core/units.hpp"

namespace warploom {

// Barriers used in turn (mbarrier): phase i is over when `arrivals` have come for it. The i-th wait of a warp is for
// phase i. Arrivals may be ends of copies or of a block's products: `copies` and `products` say how many of them a warp
// that issues them brings in a phase.
struct Ring {
  std::string name;
  int arrivals = 1;
  int copies = 0;
  int products = 0;
  int free_at_start = 0;  // phases that are over before the block starts: the stages of an empty pipeline
};

// One tensor's traffic. (Not `Stream`, nor `Role` below: sim/work/program.hpp has those.)
struct TileStream {
  std::string name;
  double from_memory = 1;             // share of its bytes that the L2 does not have
  double cluster = 1;                 // blocks that share one read from the L2
  bool has_short_rows = false;        // its tiles' rows are a line or two long: each opens another page of the memory
  double more_latency = 0;            // cycles that its copies take from the memory, beyond the memory's own
  bool has_parts_of_sectors = false;  // each lane's store fills only some bytes of a sector of 32
};

// Warps of a block that do the same.
struct WarpRole {
  std::string name;
  int warps = 1;
  int registers = 32;  // a thread
  std::vector<Instruction> code;
};

// Blocks that follow one another in the order of dispatch and do the same work.
struct BlockGroup {
  std::int64_t blocks = 1;
  std::int64_t turns = 1;              // of loops whose count is 0
  std::array<std::int64_t, 5> more{};  // of loops whose count is -1, -2, ... -5
  std::int64_t work = 0;               // of a block beside others', in turns; 0: as many as `turns`
  friend bool operator==(const BlockGroup&, const BlockGroup&) = default;
};

// Bytes that the driver keeps of shared memory for each block (CUDA programming guide: 1 KB).
inline constexpr std::int64_t reserved_shared_memory = 1024;

struct KernelProgram {
  std::string name;
  std::vector<WarpRole> roles;
  std::vector<Ring> rings;
  std::vector<TileStream> streams;
  std::vector<BlockGroup> blocks;
  Bytes shared_memory{0};      // of a block
  int tensor_columns = 0;      // of tensor memory, of a block
  bool is_persistent = false;  // a block stays and takes one after the other: only the first ones of an SM are launched
  Bytes footprint{0};          // that it reads, all blocks together: beyond half of a split L2 some of it is far
  DataType type = DataType::bf16;
  bool joins_before = false;  // blocks of the launch before that do something else: no gap
  Flops flops{0};             // of Tensor Cores, as asked for: padding costs time, but its zeros little energy
  double flop_energy = 1;     // of one of them over that of a dense one: what sparsity leaves out takes none

  int warps() const;      // of a block
  int registers() const;  // of a block
  std::int64_t block_count() const;
};

}  // namespace warploom
