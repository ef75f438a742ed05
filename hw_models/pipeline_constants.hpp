// SPDX-License-Identifier: Apache-2.0
// What the inside of an SM does in a cycle and how long its results take: all that the detailed model is told of an
// architecture beside the device's rates. Instruction and link latencies only; nothing of a kernel.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "sim/core/config.hpp"
#include "sim/core/units.hpp"

namespace warploom {

// The instruction that its Tensor Cores are fed with.
enum class TensorUnit : std::uint8_t {
  mma,      // one warp, operands in registers (Volta to Ada)
  wgmma,    // four warps, operands in shared memory, asynchronous (Hopper)
  tcgen05,  // one thread for the block, accumulators in tensor memory (Blackwell)
};

template <>
struct EnumNames<TensorUnit> {
  static constexpr std::pair<TensorUnit, std::string_view> values[] = {
      {TensorUnit::mma, "mma"}, {TensorUnit::wgmma, "wgmma"}, {TensorUnit::tcgen05, "tcgen05"}};
};

struct PipelineConstants {
  TensorUnit tensor_unit = TensorUnit::mma;
  double warp_products = 1;
  Cycles math_latency{4};
  Cycles special_latency{18};
  Cycles shared_latency{33};
  Cycles tensor_latency{33};
  Cycles copy_latency{0};
  Cycles far_latency{0};
  Cycles barrier_latency{20};
  Cycles block_start{300};
  Cycles warp_start{42};
  Cycles block_dispatch{1.1};
  double l2_port = 64;
  double short_rows = 0.92;
  double short_row_writes = 0.75;
  double write_buffer = 0.25;
  double part_of_sector = 192;
  double tensor_memory_port = 512;
  static auto fields() {
    using C = PipelineConstants;
    return field_list(
        field("tensor_unit", &C::tensor_unit, "how Tensor Cores are fed").optional(),
        field("warp_products", &C::warp_products, "share of the tensor rate that products of single warps reach")
            .optional()
            .in(0.05, 1),
        field("math_latency", &C::math_latency, "of an FP32 or integer instruction").optional().at_most(1000_cycles),
        field("special_latency", &C::special_latency, "of a special function").optional().at_most(1000_cycles),
        field("shared_latency", &C::shared_latency, "of a load from shared memory").optional().at_most(10000_cycles),
        field("tensor_latency", &C::tensor_latency, "from the end of a product's work to its result")
            .optional()
            .at_most(10000_cycles),
        field("copy_latency", &C::copy_latency, "of a bulk copy into shared memory, beyond a load's")
            .optional()
            .at_most(100000_cycles),
        field("far_latency", &C::far_latency, "to the L2's other partition, beyond the near one's; 0: it has one")
            .optional()
            .at_most(100000_cycles),
        field("barrier_latency", &C::barrier_latency, "from the last arrival at a barrier to the waiting warps")
            .optional()
            .at_most(10000_cycles),
        field("block_start", &C::block_start, "from a free place on an SM to the block's first instruction")
            .optional()
            .at_most(100000_cycles),
        field("warp_start", &C::warp_start, "between the starts of two warps of new blocks on an SM")
            .optional()
            .at_most(10000_cycles),
        field("block_dispatch", &C::block_dispatch, "between the starts of two blocks anywhere on the device")
            .optional()
            .at_most(1000_cycles),
        field("l2_port", &C::l2_port, "bytes a clock from the L2 to one SM").optional().in(1, 65536),
        field("short_rows", &C::short_rows,
              "share of the reached memory bandwidth that tiles with rows of a line or two get")
            .optional()
            .in(0.1, 1),
        field("short_row_writes", &C::short_row_writes, "the same of tiles that are written").optional().in(0.1, 1),
        field("write_buffer", &C::write_buffer,
              "share of the L2 whose lines may wait to be written back before a store has to")
            .optional()
            .in(0, 1),
        field("part_of_sector", &C::part_of_sector,
              "bytes of the port to the L2 that writing a part of a sector takes the time of")
            .optional()
            .in(32, 65536),
        field("tensor_memory_port", &C::tensor_memory_port, "bytes a clock between tensor memory and registers")
            .optional()
            .in(1, 65536));
  }
};

}  // namespace warploom
