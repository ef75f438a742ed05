// SPDX-License-Identifier: Apache-2.0
// Names are read word by word; what is between two words is no letter and no digit.
#include "hw_models/kernels/gemm_kernel_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <vector>

#include "hw_models/kernels/gemm_blocking.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

constexpr std::size_t longest_name = 16384;
constexpr std::size_t most_words = 512;  // the rest are arguments of templates
constexpr std::int64_t largest_tile = 4096;
constexpr std::int64_t most_stages = 64;

using Words = std::vector<std::string>;  // in small letters

Words words_of(std::string_view name) {
  Words words;
  std::string word;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
      if (words.size() == most_words) return words;
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

// `128x64x32` as three numbers; nothing where it is not of that form.
std::vector<std::int64_t> numbers_of(std::string_view word) {
  std::vector<std::int64_t> numbers;
  const char* at = word.data();
  const char* const end = at + word.size();
  while (numbers.size() < 4) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 0 || value > 1'000'000) return {};
    numbers.push_back(value);
    if (next == end) return numbers;
    if (*next != 'x') return {};
    at = next + 1;
  }
  return {};
}

bool has(const Words& words, std::string_view part) {
  return std::ranges::any_of(words, [&](const std::string& word) { return word.find(part) != std::string::npos; });
}

bool has_word(const Words& words, std::string_view whole) { return std::ranges::find(words, whole) != words.end(); }

// Of `tilesize128x128x64`, the numbers behind the words.
std::vector<std::int64_t> numbers_behind(const Words& words, std::string_view before) {
  for (const std::string& word : words) {
    if (word.starts_with(before)) return numbers_of(std::string_view(word).substr(before.size()));
  }
  return {};
}

[[noreturn]] void not_understood(std::string_view name, const std::string& why, std::string hint = {}) {
  constexpr std::size_t shown = 120;
  const std::string text(name.substr(0, shown));
  throw UserError(fmt::format("kernel name {} is not understood: {}",
                              warploom::quoted(name.size() > shown ? text + "..." : text), why),
                  hint.empty()
                      ? "names of cuBLAS and CUTLASS are, such as `nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNN`; "
                        "else give `--tile-m`, `--tile-n` and `--split-k`"
                      : std::move(hint));
}

// What stands beside products, or is a product without a tile in its name.
void refuse_others(std::string_view name, const Words& words) {
  const auto refuse = [&](std::string_view part, const char* what) {
    if (has(words, part)) not_understood(name, what);
  };
  refuse("splitkreduce", "it adds the parts of a product; give the name of the product's kernel before it");
  refuse("gemv", "it is a product of a matrix and a vector, whose name has no tile");
  refuse("gemmk1", "it is an outer product (k of 1), whose name has no tile");
  refuse("gemmsn", "it is a product of few columns, whose name has no tile");
  for (const char* convolution : {"fprop", "dgrad", "wgrad", "convolve", "implicit"}) {
    refuse(convolution, "it is a convolution");
  }
  refuse("cgemm", "it multiplies complex numbers");
  refuse("cijk", "it is of AMD's libraries");
  refuse("triton", "Triton's names have no tile");
  refuse("deep", "DeepGEMM's names have their tile among arguments of a template, whose order changes");
  if (!has(words, "gemm") && !has(words, "nvjet")) not_understood(name, "no part of it says `gemm` or `nvjet`");
}

// Tile, k x stages and cluster, from the word at `first`.
void read_sizes(const Words& words, std::size_t first, GemmKernelName& result) {
  std::vector<std::vector<std::int64_t>> sizes;
  std::size_t at = first;
  for (; at < words.size() && sizes.empty(); ++at) {
    auto numbers = numbers_of(words[at]);
    if (numbers.size() == 2 || numbers.size() == 3) sizes.push_back(std::move(numbers));
  }
  if (sizes.empty()) return;
  result.tile_a = sizes[0][0];
  result.tile_b = sizes[0][1];
  const bool has_depth = sizes[0].size() == 3;
  if (has_depth) result.tile_k = sizes[0][2];
  for (; at < words.size(); ++at) {
    const auto numbers = numbers_of(words[at]);
    if (numbers.empty()) break;
    if (numbers.size() == 1) {
      if (has_depth && result.stages == 0) result.stages = numbers[0];
    } else if (numbers.size() == 2 && result.tile_k == 0) {
      result.tile_k = numbers[0];
      result.stages = numbers[1];
    } else if (result.cluster == 0 && result.library != "nvjet on warps") {
      result.cluster = numbers[0] * numbers[1];
    }
  }
}

