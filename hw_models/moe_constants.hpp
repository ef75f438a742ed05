// SPDX-License-Identifier: Apache-2.0
// The constants of one implementation of mixture-of-experts layers (Triton, CUTLASS, TRT-LLM, Marlin): configs/moe.
#pragma once

#include "sim/core/config.hpp"
#include "sim/core/units.hpp"

namespace warploom {

// hw_models/kernels/moe.cpp says where each enters.
struct MoeConstants {
  int tile_tokens_minimum = 16;
  int tile_tokens_maximum = 128;
  int tile_columns = 128;
  double main_loop = 0.8;
  double most_flops_per_cycle = 1e9;
  double weight_stream = 0.9;
  Cycles ends{2000};
  double auxiliary = 1;
  bool touches_all_rows = true;
  Time fixed = 10_us;
  static auto fields() {
    using C = MoeConstants;
    return field_list(
        field("tile_tokens_minimum", &C::tile_tokens_minimum, "fewest rows of a tile; emptier ones are padded")
            .in(8, 1024),
        field("tile_tokens_maximum", &C::tile_tokens_maximum, "most rows of a tile").in(8, 1024),
        field("tile_columns", &C::tile_columns, "columns of a tile").in(16, 1024),
        field("main_loop", &C::main_loop, "share of the tensor rate that the products reach").in(0.02, 1),
        field(
            "most_flops_per_cycle", &C::most_flops_per_cycle,
            "FLOP a clock and SM at most, whatever the device's rate: kernels with instructions of older tensor cores")
            .optional()
            .in(1, 1e9),
        field("weight_stream", &C::weight_stream, "share of the reached bandwidth that the experts' weights reach")
            .in(0.05, 1.1),
        field("ends", &C::ends, "start and end of a tile").at_most(100000_cycles),
        field("auxiliary", &C::auxiliary,
              "passes over rows beside the products (permuting, activation, sum), of those that a plain implementation "
              "has")
            .in(0, 10),
        field("touches_all_rows", &C::touches_all_rows, "those passes take the rows of experts of other devices, too"),
        field("fixed", &C::fixed, "routing, sorting and launches").at_most(1_ms));
  }
};

}  // namespace warploom
