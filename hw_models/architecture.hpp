// SPDX-License-Identifier: Apache-2.0
// What all devices of one architecture share: how its kernel libraries tile and overlap, and what an operation's energy
// is.
//
// These are the fitted numbers (`warploom calibrate`); they belong to a kernel family x architecture and carry
// over to siblings that differ in SMs, clocks, bandwidth or power limit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hw_models/attention_constants.hpp"
#include "hw_models/gemm_selection.hpp"
#include "hw_models/moe_constants.hpp"
#include "hw_models/pipeline_constants.hpp"
#include "sim/core/config.hpp"
#include "sim/core/units.hpp"

namespace warploom {

// hw_models/kernels/gemm.cpp says where each enters.
struct GemmConstants {
  std::vector<GemmTile> tiles;
  GemmSelectionTable selection;
  double nominal_flops_per_cycle = 4096;
  double nominal_l2_bytes_per_cycle_per_sm = 35;
  double main_loop = 1;
  double serving_main_loop = 1;
  double serving_memory = 1;
  double split_accumulator = 1;
  double multicast = 1;
  double port_bytes_per_cycle = 64;
  Cycles prologue{0};
  Cycles epilogue{0};
  double epilogue_overlap = 0;
  double wave_quantisation = 1;
  double l2_reached = 1;
  double l2_share = 0.7;
  double memory_overlap = 1;
  Time fixed;
  Time split_fixed;
  int split_minimum_depth = 512;
  double split_maximum = 16;
  static auto fields() {
    return field_list(
        field("tiles", &GemmConstants::tiles, "output tiles that the library has kernels for"),
        field("selection", &GemmConstants::selection, "what the library takes, where it was seen").optional(),
        field("nominal_flops_per_cycle", &GemmConstants::nominal_flops_per_cycle,
              "16-bit FLOP a clock and SM that the library's choice of tiles counts with")
            .in(1, 1e6),
        field("nominal_l2_bytes_per_cycle_per_sm", &GemmConstants::nominal_l2_bytes_per_cycle_per_sm,
              "operand bytes a clock and SM that the library's choice of tiles counts with")
            .in(1, 1024),
        field("main_loop", &GemmConstants::main_loop, "share of the tensor rate that the main loop reaches").in(0.1, 1),
        field("serving_main_loop", &GemmConstants::serving_main_loop,
              "of that, the share that the kernels of serving engines for 8 and 4 bits reach")
            .optional()
            .in(0.1, 1),
        field("serving_memory", &GemmConstants::serving_memory,
              "of the memory bandwidth that a stream reaches, the share that those with block scales reach")
            .optional()
            .in(0.1, 1),
        field("split_accumulator", &GemmConstants::split_accumulator,
              "what is left of the main loop's rate where partial sums of 8-bit products are promoted to FP32")
            .optional()
            .in(0.3, 1),
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
        field("l2_reached", &GemmConstants::l2_reached, "share of the L2's read bandwidth that operand loads reach")
            .in(0.1, 1),
        field("l2_share", &GemmConstants::l2_share, "share of the L2 that operands occupy").in(0.05, 1),
        field("memory_overlap", &GemmConstants::memory_overlap,
              "share of the shorter of products and memory traffic behind the longer")
            .in(0, 1),
        field("fixed", &GemmConstants::fixed, "start and end of the kernel").at_most(1_ms),
        field("split_fixed", &GemmConstants::split_fixed, "extra for adding the parts of a split k").at_most(1_ms),
        field("split_minimum_depth", &GemmConstants::split_minimum_depth, "least k of one part").in(16, 1 << 20),
        field("split_maximum", &GemmConstants::split_maximum, "most parts").in(1, 1024));
  }
};

// Memory-bound kernels (hw_models/streaming.hpp): bytes a clock that an SM's instructions can move, by implementation.
struct StreamingConstants {
  double element_wise = 64;
  double norm = 64;
  double softmax = 32;
  double swiglu = 64;
  double gelu = 64;
  double rotary = 64;
  double cache_write = 5;
  double cache_write_8bit = 4;
  double embedding = 64;
  double cross_entropy = 64;
  double optimizer_update = 64;
  // As on Hopper: an architecture without rows of its own is not faster for want of them.
  double quantize = 7;
  double quantize_block = 3.8;
  Time quantize_fixed = 0.2_us;
  Time quantize_block_fixed;
  double quantize_4bit = 3.8;
  Time quantize_4bit_fixed;
  double quantize_cast = 20;
  double quantize_cast_memory = 1;
  Time quantize_cast_fixed;
  double scale_search_loads = 1;
  Time scale_search_fixed = 5.8_us;
  double after_search = 3;
  Cycles load_issue{105};
  double load_queue = 4;
  double l2_found = 0.7;
  double l2_fade = 0.22;
  double l2_rows = 0.7;
  double l2_rows_none = 1.6;
  double warp_softmax = 0.93;
  double pass_issue = 1;
  Cycles pass_step{533};
  Time fixed;
  static auto fields() {
    using C = StreamingConstants;
    return field_list(
        field("element_wise", &C::element_wise, "bytes a clock and SM: element-wise kernels and casts").in(0.01, 256),
        field("norm", &C::norm, "the same: normalisations").in(0.01, 256),
        field("softmax", &C::softmax, "the same: softmax over rows").optional().in(0.01, 256),
        field("swiglu", &C::swiglu, "the same: SwiGLU").in(0.01, 256),
        field("gelu", &C::gelu, "the same: GELU").in(0.01, 256),
        field("rotary", &C::rotary, "the same: rotary embedding").in(0.01, 256),
        field("cache_write", &C::cache_write, "the same: new keys and values into a serving engine's cache")
            .optional()
            .in(0.01, 256),
        field("cache_write_8bit", &C::cache_write_8bit, "the same, converted to 8 bits").optional().in(0.01, 256),
        field("embedding", &C::embedding, "the same: embedding").in(0.01, 256),
        field("cross_entropy", &C::cross_entropy, "the same: cross entropy").in(0.01, 256),
        field("optimizer_update", &C::optimizer_update, "the same: optimizer update").in(0.01, 256),
        field("quantize", &C::quantize, "the same: quantisation, one scale a row").optional().in(0.01, 256),
        field("quantize_block", &C::quantize_block, "the same: quantisation, one scale a block")
            .optional()
            .in(0.01, 256),
        field("quantize_fixed", &C::quantize_fixed, "small kernels beside a quantisation with one scale a row")
            .optional()
            .at_most(1_ms),
        field("quantize_block_fixed", &C::quantize_block_fixed,
              "small kernels beside a quantisation with one scale a block: their order for the product")
            .optional()
            .at_most(1_ms),
        field("quantize_4bit", &C::quantize_4bit, "the same: quantisation to 4 bits").optional().in(0.01, 256),
        field("quantize_4bit_fixed", &C::quantize_4bit_fixed, "small kernels beside that").optional().at_most(1_ms),
        field("quantize_cast", &C::quantize_cast, "the same: division by a known scale").optional().in(0.01, 256),
        field("quantize_cast_memory", &C::quantize_cast_memory,
              "of the memory bandwidth that a stream reaches, the share that this division reaches")
            .optional()
            .in(0.3, 1.15),
        field("quantize_cast_fixed", &C::quantize_cast_fixed, "start and end of this division beyond `fixed`")
            .optional()
            .at_most(1_ms),
        field("scale_search_loads", &C::scale_search_loads,
              "values that a thread of the search for a tensor's scale waits for at a time")
            .optional()
            .in(0.1, 64),
        field("scale_search_fixed", &C::scale_search_fixed, "the small kernels beside that search")
            .optional()
            .at_most(1_ms),
        field(
            "after_search", &C::after_search,
            "power of the L2 over the values at which the share falls that the division finds there behind the search")
            .optional()
            .in(0.5, 16),
        field("load_issue", &C::load_issue, "from the data of a loop's load to its next load")
            .optional()
            .at_most(100000_cycles),
        field("load_queue", &C::load_queue,
              "power at which such a loop's waiting and the memory's time add: a queue's knee")
            .optional()
            .in(1, 16),
        field("l2_found", &C::l2_found, "share of the L2 that a repeated stream may fill and be found there again")
            .optional()
            .in(0.05, 1),
        field("l2_fade", &C::l2_fade, "a stream longer by this share finds nothing").optional().in(0.01, 4),
        field("l2_rows", &C::l2_rows, "share of the L2 that rows in flight may fill before some are read again")
            .optional()
            .in(0.05, 4),
        field("l2_rows_none", &C::l2_rows_none, "share of the L2, larger, at which all of them are read again")
            .optional()
            .in(0.05, 8),
        field("warp_softmax", &C::warp_softmax,
              "share of the reached bandwidth of a framework's softmax with a row in a warp's registers")
            .optional()
            .in(0.3, 1),
        field("pass_issue", &C::pass_issue,
              "cycles a resident thread of a framework's pass over a row, issue slots of its loop and reduction")
            .optional()
            .in(0, 64),
        field("pass_step", &C::pass_step, "latency of each load, one after another, of such a pass")
            .optional()
            .at_most(100000_cycles),
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
  double least_voltage = 0;
  double among_others = 1;
  double burst = 0;
  Time burst_below;
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
            .in(0, 0.2),
        field("least_voltage", &EnergyConstants::least_voltage,
              "share of the voltage at the highest clock that no clock goes without")
            .optional()
            .in(0, 0.95),
        field("among_others", &EnergyConstants::among_others,
              "of the power limit, what one kernel may draw among others that draw less: governors average over "
              "milliseconds")
            .optional()
            .in(1, 2),
        field("burst", &EnergyConstants::burst,
              "a kernel t long, repeated in a benchmark, may draw the limit x (burst_below / t)^burst")
            .optional()
            .in(0, 0.3),
        field("burst_below", &EnergyConstants::burst_below, "length of kernels that run at the limit")
            .optional()
            .at_most(1_s));
  }
};

// A kernel of the library, measured.
struct SimtKernel {
  int m = 0;
  int n = 0;
  int threads = 0;
  bool transposed = false;
  bool sliced = false;
  double pace = 1;
  static auto fields() {
    return field_list(
        field("m", &SimtKernel::m, "rows of the result that one block computes").in(1, 4096),
        field("n", &SimtKernel::n, "columns of the result that one block computes").in(1, 4096),
        field("threads", &SimtKernel::threads, "threads of a block").in(32, 1024),
        field("transposed", &SimtKernel::transposed, "for a second operand that lies n x k").optional(),
        field("sliced", &SimtKernel::sliced, "four groups of threads share the sums of a tile").optional(),
        field("pace", &SimtKernel::pace, "its cycles over those of the equations").in(0.5, 2));
  }
};

// hw_models/kernels/simt_gemm.cpp says where each enters.
struct SimtGemmConstants {
  std::vector<SimtKernel> kernels;
  double operand_loads = 1;
  double staging = 3;
  double other_instructions = 1;
  double sharpness = 4;
  double idle_warps = 2;
  double registers = 60;
  double stored_bytes_per_cycle = 32;
  Cycles wave{0};
  double memory_overlap = 1;
  Time fixed;
  static auto fields() {
    using C = SimtGemmConstants;
    return field_list(
        field("kernels", &C::kernels, "what the library's kernels need of the equations").optional(),
        field("operand_loads", &C::operand_loads,
              "shared-memory cycles of a thread's operands over those without any broadcast")
            .in(0.1, 4),
        field("staging", &C::staging, "passes through shared memory and L1 of an operand on its way there").in(0, 16),
        field("other_instructions", &C::other_instructions, "issue slots a thread's operand takes").in(0, 16),
        field("sharpness", &C::sharpness, "power at which multiply-adds and operand loads add").in(1, 16),
        field("idle_warps", &C::idle_warps, "W resident warps reach W / (W + this) of the rate").in(0, 32),
        field("registers", &C::registers, "of a thread, beside its sums").in(0, 255),
        field("stored_bytes_per_cycle", &C::stored_bytes_per_cycle, "results that an SM writes, bytes a clock")
            .in(1, 1024),
        field("wave", &C::wave, "latency of a block's first loads and last stores").at_most(100000_cycles),
        field("memory_overlap", &C::memory_overlap, "share of the shorter of products and memory behind the longer")
            .in(0, 1),
        field("fixed", &C::fixed, "start and end of the kernel").at_most(1_ms));
  }
};

struct ArchitectureSpec {
  std::string name;
  std::string source;
  GemmConstants gemm;
  SimtGemmConstants simt_gemm;
  AttentionConstants attention;
  MoeConstants moe;
  StreamingConstants streaming;
  EnergyConstants energy;
  PipelineConstants pipeline;
  static auto fields() {
    return field_list(
        field("name", &ArchitectureSpec::name, "what it is called"),
        field("source", &ArchitectureSpec::source, "what the constants were fitted on, and when").optional(),
        field("gemm", &ArchitectureSpec::gemm, "matrix products"),
        field("simt_gemm", &ArchitectureSpec::simt_gemm, "FP32 products on the vector lanes"),
        field("attention", &ArchitectureSpec::attention, "fused attention"),
        field("moe", &ArchitectureSpec::moe, "mixtures of experts").optional(),
        field("streaming", &ArchitectureSpec::streaming, "memory-bound kernels"),
        field("energy", &ArchitectureSpec::energy, "what an operation costs in energy"),
        field("pipeline", &ArchitectureSpec::pipeline, "instructions and latencies, for the detailed model")
            .optional());
  }
};

}  // namespace warploom
