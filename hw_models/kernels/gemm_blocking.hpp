// SPDX-License-Identifier: Apache-2.0
// How a library cuts a GEMM into blocks: output tile and parts of k, by the rule of the libraries.
//
// Rule: fewest waves x max(products, operands) of a step, adding parts of k included; of what comes within 3% of that
// the fewest parts, then the largest tile, as DeepGEMM documents its own choice (github.com/deepseek-ai/DeepGEMM,
// commit 54e2261). The rule counts in the rates that the library was tuned for, not in those of the device at hand: a
// device with a faster cache gets the same kernel, faster. Measured products show that libraries do so: with this rule
// and the tiles that their kernels' names show, the share of a wave that is lost came out of the fit as 1.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "hw_models/device.hpp"
#include "hw_models/kernels/gemm.hpp"

namespace warploom {

inline constexpr std::int64_t gemm_step_bytes = 128;  // of one row of an operand: what libraries load at a time

// A GEMM cut into blocks.
struct GemmBlocking {
  GemmTile tile;
  double parts = 1;          // of k
  double steps = 0;          // of the main loop, in one block
  double blocks = 0;         // in all
  bool is_stream_k = false;  // the last waves are cut along k (stream_k.hpp); `blocks` are tiles
  std::int64_t stages = 0;   // of the pipeline; 0: as many as fit
  std::int64_t cluster = 0;  // blocks that share reads; 0: by the architecture's library
};

// Who decided, in the order in which they are asked.
enum class ChosenBy : std::uint8_t {
  caller,  // the shape names a tile: a trace's kernel and grid, an option
  table,   // a row of the architecture's selection table
  rule,    // the library's rule
};

template <>
struct EnumNames<ChosenBy> {
  static constexpr std::pair<ChosenBy, std::string_view> values[] = {
      {ChosenBy::caller, "caller"}, {ChosenBy::table, "table"}, {ChosenBy::rule, "rule"}};
};

struct GemmChoice {
  GemmBlocking blocking;
  ChosenBy by = ChosenBy::rule;
  const GemmSelection* row = nullptr;  // of the table
};

// A tile of the rule with the parts that go with it, and what the rule counts for it.
struct GemmCandidate {
  GemmBlocking blocking;
  double cycles = 0;
};

// Of the product that is asked for; tiles that stick out compute more.
double gemm_flops(const GemmShape& shape);

// `parts` of k with this tile.
GemmBlocking gemm_blocking(const GemmTile& tile, double parts, const GemmShape& shape);

// The parts that a library cuts k into: what the shape says, else as many as fill the SMs once.
double gemm_parts(const GemmTile& tile, const GemmShape& shape, const DeviceSpec& device);

// What is taken: what the shape names, else what the table has, else what the rule says. A deterministic product has
// one tile for all m.
GemmChoice choose_gemm(const GemmShape& shape, const DeviceSpec& device);
inline GemmBlocking choose_gemm_blocking(const GemmShape& shape, const DeviceSpec& device) {
  return choose_gemm(shape, device).blocking;
}

// What the rule looks at, in the order of the library's tiles; and how much more than the least it lets pass for fewer
// parts and a larger tile.
std::vector<GemmCandidate> gemm_candidates(const GemmShape& shape, const DeviceSpec& device);
inline constexpr double gemm_tile_gain = 0.03;

// What the rule takes, whoever else was asked.
GemmBlocking ruled_gemm_blocking(const GemmShape& shape, const DeviceSpec& device);

// What the rule counts for any blocking: cycles at the rates that the library was tuned for.
double gemm_nominal_cycles(const GemmBlocking& blocking, const GemmShape& shape, const DeviceSpec& device);

// Bytes of each operand, all batches together.
struct OperandBytes {
  double a = 0;
  double b = 0;
  double both() const { return a + b; }
};

// Bytes read from device memory: tiles go in groups of columns so that a wave is near square; A is read once a group.
OperandBytes gemm_operand_traffic(const GemmBlocking& blocking, const GemmShape& shape, const DeviceSpec& device);

// Of an operand and of the result, the share that the L2 does not have.
struct ColdShares {
  double a = 1;
  double b = 1;
  double c = 1;
};

// In a step all is cold. A benchmark (aiconfigurator's collectors) multiplies the same activations by five copies of
// the weights in turn, into the same memory: A and C come again after one product, B after five. What comes again
// within the share of the L2 that operands occupy is still there; beyond twice that all of it is gone.
ColdShares gemm_cold_shares(const GemmShape& shape, const DeviceSpec& device);

}  // namespace warploom
