// SPDX-License-Identifier: Apache-2.0
// The libraries' rules for tiles, packed groups and parts of the keys.
//
// Few queries (decoding): tiles are padded, the queries of a group fill them together, and the library's rule cuts the
// keys into parts. Assumes that keys and values of a head are read from memory once. Source: the sources of
// FlashAttention-2 and -3, as configs/attention says for each.
#include "hw_models/kernels/attention_tiling.hpp"

#include <algorithm>
#include <cmath>

#include "hw_models/kernels/tensor_bytes.hpp"

namespace warploom {

namespace {

// FlashAttention's num_splits_heuristic: the fewest parts whose waves are within 15% as full as the best.
double parts_of_fewest_waves(double blocks, double places, double most) {
  if (blocks >= 0.8 * places) return 1;
  const auto filling = [&](double parts) {
    const double waves = blocks * parts / places;
    return waves / std::ceil(waves);
  };
  double best = 0;
  for (double parts = 1; parts <= most; ++parts) best = std::max(best, filling(parts));
  for (double parts = 1; parts <= most; ++parts) {
    if (filling(parts) >= 0.85 * best) return parts;
  }
  return 1;
}

// [documented] batch-invariant serving: SGLang's SGLANG_FLASHINFER_DECODE_SPLIT_TILE_SIZE and vLLM's
// decode_fixed_split_size. Parts of one length leave the order of sums to the sequence alone.
constexpr double fixed_part = 2048;  // keys

double parts_of(const AttentionTiling& tiling, const DeviceSpec& device) {
  const DecodeConstants& decode = device.architecture.attention.decode;
  if (!tiling.is_decode || (decode.splits_grouped_only && !tiling.packs)) return 1;
  const double blocks = tiling.heads * tiling.steps.blocks;
  const double tiles = tiling.steps.longest;
  if (tiles <= decode.split_minimum_tiles) return 1;
  const double sms = device.sm.count;
  const double most = std::min({tiles, static_cast<double>(decode.split_maximum), sms});
  double parts = 1;
  switch (decode.split) {
    case SplitRule::none:
      break;
    case SplitRule::fewest_waves:
      parts = parts_of_fewest_waves(blocks, sms * decode.blocks_an_sm, most);
      break;
    case SplitRule::even_load:
      parts = std::ceil(tiles / std::ceil(1.1 * blocks * tiles / sms));
      break;
    case SplitRule::fill:
      parts = std::floor(sms * decode.blocks_an_sm / blocks);
      break;
  }
  parts = std::clamp(parts, 1.0, most);
  return std::ceil(tiles / std::ceil(tiles / parts));  // none is empty
}

// As many as the kernel is built for and shared memory holds (a tile of queries, two of keys).
double resident(const AttentionTiling& tiling, const AttentionShape& shape, const DeviceSpec& device) {
  const AttentionConstants& constants = device.architecture.attention;
  const double wanted = tiling.is_decode ? constants.decode.blocks_an_sm : constants.blocks_an_sm;
  const double block =
      (tiling.row_tile * as_double(shape.head_dim) + tiling.column_tile * tiling.kv_width) * bits(shape.type) / 8;
  const double fit = std::floor(static_cast<double>(device.sm.shared_memory.count()) / block);
  return std::clamp(std::min(wanted, std::ceil(tiling.blocks / device.sm.count)), 1.0, std::max(1.0, fit));
}

bool is_decode(const AttentionShape& shape) {
  return shape.query_length == 1 || (shape.query_length <= 16 && shape.kv_length >= 4 * shape.query_length);
}

double kv_width(const AttentionShape& shape) {
  return shape.values_in_keys ? as_double(shape.head_dim) : as_double(shape.head_dim) + as_double(value_dim(shape));
}

}  // namespace

bool narrows(const AttentionShape& shape) { return bits(kv_type(shape)) < bits(shape.type); }

AttentionTiling attention_tiling(const AttentionShape& shape, const DeviceSpec& device) {
  const AttentionConstants& constants = device.architecture.attention;
  const double rows = is_decode(shape) ? constants.decode.tile_queries : constants.tile_queries;
  // Shared memory holds fewer keys of longer heads; libraries have powers of two.
  const double keys = is_decode(shape) ? constants.decode.tile_keys : constants.tile_keys;
  const double columns = std::clamp(std::exp2(std::floor(std::log2(keys * 256.0 / kv_width(shape)))), 16.0, 256.0);
  return attention_tiling(shape, device, rows, columns);
}

AttentionTiling attention_tiling(const AttentionShape& shape, const DeviceSpec& device, double row_tile,
                                 double column_tile) {
  const AttentionConstants& constants = device.architecture.attention;
  const double queries = as_double(shape.query_length);
  const double group = as_double(shape.query_heads) / as_double(shape.kv_heads);
  AttentionTiling tiling;
  tiling.is_decode = is_decode(shape);
  tiling.packs =
      group > 1 &&
      (tiling.is_decode ? shape.window == 0 || constants.decode.packs_windowed
                        : constants.packs_groups && (shape.serving || std::fmod(queries, constants.tile_queries) != 0));
  tiling.product =
      narrows(shape) && constants.eight_bit_products && device.has(kv_type(shape)) ? kv_type(shape) : shape.type;
  tiling.kv_width = kv_width(shape);
  tiling.row_tile = row_tile;
  tiling.column_tile = column_tile;
  Sweep& sweep = tiling.sweep;
  sweep.rows = tiling.packs ? queries * group : queries;
  sweep.columns = as_double(shape.kv_length);
  sweep.row_tile = tiling.row_tile;
  sweep.column_tile = tiling.column_tile;
  sweep.first = as_double(shape.kv_length) - queries + 1;
  sweep.pack = tiling.packs ? group : 1;
  sweep.window = as_double(shape.window);
  sweep.causal = shape.causal;
  tiling.steps = steps_of(sweep);
  tiling.heads = as_double(shape.batch) * as_double(tiling.packs ? shape.kv_heads : shape.query_heads);
  const bool is_fixed = shape.deterministic && tiling.is_decode;
  const double fixed_tiles = std::max(std::round(fixed_part / column_tile), 1.0);
  tiling.parts = is_fixed ? std::max(std::ceil(tiling.steps.longest / fixed_tiles), 1.0) : parts_of(tiling, device);
  tiling.part_tiles = is_fixed && tiling.parts > 1 ? fixed_tiles : std::ceil(tiling.steps.longest / tiling.parts);
  tiling.blocks = tiling.heads * tiling.steps.blocks * tiling.parts;
  tiling.sharing = resident(tiling, shape, device);
  return tiling;
}

double partial_bytes(const AttentionShape& shape, const AttentionTiling& tiling) {
  if (tiling.parts == 1) return 0;
  const double rows = as_double(shape.batch) * as_double(shape.query_heads) * as_double(shape.query_length);
  return 2 * 4 * tiling.parts * rows * as_double(value_dim(shape));
}

Bytes new_keys(const AttentionShape& shape) {
  return shape.serving ? bytes_of({shape.batch, shape.query_length, 2 * shape.kv_heads, shape.head_dim}, shape.type)
                       : Bytes{0};
}

double kept_in_l2(double bytes, const DeviceSpec& device) {
  return std::clamp((1.2 - bytes / static_cast<double>(device.l2.capacity.count())) / 0.5, 0.0, 1.0);
}

double share_in_l2(const AttentionShape& shape, const DeviceSpec& device) {
  const Bytes bytes = attention_traffic(shape).all;
  return shape.warm ? kept_in_l2(static_cast<double>((bytes + new_keys(shape) * 2).count()), device) : 0;
}

double attention_memory_bytes(const AttentionShape& shape, const AttentionTiling& tiling, const DeviceSpec& device) {
  const auto compulsory = static_cast<double>(attention_traffic(shape).all.count());
  if (!device.architecture.attention.heads_outermost || tiling.packs) return compulsory;
  const Bytes queries_and_results =
      bytes_of({shape.batch, shape.query_heads, shape.query_length, shape.head_dim}, shape.type) * 2;
  const double keys = compulsory - static_cast<double>(queries_and_results.count());
  const double heads_a_group = as_double(shape.query_heads) / as_double(shape.kv_heads);
  const double one_head = keys / as_double(shape.kv_heads) +
                          static_cast<double>(queries_and_results.count()) / as_double(shape.query_heads);
  return compulsory + keys * (heads_a_group - 1) * (1 - kept_in_l2(one_head, device));
}

}  // namespace warploom
