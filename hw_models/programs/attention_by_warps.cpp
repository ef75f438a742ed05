// SPDX-License-Identifier: Apache-2.0
// Attention of mma.sync (FlashAttention-2, FlashInfer, Triton): all warps of a block copy, multiply and do the softmax
// in turns; keys arrive during the softmax of the tile before, values during the product with the keys.
#include <algorithm>
#include <cmath>

#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/programs/attention_work.hpp"

namespace warploom {

namespace {

enum { q, k_full, v_full, all };  // rings

class WarpAttention {
 public:
  explicit WarpAttention(const AttentionWork& work)
      : work_(work),
        rows_(std::max<std::int64_t>(work.rows * most_warps <= 16 * most_warps ? 16 : work.rows / most_warps, 16)),
        keys_(work.rows <= 16 ? std::max<std::int64_t>(work.columns / most_warps, 8) : work.columns),
        warps_(work.rows <= 16 ? most_warps : work.rows / rows_),
        scores_(std::max<std::int64_t>(rows_ * keys_ / 32, 1)),
        outputs_(rows_ * work.v / 32) {}

  KernelProgram program() const {
    KernelProgram program = attention_base(work_, "mma", 1);
    const auto warps = static_cast<int>(warps_);
    program.rings = {{"Q", warps, 1, 0, 0}, {"K", warps, 1, 0, 0}, {"V", warps, 1, 0, 0}, {"all", warps, 0, 0, 0}};
    program.shared_memory = Bytes(work_.rows * work_.d * 2 + work_.key_room() + work_.value_room());
    const auto registers = std::clamp<std::int64_t>(scores_ * 3 / 2 + outputs_ + 80, 64, 255);
    program.roles = {{"warps", warps, static_cast<int>(registers), code().list()}};
    return program;
  }

 private:
  static constexpr std::int64_t most_warps = 4;

  // Rows of pages are found in their table first (vLLM's fork, resolve_thread_kv_page_slice_offset): from the L2
  // for the keys, and the L1 has the line for the values.
  Code copy(int stream, std::int64_t bytes, int ring) const {
    const std::int64_t own = std::max<std::int64_t>(bytes / warps_, 1);
    constexpr std::int64_t table_line = 128;
    constexpr std::int64_t place = 40;  // two divisions by the page size
    Code code;
    if (work_.is_paged && stream == AttentionWork::keys) {
      code.add({.op = Op::load, .bytes = table_line, .stream = AttentionWork::pages, .waits = true}).alu(place);
    }
    if (work_.is_paged && stream == AttentionWork::values) code.shared_load(table_line, true).alu(place);
    return code.alu((work_.is_paged ? 3 : 1) * ceil_div(own, 512)).copy(stream, own, ring);
  }

  // Fragments of B (and A) from shared memory, converted if they are narrow, and their products: those of the first
  // 16 elements of the sum before, the others among the products (gemm() of csrc/flash_attn/src/utils.h).
  // `written`: of the tile that cp.async brings meanwhile, through the same port of shared memory.
  Code product(std::int64_t n, std::int64_t k, std::int64_t a_bytes, std::int64_t written) const {
    const std::int64_t steps = std::max<std::int64_t>(k / work_.depth(), 1);
    const std::int64_t fragments = n * k * work_.stored_bytes() + a_bytes;
    // FlashInfer's fast_dequant_f8f16x4: six instructions for four elements, and a multiplication.
    const std::int64_t converting = work_.converts() ? n * k / 32 : 0;
    Code code;
    code.shared_load(fragments / steps, true);
    code.alu(converting * 3 / 2 / steps).fma(converting / 2 / steps);
    return code.add({.op = Op::mma,
                     .count = std::max<std::int64_t>(rows_ / 16 * ceil_div(n, 8) * steps, 1),
                     .bytes = fragments - fragments / steps + written / warps_,
                     .m = 16,
                     .n = 8,
                     .k = static_cast<int>(work_.depth()),
                     .type = work_.tiling.product,
                     .fma = (converting - converting / steps) / 2,
                     .alu = (converting - converting / steps) * 3 / 2});
  }

  // Row maxima and sums are chains of one register a row; exponentials have their scaling among them.
  Code softmax() const {
    constexpr std::int64_t reduction = 12;  // two rows among four lanes, twice where a warp has more rows
    const std::int64_t chains = rows_ / 8;
    const std::int64_t chained = std::max<std::int64_t>(scores_ / chains, 1);
    Code code;
    code.add({.op = Op::alu, .count = chained, .waits = true}).alu(scores_ - chained);
    code.add({.op = Op::alu, .count = reduction * rows_ / 16, .waits = true});
    code.fma(outputs_).mixed(scores_ + rows_ / 8, scores_, 0);  // the results so far go to the new maximum
    return code.add({.op = Op::fma, .count = chained, .waits = true}).fma(scores_ - chained).alu(scores_ / 2);
  }

