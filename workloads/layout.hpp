// SPDX-License-Identifier: Apache-2.0
// How a model lies on devices: the sizes of the parallel dimensions, their order on ranks, which layers each stage has.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/config.hpp"
#include "sim/work/group.hpp"
#include "workloads/models/model.hpp"

namespace warploom {

enum class Dimension : std::uint8_t { tensor, context, pipeline, data };
inline constexpr std::size_t dimension_count = 4;
template <>
struct EnumNames<Dimension> {
  static constexpr std::pair<Dimension, std::string_view> values[] = {{Dimension::tensor, "tensor"},
                                                                      {Dimension::context, "context"},
                                                                      {Dimension::pipeline, "pipeline"},
                                                                      {Dimension::data, "data"}};
};

// How layers are dealt to pipeline chunks.
enum class LayerSplit : std::uint8_t {
  even,                      // the same number each
  count_embedding_and_head,  // embedding and head count as one layer each: the first and last chunk have one layer less
};
template <>
struct EnumNames<LayerSplit> {
  static constexpr std::pair<LayerSplit, std::string_view> values[] = {
      {LayerSplit::even, "even"}, {LayerSplit::count_embedding_and_head, "count_embedding_and_head"}};
};

// A place in the grid of parallel dimensions, indexed by Dimension.
using Coordinates = std::array<std::int64_t, dimension_count>;

struct Layout {
  std::int64_t tensor = 1;
  std::int64_t context = 1;
  std::int64_t pipeline = 1;
  std::optional<std::int64_t> data;  // absent: what the other dimensions leave; present after resolve_layout
  std::int64_t virtual_stages = 1;
  std::vector<Dimension> order = {Dimension::tensor, Dimension::context, Dimension::pipeline, Dimension::data};
  bool sequence_parallel = true;
  LayerSplit layer_split = LayerSplit::even;
  std::vector<std::int64_t> stage_layers;  // explicit: layers of each chunk, in the order of the model

  static auto fields() {
    return field_list(
        field("tensor", &Layout::tensor, "ranks that share every layer (TP)").optional().in(1, 65'536),
        field("context", &Layout::context, "ranks that share every sequence (CP)").optional().in(1, 65'536),
        field("pipeline", &Layout::pipeline, "pipeline stages (PP)").optional().in(1, 65'536),
        field("data", &Layout::data, "replicas of the model (DP); default: what the other dimensions leave")
            .optional()
            .in(1, 10'000'000),
        field("virtual_stages", &Layout::virtual_stages, "model chunks a pipeline stage").optional().in(1, 1'024),
        field("order", &Layout::order, "dimensions on ranks, innermost first").optional(),
        field("sequence_parallel", &Layout::sequence_parallel,
              "cut norms and residuals along the sequence over the tensor ranks")
            .optional(),
        field("layer_split", &Layout::layer_split, "how layers are dealt to pipeline chunks").optional(),
        field("stage_layers", &Layout::stage_layers, "layers of each pipeline chunk, in the order of the model")
            .optional()
            .in(0, 100'000));
  }

  std::int64_t size(Dimension dimension) const;
  // Ranks between neighbours along a dimension.
  std::int64_t stride(Dimension dimension) const;
  std::int64_t device_count() const;
  Rank rank(const Coordinates& at) const;
  Coordinates coordinates(Rank rank) const;
  // With one tensor rank there is nothing to cut.
  bool cuts_sequence() const { return sequence_parallel && tensor > 1; }
};

// What one pipeline chunk holds.
struct Chunk {
  std::int64_t first_layer = 0;
  std::int64_t layers = 0;
  bool has_embedding = false;
  bool has_head = false;
};

// The chunks in the order of the model: chunk c of stage s is at c * pipeline + s. For a checked layout.
std::vector<Chunk> chunks_of(const Layout& layout, const Model& model);

// One thing that keeps a layout from running, with what would work; `key` is relative to the layout.
struct LayoutProblem {
  std::string key;
  std::string message;
  std::string hint;
  bool is_warning = false;
};

struct LayoutNeeds {
  std::int64_t devices = 1;
  std::int64_t devices_a_node = 8;
  std::int64_t global_batch = 1;  // sequences
  std::int64_t micro_batch = 1;
};

// Fills in `data`; all problems at once, none when it runs.
std::vector<LayoutProblem> resolve_layout(Layout& layout, const Model& model, const LayoutNeeds& needs);

}  // namespace warploom
