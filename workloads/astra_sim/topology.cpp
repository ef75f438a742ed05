// SPDX-License-Identifier: Apache-2.0
// Links along each dimension; ranks as boxes of them.
#include "workloads/astra_sim/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "network/topologies/graph_topology.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

class Wiring {
 public:
  explicit Wiring(const AstraNetwork& network) : network_(network) {}

  WrittenNetwork write() {
    const std::int64_t npus = network_.npus();
    auto& graph = written_.graph;
    graph.add(VertexGroup{.name = "npu",
                          .kind = VertexKind::device,
                          .first = 0,
                          .count = static_cast<std::uint32_t>(npus),
                          .forwards = true});
    std::int64_t stride = 1;
    double injection = 0;
    for (std::size_t d = 0; d < network_.dimensions.size(); ++d) {
      injection += wire(d, stride);
      stride *= network_.dimensions[d].npus;
    }
    graph.finish();
    written_.kind = "astra_sim";
    written_.node_size = 1;
    written_.card = Bandwidth{injection};
    written_.port = Bandwidth{injection};
    written_.cards_of_node = 1;
    written_.injection = Bandwidth{injection * static_cast<double>(npus)};
    return std::move(written_);
  }

 private:
  // Returns what one NPU can send along the dimension.
  double wire(std::size_t d, std::int64_t stride) {
    const auto& dimension = network_.dimensions[d];
    const std::int64_t n = dimension.npus;
    if (n == 1) return 0;
    auto& graph = written_.graph;
    LinkKind kind;
    kind.name = network_.dimensions.size() > 1 ? fmt::format("dimension {}", d) : "link";
    kind.rate = Bandwidth{dimension.gib_per_s * 1073741824.0};
    kind.latency = Time::from_seconds(dimension.latency_ns * 1e-9);
    const std::uint16_t link = graph.add(kind);
    const std::int64_t lines = network_.npus() / n;
    VertexId first_switch = 0;
    if (dimension.block == AstraBlock::switched) {
      first_switch = graph.add(VertexGroup{.name = fmt::format("switch {}", d),
                                           .kind = VertexKind::network_switch,
                                           .first = 0,
                                           .count = static_cast<std::uint32_t>(lines)});
    }
    for (std::int64_t line = 0; line < lines; ++line) {
      const std::int64_t base = line / stride * stride * n + line % stride;
      for (std::int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<VertexId>(base + i * stride);
        if (dimension.block == AstraBlock::switched) {
          graph.connect(at, first_switch + static_cast<VertexId>(line), link);
        } else if (dimension.block == AstraBlock::fully_connected) {
          for (std::int64_t j = i + 1; j < n; ++j) graph.connect(at, static_cast<VertexId>(base + j * stride), link);
        } else if (i + 1 < n || n > 2) {
          graph.connect(at, static_cast<VertexId>(base + (i + 1) % n * stride), link);
        }
      }
    }
    const double ways = dimension.block == AstraBlock::switched ? 1.0
                        : dimension.block == AstraBlock::ring   ? (n > 2 ? 2.0 : 1.0)
                                                                : static_cast<double>(n - 1);
    return ways * kind.rate.value();
  }

  const AstraNetwork& network_;
  WrittenNetwork written_;
};

}  // namespace

std::shared_ptr<const Topology> astra_topology(const AstraNetwork& network) {
  double links = 0;
  for (const auto& dimension : network.dimensions) {
    links += static_cast<double>(network.npus()) *
             (dimension.block == AstraBlock::fully_connected ? static_cast<double>(dimension.npus - 1) / 2 : 1.0);
  }
  if (links > 5e7)
    throw UserError(fmt::format("a network of {:.3g} links", links), "at most 50,000,000 are written out");
  if (network.npus() < 2) throw UserError("a network of one NPU", "ASTRA-sim needs two or more");
  return std::make_shared<GraphTopology>(Wiring(network).write(), network.npus());
}

std::optional<std::vector<AstraDigit>> astra_box(const AstraNetwork& network, std::span<const Rank> ranks) {
  std::vector<AstraDigit> digits;
  std::int64_t stride = 1;
  std::int64_t size = 1;
  for (std::size_t d = 0; d < network.dimensions.size(); ++d) {
    const std::int64_t n = network.dimensions[d].npus;
    std::set<std::int64_t> values;
    for (const Rank rank : ranks) values.insert(rank / stride % n);
    if (values.size() > 1) {
      const std::int64_t step = *std::next(values.begin()) - *values.begin();
      std::int64_t expected = *values.begin();
      for (const auto value : values) {
        if (value != expected) return std::nullopt;
        expected += step;
      }
      digits.push_back({d, static_cast<std::int64_t>(values.size()), step * stride});
      size *= digits.back().count;
    }
    stride *= n;
  }
  if (size != static_cast<std::int64_t>(ranks.size())) return std::nullopt;
  return digits;
}

}  // namespace warploom
