// SPDX-License-Identifier: Apache-2.0
// Attention of Hopper (FlashAttention-3): producer warps, and consumer warp groups of 64 queries each, whose softmax of
// one tile runs beside the values' product of the one before.
//
// Ping-pong: named barriers let the groups issue both products of a step in turn, so that one's softmax runs under the
// others' products. An issued product holds its warp until the Tensor Core takes it, so that a step of two groups takes
// the products of both, or those of one and its softmax, whichever is more.
#include <algorithm>
#include <cmath>

#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/programs/attention_work.hpp"

namespace warploom {

namespace {

// hopper/tile_size.h, tile_size_fwd_sm90, causal or of pages: queries a block and keys a step.
struct Tile {
  double rows, columns;
};
Tile tile_of(const AttentionShape& shape, bool is_8bit) {
  const bool is_local = shape.window > 0;
  const std::int64_t d = shape.head_dim;
  if (shape.values_in_keys) return {64, 64};  // FlashMLA
  const bool is_short = is_local || shape.serving || shape.causal;
  if (is_8bit) {
    if (d <= 64) return {192, 160};
    if (d <= 128) return {128, shape.serving ? 160.0 : 224.0};
    if (d <= 192) return {128, is_local ? 128.0 : 160.0};
    return {128, is_local ? 64.0 : 128.0};
  }
  if (d <= 64) return {192, is_short ? 128.0 : 192.0};
  if (d <= 96) return {192, is_local || shape.serving ? 128.0 : 144.0};
  if (d <= 128) return {128, is_short ? 128.0 : 176.0};
  if (d <= 192) return {128, is_local || shape.serving ? 96.0 : 112.0};
  return {128, is_local ? 64.0 : 80.0};
}

struct Rings {
  enum { q, k_full, k_empty, v_full, v_empty, others };
};

Instruction product(const AttentionWork& work, std::int64_t n, std::int64_t k) {
  return {.op = Op::wgmma,
          .count = std::max<std::int64_t>(k / work.depth(), 1) * ceil_div(n, 256),
          .m = 64,
          .n = static_cast<int>(n / ceil_div(n, 256)),
          .k = static_cast<int>(work.depth()),
          .type = work.tiling.product};
}

class GroupAttention {
 public:
  explicit GroupAttention(const AttentionWork& work)
      : work_(work),
        groups_(work.rows / 64),
        producers_(work.is_paged || transposes() ? 4 : 1),
        scores_(64 * work.columns / 128),
        outputs_(64 * work.v / 128) {}

  KernelProgram program() const {
    KernelProgram program = attention_base(work_, "wgmma", 1);
    program.is_persistent = has_values();
    const auto warps = static_cast<int>(4 * groups_);
    const auto copiers = static_cast<int>(producers_);
    constexpr int stages = 2;
    program.rings = {{"Q", warps, 1, 0, 0},
                     {"K", copiers, 1, 0, 0},
                     {"K free", warps, 0, 0, stages},
                     {"V", copiers, transposes() ? 0 : 1, 0, 0},
                     {"V free", warps, 0, 0, stages}};
    if (transposes()) program.rings.push_back({"V copied", copiers, 1, 0, 0});
    for (std::int64_t i = 0; i < groups_; ++i) program.rings.push_back({"group", 4, 0, 0, 0});
    for (std::int64_t i = 0; i < groups_; ++i) program.rings.push_back({"turn", 4, 0, 0, i == 0 ? 1 : 0});
    program.shared_memory =
        Bytes(work_.rows * work_.d * work_.product_bytes + stages * (work_.key_room() + work_.value_room()));
    const int consumer_registers = groups_ == 1 ? 255 : groups_ == 2 ? 232 : 160;
    for (std::int64_t i = 0; i < groups_; ++i) {
      program.roles.push_back({"consumer", 4, consumer_registers, consumer(i).list()});
    }
    program.roles.push_back({"producer", copiers, groups_ == 1 ? 56 : groups_ == 2 ? 40 : 32, producer().list()});
    return program;
  }

 private:
  // Values of 8 bits lie with keys as rows, and wgmma wants them as columns.
  bool transposes() const { return work_.product_bytes == 1 && work_.value_bytes > 0; }
  bool has_values() const { return work_.value_bytes > 0; }  // else they are part of the keys, and as long in use
  int v_copied() const { return Rings::others; }
  int own(std::int64_t group) const { return Rings::others + (transposes() ? 1 : 0) + static_cast<int>(group); }

  // mainloop_fwd_sm90_tma_gmma_ws.hpp, UseSchedulerBarrier: the groups issue both products of a step in turn.
  bool takes_turns() const {
    return groups_ > 1 && (work_.product_bytes == 2 ? work_.shape.head_dim <= 128 : work_.shape.head_dim >= 128);
  }
  int turn(std::int64_t group) const { return own(groups_) + static_cast<int>(group); }

