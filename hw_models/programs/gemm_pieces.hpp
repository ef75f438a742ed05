// SPDX-License-Identifier: Apache-2.0
// What the three shapes of a GEMM program have in common: a product in tiles and stages, its streams, its ends, and the
// blocks of stream-K.
#pragma once

#include <cstdint>
#include <vector>

#include "hw_models/device.hpp"
#include "hw_models/kernels/gemm_blocking.hpp"
#include "hw_models/kernels/stream_k.hpp"
#include "hw_models/programs/tile_parts.hpp"

namespace warploom::gemm_pieces {

// Streams.
inline constexpr int a = 0;
inline constexpr int b = 1;
inline constexpr int c = 2;
inline constexpr int parameters = 3;
inline constexpr int sums = 4;  // of tiles that stream-K cuts, in FP32

// Counts of a stream-K worker's loops (BlockGroup): steps of the tile that it begins are its turns. All loops of steps
// stand in one more main loop, so that steady state never takes a step of one for a tile of another.
inline constexpr std::int64_t begun = 0;
inline constexpr std::int64_t has_begun = -1;
inline constexpr std::int64_t whole = -2;  // tiles
inline constexpr std::int64_t finished = -3;
inline constexpr std::int64_t has_finished = -4;
inline constexpr std::int64_t peers = -5;
inline constexpr std::int64_t none = -100;        // no loop
inline constexpr std::int64_t least_stretch = 4;  // steps: as many as fill a pipeline

// What all three shapes are built from.
struct Tiling {
  const GemmShape& shape;
  const DeviceSpec& device;
  GemmBlocking blocking{};
  std::int64_t m = 0;  // of a tile
  std::int64_t n = 0;
  std::int64_t steps = 1;
  std::int64_t a_bytes = 0;  // of a stage
  std::int64_t b_bytes = 0;
  std::int64_t c_bytes = 0;  // of a tile's results
  int depth = 0;             // k of one product: 32 bytes
  int products = 0;          // of that depth a stage
  int stages = 2;
  std::vector<StreamKWork> work{};  // of each block; empty: a tile a block, or whole tiles in turn
};

// Throws UserError where a thread's share of a tile's sums leaves no registers for anything else.
void check_sums(const Tiling& t, std::int64_t threads);

// Blocks that share reads of A and of B.
struct Sharers {
  double a = 1;
  double b = 1;
};

Tiling tiling(const GemmShape& shape, const GemmBlocking& blocking, const DeviceSpec& device);
// Where the shape asks for stream-K, and it gains.
void spread_along_k(Tiling& t, std::int64_t workers, std::int64_t least);
// As many stages as fit beside a buffer for results, with `blocks` blocks an SM.
int stages_that_fit(const Tiling& t, std::int64_t beside, int blocks, int most);
std::int64_t row_tiles(const Tiling& t);
std::int64_t column_tiles(const Tiling& t);
// A cluster of two blocks lies across the operand whose sharing saves more, where there are two tiles to share it.
Sharers cluster_of_two(const Tiling& t);
// What lies beyond the edge is neither read nor written.
double a_fill(const Tiling& t);
double b_fill(const Tiling& t);
std::int64_t stored(const Tiling& t);  // bytes of a tile's results
// Streams with what the L2 lacks of them: what is read from memory over what is asked for.
std::vector<TileStream> streams_of(const Tiling& t, const Sharers& sharers);
KernelProgram base(const Tiling& t, const char* how);
Instruction product(const Tiling& t, Op op, std::int64_t m, std::int64_t n, std::int64_t count);
// A warp's share of the results, from registers through shared memory to whole lines. `old`: C is read, too.
Code epilogue(const Tiling& t, std::int64_t share, bool reads_old);
// A warp's share of a cut tile's sums, to memory and a flag behind them.
Code store_sums(const Tiling& t, std::int64_t share);
// What a peer has left: its flag, then its sums.
Code add_sums(const Tiling& t, std::int64_t share);
// Each worker is a block. `ahead`: steps of a stretch that stand outside its loop.
void make_workers(KernelProgram& program, const Tiling& t, std::int64_t ahead);
// One block an SM, for several tiles: the next one's copies begin under the epilogue.
void make_persistent(KernelProgram& program, const Tiling& t);

}  // namespace warploom::gemm_pieces