  static Code chain(std::int64_t instructions) {
    return Code().add({.op = Op::alu, .count = instructions, .waits = true});
  }

  Code code() const {
    // Estimated: 64-bit addresses of five tensors and of pages, layouts of copies, predicates: one depends on the
    // other.
    constexpr std::int64_t setup = 120;
    constexpr std::int64_t addresses_of_results = 160;
    const std::int64_t query_rows = rows_ * work_.d * 2;
    const Code qk = product(keys_, work_.d, query_rows, work_.value_bytes);
    const Code pv = product(work_.v, keys_, 0, work_.key_bytes);
    const Code copy_keys = copy(AttentionWork::keys, work_.key_bytes, k_full);
    const bool has_values = work_.value_bytes > 0;
    Code step;  // keys are there; the values are on their way until the product is done
    step.wait(k_full).sync(all);
    if (has_values) step.add(copy(AttentionWork::values, work_.value_bytes, v_full));
    step.add(qk).drain();
    Code masks;
    if (work_.shape.causal) masks.alu(3 * scores_);  // columns, compares, selections
    Code rest;
    rest.add(softmax()).add(pv);
    Code code;
    code.add(chain(setup)).load(AttentionWork::pages, 32).use().add(chain(setup)).load(AttentionWork::pages, 32).use();
    code.add(copy(AttentionWork::queries, work_.query_bytes, q)).add(copy_keys).wait(q).main_loop(0, 1).add(step);
    if (has_values) code.wait(v_full);
    code.sync(all).add(copy_keys).add(rest).end().add(step);
    code.add(masks);
    if (has_values) code.wait(v_full).sync(all);
    code.add(rest).drain();
    if (work_.rows <= 16) {  // the warps' results, each of other keys, are added up
      const std::int64_t own = rows_ * work_.v * 4;
      code.shared_store(own).sync(all).shared_load(own, true).fma(outputs_);
    }
    code.add(chain(addresses_of_results));
    return code.add(attention_results(work_, outputs_, work_.result_bytes / warps_, all));
  }

  const AttentionWork& work_;
  std::int64_t rows_;  // of a warp
  std::int64_t keys_;
  std::int64_t warps_;
  std::int64_t scores_;   // a lane
  std::int64_t outputs_;  // a lane
};

}  // namespace

namespace {

AttentionTiling wanted_tiling(const AttentionShape& shape, const DeviceSpec& device) {
  const AttentionTiling usual = attention_tiling(shape, device);
  const DecodeConstants& decode = device.architecture.attention.decode;
  if (!usual.is_decode || usual.row_tile > 16 || decode.blocks_an_sm != 2) return usual;
  // FlashInfer's prefill.cuh, where the keys of a step lie on the warps: as many times 16 for each as two blocks an SM
  // have room for, in powers of two up to eight.
  constexpr double block = 4 * 16;
  const double stored = bits(kv_type(shape)) / 8.0;
  const double queries = usual.row_tile * as_double(shape.head_dim) * bits(shape.type) / 8;
  const double room = as_double(device.sm.shared_memory.count()) / 2 - queries;
  const double times = std::exp2(std::floor(std::log2(std::max(1.0, room / (block * usual.kv_width * stored)))));
  return attention_tiling(shape, device, usual.row_tile, block * std::min(times, 8.0));
}

}  // namespace

// SMs with less shared memory have tiles of fewer keys, then of fewer queries.
AttentionTiling tiling_of_warps(const AttentionShape& shape, const DeviceSpec& device) {
  constexpr double least = 16;
  AttentionTiling tiling = wanted_tiling(shape, device);
  for (;;) {
    const AttentionWork work = attention_work(shape, device, tiling);
    const std::int64_t bytes = work.rows * work.d * 2 + work.key_room() + work.value_room() + reserved_shared_memory;
    if (bytes <= device.sm.shared_memory.count()) return tiling;
    if (tiling.column_tile > least) {
      tiling = attention_tiling(shape, device, tiling.row_tile, tiling.column_tile / 2);
    } else if (tiling.row_tile > least) {
      tiling = attention_tiling(shape, device, tiling.row_tile / 2, tiling.column_tile);
    } else {
      return tiling;  // nothing fits
    }
  }
}

KernelProgram attention_by_warps(const AttentionWork& work) { return WarpAttention(work).program(); }

}  // namespace warploom