  // Row maxima and row sums are chains of one register a row: two rows a lane, so two results a latency. Exponentials
  // have their scaling among them.
  Code softmax() const {
    constexpr std::int64_t reduction = 12;  // two rows among four lanes: shuffles, compares, the old maximum's share
    constexpr std::int64_t chains = 2;
    Code code;
    code.add({.op = Op::alu, .count = scores_ / chains, .alu = 0, .waits = true}).alu(scores_ / chains);
    code.add({.op = Op::alu, .count = reduction, .waits = true}).mixed(scores_ + 2, scores_, 0);
    return code.add({.op = Op::fma, .count = scores_ / chains, .waits = true}).fma(scores_ / chains);
  }

  // Conversion of the scores; 8-bit ones change places among lanes (hopper/utils.h, permute_Aregs_fp8: for eight of
  // them two shuffles and eight selections and permutations of bytes).
  Code convert() const {
    Code code;
    return code.alu(scores_ / 2 + (work_.product_bytes == 1 ? scores_ * 10 / 8 : 0));
  }

  // tile_scheduler.hpp: a counter for the next tile, then for batches of unequal lengths these and their sum over a
  // warp.
  Code next_tile() const {
    Code code;
    code.add({.op = Op::load, .bytes = 32, .stream = AttentionWork::pages, .waits = true});
    if (!work_.is_paged) return code;
    constexpr std::int64_t prefix_sum = 20;
    code.add({.op = Op::load, .bytes = 128, .stream = AttentionWork::pages, .waits = true});
    return code.add({.op = Op::alu, .count = prefix_sum, .waits = true}).shared_load(128, true);
  }

  Code masked_softmax() const {
    Code code;
    if (work_.shape.causal && work_.shape.query_length > 1) code.alu(3 * scores_);  // columns, compares, selections
    return code.add(softmax());
  }

  Instruction with_keys() const { return product(work_, work_.columns, work_.d); }
  Instruction with_values() const {
    Instruction what = product(work_, work_.v, work_.columns);
    what.a_in_registers = true;
    return what;
  }

  // Each tile's scores are computed beside the product with the values of the tile before.
  Code overlapped_steps(std::int64_t group) const {
    Code code;
    code.wait(Rings::k_full).add(with_keys()).drain().arrive(Rings::k_empty).add(masked_softmax()).add(convert());
    // Estimated: tests of the barriers of keys, values and turn, which depend on one another, and the products'
    // descriptors.
    constexpr std::int64_t tests = 32;
    constexpr std::int64_t descriptors = 32;
    code.main_loop(0, 2).wait(Rings::k_full).add({.op = Op::alu, .count = tests, .waits = true}).alu(descriptors);
    if (takes_turns()) code.wait(turn(group));
    code.add(with_keys()).wait(Rings::v_full).add(with_values());
    if (takes_turns()) code.arrive(turn((group + 1) % groups_));
    code.drain(1).arrive(Rings::k_empty).add(softmax());
    code.drain().arrive(Rings::v_empty).add(convert()).fma(outputs_);
    if (work_.product_bytes == 1) code.fma(outputs_);  // added up in 32 bits tile by tile (fp8_promotion_helper.hpp)
    code.end();
    return code.wait(Rings::v_full).add(with_values()).drain().arrive(Rings::v_empty);
  }

  // Where a value is part of its key, a tile is in use from one product to the other, and there is room for two.
  Code steps_in_turn() const {
    Code step;
    step.wait(Rings::k_full).add(with_keys()).drain().add(softmax()).add(convert()).fma(outputs_);
    step.add(with_values()).drain().arrive(Rings::k_empty);
    Code code;
    return code.add(step).main_loop(0, 2).add(step).end();
  }

  Code consumer(std::int64_t group) const {
    // Estimated: a packed row's address (a division, shuffles of 64 bits) for each 16 bytes that a thread copies or
    // stores; one depends on the other.
    constexpr std::int64_t of_address = 25;
    const std::int64_t threads = 128 * groups_;
    const std::int64_t setup = of_address * ceil_div(work_.rows * work_.d * work_.product_bytes, 16 * threads);
    const std::int64_t addresses_of_results = of_address * ceil_div(work_.rows * work_.v * 2, 16 * threads);
    const std::int64_t query_bytes = std::max<std::int64_t>(work_.query_bytes / (4 * groups_), 1);
    Code code;
    code.add(next_tile()).add({.op = Op::alu, .count = setup, .waits = true});
    code.alu(3 * ceil_div(query_bytes, 512)).copy(AttentionWork::queries, query_bytes, Rings::q).wait(Rings::q);
    code.add(has_values() ? overlapped_steps(group) : steps_in_turn());
    code.add({.op = Op::alu, .count = addresses_of_results, .waits = true});
    code.add(attention_results(work_, outputs_, work_.result_bytes / (4 * groups_), own(group)));
    return code;
  }