std::size_t index_of(const Words& words, std::string_view part) {
  const auto found =
      std::ranges::find_if(words, [&](const std::string& word) { return word.find(part) != std::string::npos; });
  return static_cast<std::size_t>(found - words.begin());
}

void read_parts(const Words& words, GemmKernelName& result) {
  if (has(words, "nvjet")) {
    result.library = has_word(words, "mma") ? "nvjet on warps" : "nvjet";
    read_sizes(words, index_of(words, "nvjet"), result);
  } else if (has_word(words, "xmma")) {
    result.library = "xmma";
    const auto tile = numbers_behind(words, "tilesize");
    if (tile.size() == 3) {
      result.tile_a = tile[0];
      result.tile_b = tile[1];
      result.tile_k = tile[2];
    }
    const auto stages = numbers_behind(words, "stage");
    if (stages.size() == 1) result.stages = stages[0];
    const auto warps = numbers_behind(words, "warpsize");
    if (warps.size() == 3) result.threads = 32 * warps[0] * warps[1] * warps[2];
  } else {
    result.library = has(words, "cutlass") ? "CUTLASS" : "cuBLAS";
    read_sizes(words, index_of(words, "gemm"), result);
    const auto at = std::ranges::find(words, "stages");
    const auto staged =
        at != words.end() && at + 1 != words.end() ? numbers_of(*(at + 1)) : std::vector<std::int64_t>();
    if (staged.size() == 2) {
      result.tile_k = staged[0];
      result.stages = staged[1];
    }
  }
}

// `tn`, and of cuBLAS and CUTLASS 3 `tnn`, `tnt`: A, B (and C) transposed or not.
bool is_transposed(const Words& words) {
  return std::ranges::any_of(words, [](const std::string& word) {
    const bool is_layout = (word.size() == 2 || word.size() == 3) && word.find_first_not_of("tn") == std::string::npos;
    return is_layout && word.starts_with("tn");
  });
}

void check_ranges(std::string_view name, const GemmKernelName& result) {
  if (result.tile_a == 0 || result.tile_b == 0) not_understood(name, "it has no tile such as `128x256`");
  const auto check = [&](const char* what, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value >= least && value <= most) return;
    not_understood(name, fmt::format("expected {} from {} to {}, got {}", what, least, most, value));
  };
  check("a tile's rows", result.tile_a, 1, largest_tile);
  check("a tile's columns", result.tile_b, 1, largest_tile);
  check("a depth", result.tile_k, 0, largest_tile);
  check("stages", result.stages, 0, most_stages);
  check("a cluster", result.cluster, 0, 16);
  check("threads", result.threads, 0, 1024);
}

std::int64_t tiles_of(const GemmShape& shape) {
  const auto count = [](std::int64_t size, std::int64_t tile) { return size / tile + (size % tile != 0 ? 1 : 0); };
  const Bytes all = Bytes(count(shape.m, shape.tile_m)) * count(shape.n, shape.tile_n) * shape.batch;
  return all.count();
}

// A grid over a shape whose tile is named: parts of k, and blocks that are too many or too few.
struct Fit {
  std::int64_t parts = 1;
  std::int64_t miss = 0;
};

// Nothing where it is no grid of this product. Fewer blocks than tiles: persistent ones.
std::optional<Fit> fit_of(const GemmShape& shape, std::int64_t blocks, bool may_persist) {
  const std::int64_t tiles = tiles_of(shape);
  if (blocks < tiles && !may_persist) return std::nullopt;
  if (blocks < tiles) return Fit{1, tiles - blocks};
  const std::int64_t parts = (blocks + tiles / 4) / tiles;
  const std::int64_t miss = std::abs(blocks - parts * tiles);
  // Grids are rounded up to clusters and swizzles, by no more than a quarter; a part has a step at least.
  const std::int64_t depth = gemm_step_bytes * 8 / bits(product_type(shape));
  if (miss > blocks / 4 || parts > std::max<std::int64_t>(shape.k / depth, 1)) return std::nullopt;
  return Fit{parts, miss};
}

}  // namespace

