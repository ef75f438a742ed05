// SPDX-License-Identifier: Apache-2.0
// Ranks by mixed-radix strides; checks of a layout that say what would work instead.
#include "workloads/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/core/errors.hpp"

namespace warploom {

std::int64_t Layout::size(Dimension dimension) const {
  switch (dimension) {
    case Dimension::tensor:
      return tensor;
    case Dimension::context:
      return context;
    case Dimension::pipeline:
      return pipeline;
    case Dimension::data:
      return data.value_or(1);
  }
  return 1;
}

std::int64_t Layout::stride(Dimension dimension) const {
  std::int64_t stride = 1;
  for (const Dimension inner : order) {
    if (inner == dimension) break;
    stride *= size(inner);
  }
  return stride;
}

std::int64_t Layout::device_count() const { return tensor * context * pipeline * data.value_or(1); }

Rank Layout::rank(const Coordinates& at) const {
  Rank rank = 0;
  for (const Dimension dimension : order) rank += at[static_cast<std::size_t>(dimension)] * stride(dimension);
  return rank;
}

Coordinates Layout::coordinates(Rank rank) const {
  Coordinates at{};
  for (const Dimension dimension : order) {
    at[static_cast<std::size_t>(dimension)] = rank / stride(dimension) % size(dimension);
  }
  return at;
}

std::vector<Chunk> chunks_of(const Layout& layout, const Model& model) {
  const auto count = static_cast<std::size_t>(layout.pipeline * layout.virtual_stages);
  std::vector<Chunk> chunks(count);
  const bool counts_ends = layout.layer_split == LayerSplit::count_embedding_and_head;
  const auto share = (model.layers + (counts_ends ? 2 : 0)) / static_cast<std::int64_t>(count);
  std::int64_t layer = 0;
  for (std::size_t c = 0; c < count; ++c) {
    Chunk& chunk = chunks[c];
    chunk.has_embedding = c == 0;
    chunk.has_head = c + 1 == count;
    chunk.first_layer = layer;
    chunk.layers = !layout.stage_layers.empty()
                       ? layout.stage_layers[c]
                       : share - (counts_ends ? (chunk.has_embedding ? 1 : 0) + (chunk.has_head ? 1 : 0) : 0);
    layer += chunk.layers;
  }
  WARPLOOM_CHECK(layer == model.layers, "{} of {} layers dealt", layer, model.layers);
  return chunks;
}

namespace {

// Up to two divisors of `n` on each side of `wanted`, as "4 or 8".
std::string divisors_near(std::int64_t n, std::int64_t wanted) {
  std::vector<std::int64_t> below;
  std::vector<std::int64_t> above;
  const auto add = [&](std::int64_t d) { (d < wanted ? below : above).push_back(d); };
  for (std::int64_t d = 1; d * d <= n && d < 10'000'000; ++d) {
    if (n % d != 0) continue;
    add(d);
    if (d != n / d) add(n / d);
  }
  std::sort(below.begin(), below.end(), std::greater<>());
  std::sort(above.begin(), above.end());
  below.resize(std::min<std::size_t>(below.size(), 2));
  above.resize(std::min<std::size_t>(above.size(), 2));
  std::vector<std::int64_t> near(below.rbegin(), below.rend());
  near.insert(near.end(), above.begin(), above.end());
  return fmt::format("{}", fmt::join(near, " or "));
}

class Checker {
 public:
  Checker(Layout& layout, const Model& model, const LayoutNeeds& needs)
      : layout_(layout), model_(model), needs_(needs) {}

  std::vector<LayoutProblem> run() {
    check_order();
    if (problems_.empty()) check_devices();
    check_tensor();
    check_layers();
    if (layout_.data) check_batch();
    if (layout_.data) check_nodes();
    return std::move(problems_);
  }

 private:
  void error(std::string key, std::string message, std::string hint = {}) {
    problems_.push_back({std::move(key), std::move(message), std::move(hint), false});
  }

  void check_order() {
    auto sorted = layout_.order;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != Layout{}.order) {
      error("order", "must name each of tensor, context, pipeline, data once",
            "for example [tensor, context, pipeline, data]");
      layout_.order = Layout{}.order;
    }
  }

  // The sizes are bounded by their ranges, so that the products fit.
  void check_devices() {
    const std::int64_t replica = layout_.tensor * layout_.context * layout_.pipeline;
    if (!layout_.data) {
      if (needs_.devices % replica != 0) {
        error("",
              fmt::format("{} x {} x {} (tensor x context x pipeline) = {} does not divide the {} devices",
                          layout_.tensor, layout_.context, layout_.pipeline, replica, needs_.devices),
              would_divide());
        return;
      }
      layout_.data = needs_.devices / replica;
      return;
    }
    if (replica * *layout_.data != needs_.devices) {
      const auto hint = needs_.devices % replica == 0
                            ? fmt::format("data: {} would use them all", needs_.devices / replica)
                            : would_divide();
      error("",
            fmt::format("{} x {} x {} x {} (tensor x context x pipeline x data) = {}, but there are {} devices",
                        layout_.tensor, layout_.context, layout_.pipeline, *layout_.data, replica * *layout_.data,
                        needs_.devices),
            hint);
      layout_.data.reset();
    }
  }