  // cp.async: an address each, from the page table, and they come through the port of shared memory.
  Code copy(int stream, std::int64_t bytes, int ring) const {
    const std::int64_t own = std::max<std::int64_t>(bytes / producers_, 1);
    Code code;
    if (work_.is_paged) code.alu(3 * ceil_div(own, 512)).shared_store(own);
    return code.copy(stream, own, ring);
  }

  Code copy_keys() const {
    Code code;
    return code.wait(Rings::k_empty).add(copy(AttentionWork::keys, work_.key_bytes, Rings::k_full));
  }

  // Those of 8 bits are a tile ahead of their transposition.
  Code copy_values() const {
    Code code;
    if (work_.value_bytes == 0) return code;
    if (transposes()) return code.add(copy(AttentionWork::values, work_.value_bytes, v_copied()));
    return code.wait(Rings::v_empty).add(copy(AttentionWork::values, work_.value_bytes, Rings::v_full));
  }

  // ldmatrix.trans, byte permutations, stmatrix of 16 bytes a lane. Inferred, as its source does not say: rows of
  // bytes fall on the same banks, eight ways, and those of long heads twice; measured rates are 5 and 3 values a cycle.
  Code transpose() const {
    if (!transposes()) return {};
    constexpr std::int64_t at_once = 512;
    const double ways = work_.v <= 128 ? 8 : 16;
    const std::int64_t turns = std::max<std::int64_t>(work_.value_room() / producers_ / at_once, 1);
    Code code;
    code.wait(v_copied()).wait(Rings::v_empty);
    code.loop(std::max<std::int64_t>(turns / 4, 1));  // by four, to be coarser
    for (const Op op : {Op::shared_load, Op::shared_store}) {
      code.add({.op = op, .count = 4, .bytes = at_once, .conflict = ways, .waits = op == Op::shared_load});
      if (op == Op::shared_load) code.add({.op = Op::alu, .count = 4 * 16});
    }
    return code.end().arrive(Rings::v_full);
  }

  Code producer() const {
    constexpr std::int64_t setup = 200;
    Code code;
    code.add(next_tile()).add({.op = Op::alu, .count = setup, .waits = true});
    if (work_.is_paged) code.add({.op = Op::load, .bytes = 128, .stream = AttentionWork::pages, .waits = true});
    code.add(copy_keys());
    if (transposes()) {
      code.add(copy_values()).main_loop(0, 2).add(copy_keys()).add(copy_values()).add(transpose()).end();
      return code.add(transpose());
    }
    code.main_loop(0, 2).add(copy_keys()).add(copy_values()).end();
    return code.add(copy_values());
  }

  const AttentionWork& work_;
  std::int64_t groups_;
  std::int64_t producers_;
  std::int64_t scores_;   // a lane
  std::int64_t outputs_;  // a lane
};

// hopper/flash_prepare_scheduler.cu, where one sequence alone does not fill the SMs (heuristics.h): tiles of keys that
// an SM has on average, and a tenth.
double parts_of_prefill(const AttentionTiling& tiling, double kv_heads, const DeviceSpec& device) {
  const double sms = device.sm.count;
  const double tiles = std::ceil(tiling.sweep.columns / tiling.column_tile);
  const double of_sequence = tiling.steps.blocks * kv_heads;
  if (of_sequence >= 0.8 * sms || tiles <= device.architecture.attention.decode.split_minimum_tiles) return 1;
  const double each = std::ceil(1.1 * tiling.heads * tiling.steps.blocks * tiles / sms);
  return std::ceil(tiles / each);
}

}  // namespace

AttentionTiling tiling_of_groups(const AttentionShape& shape, const DeviceSpec& device) {
  const AttentionTiling usual = attention_tiling(shape, device);
  Tile tile = tile_of(shape, bits(usual.product) == 8);
  // One consumer group where the packed queries fill no more (use_one_mma_wg).
  const double group = as_double(shape.query_heads) / as_double(shape.kv_heads);
  if (shape.head_dim == 128 && as_double(shape.query_length) * group <= 64) tile.rows = 64;
  AttentionTiling tiling = attention_tiling(shape, device, tile.rows, tile.columns);
  if (shape.serving && !tiling.is_decode) tiling.parts = parts_of_prefill(tiling, as_double(shape.kv_heads), device);
  tiling.blocks = tiling.heads * tiling.steps.blocks * tiling.parts;
  return tiling;
}

KernelProgram attention_by_groups(const AttentionWork& work) { return GroupAttention(work).program(); }

}  // namespace warploom
