// SPDX-License-Identifier: Apache-2.0
// Attention of Blackwell (FlashAttention-4, TRT-LLM): two tiles of 128 queries a block; a warp issues the products of
// both, so that one's are computed during the other's softmax; scores and results lie in tensor memory.
#include <algorithm>

#include "hw_models/kernels/tensor_bytes.hpp"
#include "hw_models/programs/attention_work.hpp"

namespace warploom {

namespace {

constexpr std::int64_t tile_rows = 128;

class BlockAttention {
 public:
  explicit BlockAttention(const AttentionWork& work)
      : work_(work),
        tiles_(std::max<std::int64_t>(work.rows / tile_rows, 1)),
        scores_(is_few() ? columns_of_few() * work.columns / tile_rows : work.columns) {}

  KernelProgram program() const {
    KernelProgram program = attention_base(work_, "tcgen05", 1);
    program.is_persistent = true;
    if (is_pair()) {
      TileStream& keys = program.streams[AttentionWork::keys];
      keys.from_memory = std::min(1.0, 2 * keys.from_memory);
    }
    const std::int64_t room = (work_.key_room() + work_.value_room()) / (is_pair() ? 2 : 1);
    const std::int64_t query_room = work_.rows * work_.d * work_.product_bytes;
    constexpr std::int64_t reserved = 2048;
    const int stages = static_cast<int>(
        std::clamp<std::int64_t>((work_.device.sm.shared_memory.count() - reserved - query_room) / room, 1, 4));
    program.rings = {{"Q", 1, 1, 0, 0},
                     {"K", 1, 1, 0, 0},
                     {"K free", 1, 0, 1, stages},
                     {"V", 1, 1, 0, 0},
                     {"V free", 1, 0, 1, stages}};
    for (std::int64_t i = 0; i < tiles_; ++i) {
      program.rings.push_back({"scores", 1, 0, 1, 0});
      program.rings.push_back({"weights", 8, 0, 0, 0});
      program.rings.push_back({"maxima", 4, 0, 0, 0});
      program.rings.push_back({"results", 1, 0, 1, 0});
      program.rings.push_back({"group", 4, 0, 0, 0});
    }
    program.shared_memory = Bytes(query_room + stages * room);
    program.tensor_columns = 512;
    for (std::int64_t i = 0; i < tiles_; ++i) program.roles.push_back({"softmax", 4, 192, softmax(i, stages).list()});
    for (std::int64_t i = 0; i < tiles_; ++i)
      program.roles.push_back({"correction", 4, 96 / static_cast<int>(tiles_), correction(i, stages).list()});
    program.roles.push_back({"producer", 1, 48, producer(stages).list()});
    program.roles.push_back({"issuer", 1, 48, issuer(stages).list()});
    return program;
  }

 private:
  enum { q, k_full, k_empty, v_full, v_empty, of_tiles };
  static int ring(std::int64_t tile, int which) { return of_tiles + 5 * static_cast<int>(tile) + which; }
  static int scores(std::int64_t tile) { return ring(tile, 0); }
  static int weights(std::int64_t tile) { return ring(tile, 1); }
  static int maxima(std::int64_t tile) { return ring(tile, 2); }
  static int results(std::int64_t tile) { return ring(tile, 3); }
  static int group(std::int64_t tile) { return ring(tile, 4); }

  Instruction product(std::int64_t n, std::int64_t k, bool a_in_registers, int done) const {
    return {.op = Op::tcgen05,
            .count = std::max<std::int64_t>(ceil_div(k, work_.depth()), 1) * ceil_div(n, 256),
            .ring = done,
            .m = tile_rows,
            .n = static_cast<int>(n / ceil_div(n, 256) / (is_pair() ? 2 : 1)),
            .k = static_cast<int>(work_.depth()),
            .type = work_.tiling.product,
            .a_in_registers = a_in_registers};
  }
  Instruction commit(int done) const { return {.op = Op::tcgen05, .ring = done, .type = work_.tiling.product}; }

  // A lane has a row: no exchange. Scores come out of tensor memory, weights go back into it.
  Code softmax(std::int64_t tile, int stages) const {
    constexpr std::int64_t setup = 60;
    const std::int64_t row_bytes = scores_ * 4 * 32;
    Code step;
    step.wait(scores(tile)).tensor_load(row_bytes);
    step.alu(scores_).add({.op = Op::alu, .count = 4, .waits = true}).arrive(maxima(tile));
    // Conversion by two; those of 8 bits are put together by four.
    step.mixed(scores_ + 1, 2 * scores_, scores_ / 2 + (work_.product_bytes == 1 ? scores_ / 4 : 0));
    step.add({.op = Op::tensor_load, .count = 1, .bytes = row_bytes * work_.product_bytes / 4});
    step.arrive(weights(tile));
    Code code;
    return code.alu(setup).main_loop(0, stages).add(step).end().add(step);
  }