GemmKernelName parse_gemm_kernel_name(std::string_view name) {
  if (name.size() > longest_name) {
    not_understood(name, fmt::format("it has {} characters, more than {}", name.size(), longest_name));
  }
  const Words words = words_of(name);
  if (words.empty()) not_understood(name, "it has no letters");
  refuse_others(name, words);
  GemmKernelName result;
  read_parts(words, result);
  result.is_stream_k = has(words, "streamk") || (has_word(words, "stream") && has_word(words, "k"));
  const bool has_split = has(words, "splitk") || (has_word(words, "split") && has_word(words, "k"));
  result.cuts_k = has_split && !result.is_stream_k;
  result.is_sliced = has(words, "sliced");
  result.is_transposed = is_transposed(words);
  result.is_on_lanes = has(words, "sgemm") || has_word(words, "ffma") || has_word(words, "simt");
  check_ranges(name, result);
  return result;
}

Grid parse_grid(std::string_view text) {
  constexpr std::int64_t most = 2'147'483'647;
  Grid grid{};
  std::size_t at = 0;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const std::size_t end = i + 1 < grid.size() ? text.find(',', at) : text.size();
    const std::string_view one = end == std::string_view::npos ? std::string_view() : text.substr(at, end - at);
    const auto [stop, error] = std::from_chars(one.data(), one.data() + one.size(), grid[i]);
    if (one.empty() || error != std::errc() || stop != one.data() + one.size() || grid[i] < 1 || grid[i] > most) {
      throw UserError("`--grid`: expected three numbers from 1 to 2147483647 such as `64,32,1`, got " +
                      warploom::quoted(text));
    }
    at = end + 1;
  }
  return grid;
}

GemmShape with_kernel_name(const GemmShape& shape, const GemmKernelName& name, const std::optional<Grid>& grid) {
  if ((product_type(shape) == DataType::fp32) != name.is_on_lanes) {
    throw UserError(
        fmt::format("the kernel's name says that it multiplies {}, and the product is of {}",
                    name.is_on_lanes ? "on the FP32 lanes" : "on Tensor Cores", warploom::name(product_type(shape))),
        name.is_on_lanes ? "give `--dtype fp32`" : "give the type that it multiplies in, such as `--dtype tf32`");
  }
  GemmShape named = shape;
  named.is_sliced = shape.is_sliced || name.is_sliced;
  named.is_transposed = shape.is_transposed || name.is_transposed;
  named.threads = name.is_on_lanes ? name.threads : 0;
  named.is_stream_k = shape.is_stream_k || name.is_stream_k;
  if (!name.is_on_lanes) {
    named.cluster = name.cluster;
    const auto bytes = std::llround(as_double(name.tile_k * name.stages) * bits(product_type(shape)) / 8.0);
    if (bytes > 0)
      named.stages = std::clamp<std::int64_t>((bytes + gemm_step_bytes - 1) / gemm_step_bytes, 2, most_stages);
  }
  // cuBLAS counts in columns: its m is the n of a framework that counts in rows.
  GemmShape turned = named;
  turned.tile_m = named.tile_n = name.tile_b;
  turned.tile_n = named.tile_m = name.tile_a;
  named.split_k = turned.split_k = std::max<std::int64_t>(shape.split_k, 1);
  if (!grid) {
    if (name.cuts_k && shape.split_k == 0) {
      throw UserError("the kernel's name says that k is cut, but not into how many parts",
                      "give its grid, `--grid X,Y,Z`, or `--split-k`");
    }
    return turned;
  }
  const Bytes blocks = Bytes((*grid)[0]) * (*grid)[1] * (*grid)[2];
  const bool may_persist = name.library != "cuBLAS";  // kernels up to Ampere's have a block a tile
  const auto by_columns = fit_of(turned, blocks.count(), may_persist);
  const auto by_rows = fit_of(named, blocks.count(), may_persist);
  if (!by_columns && !by_rows) {
    throw UserError(fmt::format("a grid of {} blocks does not fit: {} x {} in tiles of {} x {}{} are {} tiles",
                                blocks.count(), shape.m, shape.n, turned.tile_m, turned.tile_n,
                                shape.batch > 1 ? fmt::format(", {} times,", shape.batch) : "", tiles_of(turned)),
                    "is it another product's grid, or kernel?");
  }
  const bool is_turned = by_columns && (!by_rows || by_columns->miss <= by_rows->miss);
  GemmShape& fitting = is_turned ? turned : named;
  if (shape.split_k == 0 && !named.is_stream_k) fitting.split_k = is_turned ? by_columns->parts : by_rows->parts;
  return fitting;
}

}  // namespace warploom
