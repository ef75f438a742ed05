// SPDX-License-Identifier: Apache-2.0
// The constants of one implementation of fused attention (FlashAttention-2, TRT-LLM, ...): configs/attention.
//
// They are cycles, tiles and rules of its kernels, so that all devices that run it share them.
// hw_models/kernels/attention_forward.cpp and attention_backward.cpp say where each enters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "sim/core/config.hpp"
#include "sim/core/units.hpp"

namespace warploom {

// Into how many parts the library cuts the keys of few queries.
enum class SplitRule : std::uint8_t {
  none,
  fewest_waves,  // the least number within 15% of the best wave (FlashAttention's num_splits_heuristic)
  even_load,     // as many tiles of keys a block as an SM has on average (FlashAttention-3's varlen scheduler)
  fill,          // as many as SMs have room for (TRT-LLM's multi-CTA mode)
};

template <>
struct EnumNames<SplitRule> {
  static constexpr std::pair<SplitRule, std::string_view> values[] = {{SplitRule::none, "none"},
                                                                      {SplitRule::fewest_waves, "fewest_waves"},
                                                                      {SplitRule::even_load, "even_load"},
                                                                      {SplitRule::fill, "fill"}};
};

// Few queries against many keys (decoding): split-KV.
struct DecodeConstants {
  int tile_queries = 64;
  int tile_keys = 128;
  int blocks_an_sm = 1;
  SplitRule split = SplitRule::none;
  int split_maximum = 128;
  int split_minimum_tiles = 1;
  bool splits_grouped_only = false;
  bool packs_windowed = true;
  bool copies_groups = false;
  Cycles prologue{0};
  Cycles epilogue{0};
  Cycles window_start{0};
  Time combine;
  Cycles combine_part{0};
  static auto fields() {
    using C = DecodeConstants;
    return field_list(
        field("tile_queries", &C::tile_queries, "rows of a block, filled or not").in(1, 1024),
        field("tile_keys", &C::tile_keys, "keys a step, at head dimension 128").in(16, 1024),
        field("blocks_an_sm", &C::blocks_an_sm, "blocks that share an SM").in(1, 32),
        field("split", &C::split, "rule for the number of parts of the keys"),
        field("split_maximum", &C::split_maximum, "most parts").in(1, 1024),
        field("split_minimum_tiles", &C::split_minimum_tiles, "no parts where all keys fill no more steps than this")
            .in(1, 1024),
        field("splits_grouped_only", &C::splits_grouped_only, "no parts without grouped queries").optional(),
        field("packs_windowed", &C::packs_windowed, "packs the queries of a group with a window, too").optional(),
        field("copies_groups", &C::copies_groups, "copies packed queries before and results after").optional(),
        field("prologue", &C::prologue, "from a block's start to its first product").at_most(100000_cycles),
        field("epilogue", &C::epilogue, "from a block's last product to its end, at head dimension 128")
            .at_most(100000_cycles),
        field("window_start", &C::window_start, "more before the first product where a window cuts keys off")
            .optional()
            .at_most(100000_cycles),
        field("combine", &C::combine, "adding the parts up, beside moving them").at_most(1_ms),
        field("combine_part", &C::combine_part, "of it, for each part: they are read one after the other")
            .optional()
            .at_most(100000_cycles));
  }
};

// Latent attention whose queries work on the latent itself, where its kernels differ from those of usual heads.
struct LatentConstants {
  double stream = 1;
  double stream_8bit = 1;
  double converted_per_cycle = 0;
  int few_heads = 0;
  int few_heads_tile = 16;
  double query_copies = 0;
  Time scheduling;
  static auto fields() {
    using C = LatentConstants;
    return field_list(
        field("stream", &C::stream, "share of the reached bandwidth that latents of 16 bits reach")
            .optional()
            .in(0.1, 1.1),
        field("stream_8bit", &C::stream_8bit, "the same of 8 bits").optional().in(0.1, 1.1),
        field("converted_per_cycle", &C::converted_per_cycle,
              "elements of 8-bit latents that are converted, a clock and SM; 0: as usual keys")
            .optional()
            .in(0, 4096),
        field("few_heads", &C::few_heads, "up to so many heads have tiles of their own size").optional().in(0, 1024),
        field("few_heads_tile", &C::few_heads_tile, "heads of such a tile; each reads the latents")
            .optional()
            .in(1, 1024),
        field("query_copies", &C::query_copies, "times that the queries are copied before, to join their parts")
            .optional()
            .in(0, 8),
        field("scheduling", &C::scheduling, "kernels that plan a serving engine's batch before")
            .optional()
            .at_most(1_ms));
  }
};

struct AttentionConstants {
  int tile_queries = 128;
  int tile_keys = 128;
  int blocks_an_sm = 1;
  bool packs_groups = false;
  bool is_pipelined = false;
  bool heads_outermost = false;
  double main_loop = 1;
  double softmax_overlap = 1;
  double softmax_cycles_scale = 1;
  double exposed_latency = 0;
  bool eight_bit_products = false;
  double converted_per_cycle = 0;
  double ends_overlap = 0;
  double backward_main_loop = 1;
  double backward_overlap = 1;
  int backward_tile_queries = 64;
  int backward_tile_keys = 128;
  Cycles prologue{0};
  Cycles epilogue{0};
  Time fixed;
  Time scheduling;
  DecodeConstants decode;
  LatentConstants latent;
  static auto fields() {
    using C = AttentionConstants;
    return field_list(
        field("tile_queries", &C::tile_queries, "queries a block").in(1, 1024),
        field("tile_keys", &C::tile_keys, "keys a step, at head dimension 128").in(16, 1024),
        field("blocks_an_sm", &C::blocks_an_sm, "blocks that share an SM").optional().in(1, 32),
        field("packs_groups", &C::packs_groups, "queries of a group fill tiles together"),
        field("is_pipelined", &C::is_pipelined, "loads, products and softmax of one block overlap (roles by warps)")
            .optional(),
        field("heads_outermost", &C::heads_outermost,
              "one head of all sequences after the other: the heads of a group find their keys in the L2 only if one "
              "head of all sequences fits")
            .optional(),
        field("main_loop", &C::main_loop, "share of the tensor rate that the products reach").in(0.05, 1),
        field("softmax_overlap", &C::softmax_overlap,
              "a step takes at least this share of products + softmax one after the other")
            .in(0.5, 1),
        field("softmax_cycles_scale", &C::softmax_cycles_scale,
              "cycles of the softmax over those of its exponentials alone")
            .in(0.5, 16),
        field("exposed_latency", &C::exposed_latency, "memory latencies a step that a block alone waits for")
            .optional()
            .in(0, 4),
        field("eight_bit_products", &C::eight_bit_products,
              "with keys and values of 8 bits the products are 8-bit, too; else those are converted")
            .optional(),
        field(
            "converted_per_cycle", &C::converted_per_cycle,
            "keys and values of 8 bits that are converted or transposed on their way, elements a clock and SM; 0: none")
            .optional()
            .in(0, 4096),
        field("ends_overlap", &C::ends_overlap, "share of the blocks' starts and ends while which memory is kept busy")
            .optional()
            .in(0, 1),
        field("backward_main_loop", &C::backward_main_loop,
              "share of the tensor rate that the five products of the backward pass reach")
            .optional()
            .in(0.05, 1),
        field("backward_overlap", &C::backward_overlap, "as softmax_overlap, backward").optional().in(0.5, 1),
        field("backward_tile_queries", &C::backward_tile_queries, "queries a step, backward").optional().in(16, 1024),
        field("backward_tile_keys", &C::backward_tile_keys, "keys a block, backward").optional().in(16, 1024),
        field("prologue", &C::prologue, "from a block's start to its first product").at_most(100000_cycles),
        field("epilogue", &C::epilogue, "from a block's last product to its end, at head dimension 128")
            .at_most(100000_cycles),
        field("fixed", &C::fixed, "start and end of the kernel").at_most(1_ms),
        field("scheduling", &C::scheduling, "kernels that plan a serving engine's batch before")
            .optional()
            .at_most(1_ms),
        field("decode", &C::decode, "few queries against many keys"),
        field("latent", &C::latent, "few queries against latents").optional());
  }
};

}  // namespace warploom
