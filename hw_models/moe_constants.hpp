// SPDX-License-Identifier: Apache-2.0
// The constants of one implementation of mixture-of-experts layers (Triton, CUTLASS, TRT-LLM, Marlin): configs/moe.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/config.hpp"
#include "sim/core/units.hpp"

namespace warploom {

// How the implementation takes rows and columns of a tile.
enum class MoeTileRule : std::uint8_t {
  rows,               // the power of two at the mean rows of a busy expert
  vllm,               // vLLM's defaults since 2026: by the tokens
  vllm_block_scaled,  // those for scales of 128 x 128 blocks
  vllm_first,         // vLLM's defaults before: by the tokens an expert; or a tuned table
};

template <>
struct EnumNames<MoeTileRule> {
  static constexpr std::pair<MoeTileRule, std::string_view> values[] = {
      {MoeTileRule::rows, "rows"},
      {MoeTileRule::vllm, "vllm"},
      {MoeTileRule::vllm_block_scaled, "vllm_block_scaled"},
      {MoeTileRule::vllm_first, "vllm_first"}};
};

// How the kernel of its grouped products is built, for the detailed model.
enum class MoeKernel : std::uint8_t {
  pipelined,      // as the architecture's products: warps that copy, warps that multiply
  triton,         // all warps copy, wait and multiply in turns
  cutlass_first,  // CUTLASS with the first of its tactics, which nobody has tuned
  trtllm,         // TRT-LLM's: weights by tokens, rows gathered and the activation within the products
  marlin,         // Marlin: products of warps, weights converted in registers
};

template <>
struct EnumNames<MoeKernel> {
  static constexpr std::pair<MoeKernel, std::string_view> values[] = {{MoeKernel::pipelined, "pipelined"},
                                                                      {MoeKernel::triton, "triton"},
                                                                      {MoeKernel::cutlass_first, "cutlass_first"},
                                                                      {MoeKernel::trtllm, "trtllm"},
                                                                      {MoeKernel::marlin, "marlin"}};
};

// A layer that a library ships a tuned table of tiles for.
struct TunedExperts {
  std::int64_t experts = 1;       // on the device
  std::int64_t intermediate = 1;  // of one of them, on the device
  static auto fields() {
    using T = TunedExperts;
    return field_list(field("experts", &T::experts, "experts on the device").at_least(1),
                      field("intermediate", &T::intermediate, "intermediate elements of one of them").at_least(1));
  }
};

// hw_models/kernels/moe.cpp says where each enters.
struct MoeConstants {
  MoeTileRule tile_rule = MoeTileRule::rows;
  MoeKernel kernel = MoeKernel::pipelined;
  bool promotes = false;
  int tile_tokens_minimum = 16;
  int tile_tokens_maximum = 128;
  int tile_columns = 128;
  std::vector<TunedExperts> tuned;
  double main_loop = 0.8;
  double untuned_main_loop = 0.8;
  double most_flops_per_cycle = 1e9;
  double converted_per_cycle = 0;
  double weight_stream = 0.9;
  double weights_kept = 0;
  double weights_again = 1;
  Cycles ends{2000};
  double passes_rows = 1;
  double passes_assignments = 0;
  double passes_tokens = 0;
  bool touches_all_rows = true;
  Time fixed = 10_us;
  static auto fields() {
    using C = MoeConstants;
    return field_list(
        field("tile_rule", &C::tile_rule, "rule for rows and columns of a tile").optional(),
        field("kernel", &C::kernel, "how the grouped products are built, for the detailed model").optional(),
        field("promotes", &C::promotes, "sums of 128 products are scaled and added up in FP32, for the detailed model")
            .optional(),
        field("tile_tokens_minimum", &C::tile_tokens_minimum, "fewest rows of a tile; emptier ones are padded")
            .optional()
            .in(8, 1024),
        field("tile_tokens_maximum", &C::tile_tokens_maximum, "most rows of a tile").optional().in(8, 1024),
        field("tile_columns", &C::tile_columns, "columns of a tile").optional().in(16, 1024),
        field("tuned", &C::tuned, "layers with a tuned table of tiles").optional(),
        field("main_loop", &C::main_loop, "share of the tensor rate that the products reach").in(0.02, 1),
        field("untuned_main_loop", &C::untuned_main_loop, "the same with the small tiles of layers without a table")
            .optional()
            .in(0.02, 1),
        field(
            "most_flops_per_cycle", &C::most_flops_per_cycle,
            "FLOP a clock and SM at most, whatever the device's rate: kernels with instructions of older tensor cores")
            .optional()
            .in(1, 1e9),
        field("converted_per_cycle", &C::converted_per_cycle,
              "weights of 4 bits that are converted on their way, a clock and SM; 0: none")
            .optional()
            .in(0, 4096),
        field("weight_stream", &C::weight_stream, "share of the reached bandwidth that the experts' weights reach")
            .in(0.05, 1.1),
        field("weights_kept", &C::weights_kept,
              "share of the L2 that an expert's weights of one product may fill; larger ones are read for each tile of "
              "rows; 0: the order of tiles avoids that")
            .optional()
            .in(0, 4),
        field("weights_again", &C::weights_again, "share of weight_stream at which they are read again")
            .optional()
            .in(0.05, 1),
        field("ends", &C::ends, "start and end of a tile").at_most(100000_cycles),
        field("passes_rows", &C::passes_rows,
              "passes over the elements of a row beside the products: results of the first, (1 or 2) + 1 intermediate, "
              "and hidden")
            .optional()
            .in(0, 50),
        field("passes_assignments", &C::passes_assignments, "passes over hidden elements a token and expert of its own")
            .optional()
            .in(0, 50),
        field("passes_tokens", &C::passes_tokens, "passes over hidden elements a token").optional().in(0, 50),
        field("touches_all_rows", &C::touches_all_rows, "passes take the rows of experts of other devices, too"),
        field("fixed", &C::fixed, "routing, sorting and launches").at_most(1_ms));
  }
};

}  // namespace warploom