  std::string would_divide() const {
    const std::int64_t model_parallel = layout_.context * layout_.pipeline;
    if (needs_.devices % model_parallel == 0) {
      return fmt::format("with pipeline {}, tensor {} divides", layout_.pipeline,
                         divisors_near(needs_.devices / model_parallel, layout_.tensor));
    }
    if (needs_.devices % layout_.tensor == 0) {
      return fmt::format("with tensor {}, pipeline {} divides", layout_.tensor,
                         divisors_near(needs_.devices / layout_.tensor, layout_.pipeline));
    }
    return fmt::format("tensor {} divides the devices", divisors_near(needs_.devices, layout_.tensor));
  }

  void check_tensor() {
    const std::int64_t t = layout_.tensor;
    // Which sizes it fails, and what divides all that it has to.
    std::vector<std::string> failed;
    std::int64_t common = 0;
    for (const auto& [n, what] : {std::pair(model_.heads, "heads"), std::pair(model_.kv_heads, "key/value heads"),
                                  std::pair(model_.ffn, "MLP width"), std::pair(model_.hidden, "hidden size")}) {
      if (n % t != 0) failed.push_back(fmt::format("{} {}", what, n));
      common = std::gcd(common, n);
    }
    if (!failed.empty()) {
      error("tensor", fmt::format("{} does not divide the model's {}", t, fmt::join(failed, ", ")),
            fmt::format("{} would work", divisors_near(common, t)));
    }
    if (model_.vocab % t != 0) {
      error("tensor", fmt::format("{} does not divide the vocabulary of {}", t, model_.vocab),
            fmt::format("pad the vocabulary to {} (training.padded_vocabulary)", (model_.vocab + t - 1) / t * t));
    }
  }

  void check_layers() {
    const std::int64_t count = layout_.pipeline * layout_.virtual_stages;
    if (!layout_.stage_layers.empty()) return check_stage_layers(count);
    const bool counts_ends = layout_.layer_split == LayerSplit::count_embedding_and_head;
    const std::int64_t units = model_.layers + (counts_ends ? 2 : 0);
    if (units % count == 0 && (!counts_ends || count == 1 || units / count >= 1)) return;
    const auto what = counts_ends ? fmt::format("{} layers + embedding + head", model_.layers)
                                  : fmt::format("{} layers", model_.layers);
    std::string hint = fmt::format("{} chunks would work", divisors_near(units, count));
    if (!counts_ends && (model_.layers + 2) % count == 0) {
      hint += ", or layer_split: count_embedding_and_head";
    } else {
      hint += ", or give each chunk's layers in stage_layers";
    }
    error(layout_.virtual_stages > 1 ? "virtual_stages" : "pipeline",
          fmt::format("{} x {} = {} chunks do not divide {}", layout_.pipeline, layout_.virtual_stages, count, what),
          hint);
  }

  void check_stage_layers(std::int64_t count) {
    if (static_cast<std::int64_t>(layout_.stage_layers.size()) != count) {
      error("stage_layers", fmt::format("has {} entries for {} x {} = {} chunks", layout_.stage_layers.size(),
                                        layout_.pipeline, layout_.virtual_stages, count));
      return;
    }
    std::int64_t sum = 0;
    for (const auto layers : layout_.stage_layers) sum += layers;
    if (sum != model_.layers) {
      error("stage_layers", fmt::format("adds up to {}, but the model has {} layers", sum, model_.layers));
    }
    for (std::size_t c = 1; c + 1 < layout_.stage_layers.size(); ++c) {
      if (layout_.stage_layers[c] == 0) {
        error("stage_layers", fmt::format("chunk {} would be empty", c),
              "only the first (embedding) and the last (head) may have no layers");
        return;
      }
    }
  }

  void check_batch() {
    const std::int64_t step = *layout_.data * needs_.micro_batch;
    if (needs_.global_batch % step == 0) return;
    const std::int64_t below = needs_.global_batch / step * step;
    error("data",
          fmt::format("{} x micro-batch {} = {} does not divide the global batch of {} sequences", *layout_.data,
                      needs_.micro_batch, step, needs_.global_batch),
          below > 0 ? fmt::format("a global batch of {} or {} would work", below, below + step)
                    : fmt::format("a global batch of {} would work", step));
  }

  // Tensor parallelism that leaves the node is the classic mistake; large high-bandwidth domains have large nodes.
  void check_nodes() {
    if (layout_.tensor == 1 || needs_.devices_a_node <= 1) return;
    const std::int64_t span = layout_.stride(Dimension::tensor) * layout_.tensor;
    if (span <= needs_.devices_a_node && needs_.devices_a_node % span == 0) return;
    std::int64_t fits = std::min(layout_.tensor, needs_.devices_a_node);
    while (needs_.devices_a_node % fits != 0 || layout_.tensor % fits != 0) --fits;
    const bool is_inner = layout_.stride(Dimension::tensor) == 1;
    problems_.push_back(
        {"tensor",
         fmt::format("tensor-parallel groups of {} leave the node of {} devices: every layer waits for the "
                     "network between nodes",
                     layout_.tensor, needs_.devices_a_node),
         is_inner ? fmt::format("tensor: {} stays inside", fits) : "put tensor first in `order`", true});
  }

  Layout& layout_;
  const Model& model_;
  const LayoutNeeds& needs_;
  std::vector<LayoutProblem> problems_;
};

}  // namespace

std::vector<LayoutProblem> resolve_layout(Layout& layout, const Model& model, const LayoutNeeds& needs) {
  return Checker(layout, model, needs).run();
}

}  // namespace warploom
