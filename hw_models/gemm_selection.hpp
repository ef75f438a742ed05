// SPDX-License-Identifier: Apache-2.0
// A table of what a GEMM library takes for a product, by data type and size: what was seen of it, where its rule is not
// known or not followed. One table an architecture; the first row that fits counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/config.hpp"
#include "sim/work/data_type.hpp"

namespace warploom {

template <>
struct EnumNames<DataType> {
  static constexpr const auto& values = data_type_names;
};

// An output tile that the GEMM library has a kernel for.
struct GemmTile {
  int m = 0;
  int n = 0;
  static auto fields() {
    return field_list(field("m", &GemmTile::m, "rows of the output that one block computes").in(1, 4096),
                      field("n", &GemmTile::n, "columns of the output that one block computes").in(1, 4096));
  }
};

// Both ends included.
struct SizeRange {
  static constexpr std::int64_t largest = std::int64_t{1} << 48;
  std::int64_t from = 1;
  std::int64_t to = largest;
  bool has(std::int64_t size) const { return from <= size && size <= to; }
  static auto fields() {
    return field_list(
        field("from", &SizeRange::from, "the smallest").optional().in(std::int64_t{1}, SizeRange::largest),
        field("to", &SizeRange::to, "the largest").optional().in(std::int64_t{1}, SizeRange::largest));
  }
  static void check(const SizeRange& range, const ConfigValue& at, Diagnostics& diagnostics);
};

// Products of these sizes, and the kernel that the library takes for them.
struct GemmSelection {
  DataType dtype = DataType::bf16;
  SizeRange m;
  SizeRange n;
  SizeRange k;
  GemmTile tile;
  int split_k = 1;
  int stages = 0;
  int cluster = 0;
  bool stream_k = false;
  std::string source;
  static auto fields() {
    using S = GemmSelection;
    return field_list(
        field("dtype", &S::dtype, "of the products: the wider one of both operands"),
        field("m", &S::m, "rows of the result; without: any").optional(),
        field("n", &S::n, "columns of the result; without: any").optional(),
        field("k", &S::k, "length of the sums; without: any").optional(),
        field("tile", &S::tile, "of the result, that one block computes"),
        field("split_k", &S::split_k, "parts that the sums are cut into").optional().in(1, 1024),
        field("stages", &S::stages, "of the pipeline in shared memory; 0: as many as fit").optional().in(0, 64),
        field("cluster", &S::cluster, "blocks that share reads of operands; 0: by the library's rule")
            .optional()
            .in(0, 16),
        field("stream_k", &S::stream_k, "whether the last waves are cut evenly along k").optional(),
        field("source", &S::source, "where it was seen: a trace, a profile, a library's version"));
  }
  static void check(const GemmSelection& row, const ConfigValue& at, Diagnostics& diagnostics);
};

struct GemmSelectionTable {
  std::string architecture;
  std::string source;
  std::vector<GemmSelection> rows;
  static auto fields() {
    using T = GemmSelectionTable;
    return field_list(
        field("architecture", &T::architecture, "whose library it is, by its name; without: whoever uses the table")
            .optional(),
        field("source", &T::source, "where the table comes from").optional(),
        field("rows", &T::rows, "what is taken for which products; the first that fits counts").optional());
  }
};

}  // namespace warploom
