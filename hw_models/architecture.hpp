// SPDX-License-Identifier: Apache-2.0
// What all devices of one architecture share: how its kernel libraries tile and overlap, and what an operation's energy
// is.
//
// These are the fitted numbers (scripts/calibrate_kernels.py); they belong to a kernel family x architecture and carry
// over to siblings that differ in SMs, clocks, bandwidth or power limit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/core/config.hpp"
#include "sim/core/units.hpp"

namespace warploom {

// An output tile that the GEMM library has a kernel for.
struct GemmTile {
  int m = 0;
  int n = 0;
  static auto fields() {
    return field_list(field("m", &GemmTile::m, "rows of the output that one block computes").in(1, 4096),
                      field("n", &GemmTile::n, "columns of the output that one block computes").in(1, 4096));
  }
};

// hw_models/kernels/gemm.cpp says where each enters.
struct GemmConstants {
  std::vector<GemmTile> tiles;
  double main_loop = 1;
  double multicast = 1;
  double port_bytes_per_cycle = 64;
  Cycles prologue{0};
  Cycles epilogue{0};
  double epilogue_overlap = 0;
  double wave_quantisation = 1;
  double l2_share = 0.7;
  double l2_kept = 0.2;
  double memory_overlap = 1;
  Time fixed;
  Time split_fixed;
  int split_minimum_depth = 512;
  int split_maximum = 16;
  static auto fields() {
    return field_list(
        field("tiles", &GemmConstants::tiles, "output tiles that the library has kernels for"),
        field("main_loop", &GemmConstants::main_loop, "share of the tensor rate that the main loop reaches").in(0.1, 1),
        field("multicast", &GemmConstants::multicast, "blocks that share an operand read (a cluster); 1: none")
            .in(1, 16),
        field("port_bytes_per_cycle", &GemmConstants::port_bytes_per_cycle,
              "operand bytes a clock that one SM alone can read")
            .in(1, 1024),
        field("prologue", &GemmConstants::prologue, "from a block's start to its first product").at_most(100000_cycles),
        field("epilogue", &GemmConstants::epilogue, "writing a 128 x 128 tile after its last product")
            .at_most(100000_cycles),
        field("epilogue_overlap", &GemmConstants::epilogue_overlap,
              "share of prologue and epilogue behind the next tile's products")
            .in(0, 1),
        field("wave_quantisation", &GemmConstants::wave_quantisation,
              "share of an SM's idle time in the last wave that the library cannot fill with smaller tiles")
            .in(0, 1),
        field("l2_share", &GemmConstants::l2_share, "share of the L2 that operands occupy").in(0.05, 1),
        field("l2_kept", &GemmConstants::l2_kept,
              "share of the L2 that is still there when the same product is repeated")
            .in(0.01, 1),
        field("memory_overlap", &GemmConstants::memory_overlap,
              "share of the shorter of products and memory traffic behind the longer")
            .in(0, 1),
        field("fixed", &GemmConstants::fixed, "start and end of the kernel").at_most(1_ms),
        field("split_fixed", &GemmConstants::split_fixed, "extra for adding the parts of a split k").at_most(1_ms),
        field("split_minimum_depth", &GemmConstants::split_minimum_depth, "least k of one part").in(16, 1 << 20),
        field("split_maximum", &GemmConstants::split_maximum, "most parts").in(1, 1024));
  }
};

// hw_models/kernels/flash_attention.cpp says where each enters.
struct AttentionConstants {
  int tile_queries = 128;
  int tile_keys = 128;
  bool packs_groups = false;
  double main_loop = 1;
  double softmax_overlap = 1;
  double softmax_cycles_scale = 1;
  double backward_main_loop = 1;
  double backward_overlap = 1;
  int backward_tile_queries = 64;
  int backward_tile_keys = 128;
  Cycles prologue{0};
  Cycles epilogue{0};
  Time fixed;
  static auto fields() {
    return field_list(
        field("tile_queries", &AttentionConstants::tile_queries, "queries a block").in(16, 1024),
        field("tile_keys", &AttentionConstants::tile_keys, "keys a step, at head dimension 128").in(16, 1024),
        field("packs_groups", &AttentionConstants::packs_groups, "queries of a group fill tiles together"),
        field("main_loop", &AttentionConstants::main_loop, "share of the tensor rate that the products reach")
            .in(0.1, 1),
        field("softmax_overlap", &AttentionConstants::softmax_overlap,
              "a step takes at least this share of products + softmax one after the other")
            .in(0.5, 1),
        field("softmax_cycles_scale", &AttentionConstants::softmax_cycles_scale,
              "cycles of the softmax over those of its exponentials alone")
            .in(1, 8),
        field("backward_main_loop", &AttentionConstants::backward_main_loop,
              "share of the tensor rate that the five products of the backward pass reach")
            .in(0.1, 1),
        field("backward_overlap", &AttentionConstants::backward_overlap, "as softmax_overlap, backward").in(0.5, 1),
        field("backward_tile_queries", &AttentionConstants::backward_tile_queries, "queries a step, backward")
            .in(16, 1024),
        field("backward_tile_keys", &AttentionConstants::backward_tile_keys, "keys a block, backward").in(16, 1024),
        field("prologue", &AttentionConstants::prologue, "from a block's start to its first product")
            .at_most(100000_cycles),
        field("epilogue", &AttentionConstants::epilogue, "from a block's last product to its end")
            .at_most(100000_cycles),
        field("fixed", &AttentionConstants::fixed, "start and end of the kernel").at_most(1_ms));
  }
};

// Memory-bound kernels (hw_models/streaming.hpp): bytes a clock that an SM's instructions can move, by implementation.
struct StreamingConstants {
  double element_wise = 64;
  double norm = 64;
  double swiglu = 64;
  double gelu = 64;
  double rotary = 64;
  double embedding = 64;
  double cross_entropy = 64;
  double optimizer_update = 64;
  Time fixed;
  static auto fields() {
    using C = StreamingConstants;
    return field_list(
        field("element_wise", &C::element_wise, "bytes a clock and SM: element-wise kernels and casts").in(0.01, 256),
        field("norm", &C::norm, "the same: normalisations").in(0.01, 256),
        field("swiglu", &C::swiglu, "the same: SwiGLU").in(0.01, 256),
        field("gelu", &C::gelu, "the same: GELU").in(0.01, 256),
        field("rotary", &C::rotary, "the same: rotary embedding").in(0.01, 256),
        field("embedding", &C::embedding, "the same: embedding").in(0.01, 256),
        field("cross_entropy", &C::cross_entropy, "the same: cross entropy").in(0.01, 256),
        field("optimizer_update", &C::optimizer_update, "the same: optimizer update").in(0.01, 256),
        field("fixed", &C::fixed, "start and end of the kernel").at_most(1_ms));
  }
};

// At the highest clock; see hw_models/operating_point.hpp.
struct EnergyConstants {
  std::map<std::string, Energy> tensor_flop;
  Energy vector_flop{0};
  Energy l2_byte{0};
  Energy memory_byte{0};
  double spread = 0;
  static auto fields() {
    return field_list(
        field("tensor_flop", &EnergyConstants::tensor_flop,
              "of one tensor FLOP by data type, operands from shared memory included")
            .at_most(Energy(1e-9)),
        field("vector_flop", &EnergyConstants::vector_flop, "of one FP32 FLOP on the vector lanes")
            .at_most(Energy(1e-9)),
        field("l2_byte", &EnergyConstants::l2_byte, "of one byte from the L2 to an SM").at_most(Energy(1e-8)),
        field("memory_byte", &EnergyConstants::memory_byte, "of one byte from device memory to the L2")
            .at_most(Energy(1e-8)),
        field("spread", &EnergyConstants::spread, "relative deviation of the core's energies between chips of one kind")
            .optional()
            .in(0, 0.2));
  }
};

struct ArchitectureSpec {
  std::string name;
  std::string source;
  GemmConstants gemm;
  AttentionConstants attention;
  StreamingConstants streaming;
  EnergyConstants energy;
  static auto fields() {
    return field_list(
        field("name", &ArchitectureSpec::name, "what it is called"),
        field("source", &ArchitectureSpec::source, "what the constants were fitted on, and when").optional(),
        field("gemm", &ArchitectureSpec::gemm, "matrix products"),
        field("attention", &ArchitectureSpec::attention, "fused attention"),
        field("streaming", &ArchitectureSpec::streaming, "memory-bound kernels"),
        field("energy", &ArchitectureSpec::energy, "what an operation costs in energy"));
  }
};

}  // namespace warploom