  // Results to the new maximum, before the next product adds to them; at the end to memory.
  Code correction(std::int64_t tile, int stages) const {
    const std::int64_t row_bytes = work_.v * 4 * 32;
    Code code;
    code.alu(60).main_loop(0, stages).wait(maxima(tile)).alu(8).arrive(weights(tile)).end();
    code.wait(maxima(tile)).alu(8).arrive(weights(tile)).wait(results(tile)).tensor_load(row_bytes);
    return code.add(attention_results(work_, work_.v, work_.result_bytes / (4 * tiles_), group(tile)));
  }

  Code producer(int stages) const {
    Code code;
    code.alu(60).load(AttentionWork::pages, 32).use();
    Code step;
    step.wait(k_empty).alu(8).copy(AttentionWork::keys, work_.key_bytes / (is_pair() ? 2 : 1), k_full);
    if (work_.value_bytes > 0) step.wait(v_empty).alu(8).copy(AttentionWork::values, work_.value_bytes, v_full);
    code.copy(AttentionWork::queries, work_.query_bytes, q);
    return code.main_loop(0, stages).add(step).end().add(step);
  }

  // A tile's scores of the next keys come right after its product with the values: weights lie where scores did.
  Code issuer(int stages) const {
    const Instruction with_values = product(values_rows(), work_.columns, true, -1);
    Code code;
    code.alu(60).wait(q).wait(k_full);
    for (std::int64_t i = 0; i < tiles_; ++i) code.add(product(key_rows(), work_.d, false, scores(i)));
    // Where a value is part of its key, both are in use until the product with the values is done.
    const bool has_values = work_.value_bytes > 0;
    if (has_values) code.add(commit(k_empty));
    code.main_loop(0, stages);
    // One tile alone: its next scores are ready when these are, if two keys find room.
    const bool is_ahead = has_values ? tiles_ == 1 && !is_few() && stages > 1 : stages > 2;
    if (has_values && !is_ahead) code.wait(v_full).wait(k_full);
    for (std::int64_t i = 0; i < tiles_; ++i) {
      const Instruction with_keys = product(key_rows(), work_.d, false, scores(i));
      if (is_ahead) {
        code.wait(k_full).add(with_keys);
        if (has_values) code.wait(v_full);
        code.wait(weights(i)).add(with_values);
        if (!has_values) code.add(commit(k_empty));
        continue;
      }
      code.wait(weights(i)).add(with_values);
      if (!has_values) code.add(commit(k_empty)).wait(k_full);
      code.add(with_keys);
    }
    if (has_values) code.add(commit(v_empty)).add(commit(k_empty));
    code.end();
    if (has_values) code.wait(v_full);
    for (std::int64_t i = 0; i < tiles_; ++i) code.wait(weights(i)).add(with_values).add(commit(results(i)));
    return code.add(commit(has_values ? v_empty : k_empty));
  }

  // Few queries: products are transposed, so that keys fill the 128 rows of a product and queries its columns.
  std::int64_t columns_of_few() const { return std::max<std::int64_t>(ceil_div(filled_rows(), 8) * 8, 8); }
  std::int64_t filled_rows() const { return work_.query_bytes / (work_.d * work_.product_bytes); }
  std::int64_t key_rows() const {
    return is_few() ? columns_of_few() * ceil_div(work_.columns, tile_rows) : work_.columns;
  }
  std::int64_t values_rows() const { return is_few() ? columns_of_few() * ceil_div(work_.v, tile_rows) : work_.v; }
  bool is_few() const { return work_.rows < tile_rows; }
  // Heads of two blocks on the same latents: two SMs multiply 128 rows together, and each has half of the latents.
  bool is_pair() const { return work_.shape.values_in_keys && filled_rows() == 64 && work_.shape.query_heads > 64; }

  const AttentionWork& work_;
  std::int64_t tiles_;
  std::int64_t scores_;  // a lane
};

}  // namespace

AttentionTiling tiling_of_block(const AttentionShape& shape, const DeviceSpec& device) {
  const AttentionTiling usual = attention_tiling(shape, device);
  if (shape.values_in_keys) {
    const LatentConstants& latent = device.architecture.attention.latent;
    const double rows = shape.query_heads <= latent.few_heads ? latent.few_heads_tile : usual.row_tile;
    return attention_tiling(shape, device, rows, 64);
  }
  if (usual.is_decode) return usual;
  // Two tiles of queries and two stages of keys and values have to fit.
  const double bytes = bits(usual.product) / 8.0;
  const double room = bytes * (2 * tile_rows * as_double(shape.head_dim) + 2 * usual.column_tile * usual.kv_width);
  const double tiles = room <= as_double(device.sm.shared_memory.count()) ? 2 : 1;
  return attention_tiling(shape, device, tiles * tile_rows, usual.column_tile);
}

KernelProgram attention_by_block(const AttentionWork& work) { return BlockAttention(work).program(); }

}  // namespace warploom
