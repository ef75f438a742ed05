// SPDX-License-Identifier: Apache-2.0
// Grids without switches: torus, hypercube, full mesh in any number of dimensions. Ends pass on what is not theirs.
//
// Equations, n_d ends along dimension d, N = prod n_d: the first dimension varies fastest with the rank.
//   torus: end +-1 (mod n_d) is a neighbour (one where n_d = 2): 2 links a dimension, diameter sum floor(n_d / 2),
//     bisection 2 N / n_d links for the largest even n_d;
//   hypercube: n_d = 2 in d dimensions: d links, diameter d, bisection N / 2;
//   full mesh: every end of a line is a neighbour: sum (n_d - 1) links, diameter the number of dimensions, bisection
//     n_d / 2 x n_d / 2 x N / n_d links for the dimension where it is least.
// Ways of a torus by dimension, the lowest first, the shorter way around (half either way where both are as long); of
// full meshes the shortest, or all within one more hop (all-path routing). Source: Dally and Towles, Principles and
// Practices of Interconnection Networks, 2004; nD full mesh and all-path routing: UB-Mesh, arXiv:2503.20377.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "network/topologies/between.hpp"

namespace warploom {

struct GridSpec {
  std::vector<std::int64_t> dimensions;
  std::vector<LinkSpec> links;
  static void check(const GridSpec& spec, const ConfigValue& at, Diagnostics& diagnostics);
  std::int64_t size() const;
  // Of a dimension: its own, the only one, or null.
  const LinkSpec* link(std::size_t dimension) const;
};

struct TorusSpec : GridSpec {
  static auto fields() {
    return field_list(
        field("dimensions", &TorusSpec::dimensions, "ends along each dimension, such as [16, 16, 16]").in(1, 1'000'000),
        field("links", &TorusSpec::links, "what joins neighbours: one for all dimensions, or one each").optional());
  }
};

struct HypercubeSpec {
  int dimensions = 1;
  std::vector<LinkSpec> links;
  static auto fields() {
    return field_list(
        field("dimensions", &HypercubeSpec::dimensions, "of 2 ends each").in(1, 20),
        field("links", &HypercubeSpec::links, "what joins neighbours: one for all dimensions, or one each").optional());
  }
  GridSpec grid() const { return {std::vector<std::int64_t>(static_cast<std::size_t>(dimensions), 2), links}; }
};

struct FullMeshSpec : GridSpec {
  bool all_paths = false;
  static auto fields() {
    return field_list(
        field("dimensions", &FullMeshSpec::dimensions, "ends along each dimension, such as [8, 8]").in(1, 1'000'000),
        field("links", &FullMeshSpec::links, "what joins any two of a line: one for all dimensions, or one each")
            .optional(),
        field("all_paths", &FullMeshSpec::all_paths, "spread over all ways of one hop more than the shortest")
            .optional());
  }
};

enum class GridKind { torus, full_mesh };

class GridBetween : public Between {
 public:
  GridBetween(GridSpec spec, GridKind kind) : spec_(std::move(spec)), kind_(kind) {}
  std::int64_t capacity() const override { return spec_.size(); }
  void wire(NetworkBuilder& builder, const Ends& ends, const EndCable& cable, const TreeShape& shape) const override;
  bool ends_forward() const override { return true; }
  bool devices_forward() const override { return true; }  // from card to card: each card is in a grid of its own
  std::vector<Half> halves() const override;
  // Data-sheet rates and payloads of all an end's links.
  Bandwidth rate() const;
  Bandwidth payload() const;
  const GridSpec& grid() const { return spec_; }

 private:
  std::vector<std::int64_t> neighbours(std::int64_t at, std::size_t dimension) const;  // of higher rank, or wrapped
  std::int64_t links_along(std::size_t dimension) const;

  GridSpec spec_;
  GridKind kind_;
};

class TorusBetween final : public GridBetween {
 public:
  using Spec = TorusSpec;
  explicit TorusBetween(const Spec& spec) : GridBetween(spec, GridKind::torus) {}
  std::unique_ptr<Router> router(const NetworkGraph& graph) const override;
};

class HypercubeBetween final : public GridBetween {
 public:
  using Spec = HypercubeSpec;
  explicit HypercubeBetween(const Spec& spec) : GridBetween(spec.grid(), GridKind::torus) {}
  std::unique_ptr<Router> router(const NetworkGraph& graph) const override;
};

class FullMeshBetween final : public GridBetween {
 public:
  using Spec = FullMeshSpec;
  explicit FullMeshBetween(const Spec& spec) : GridBetween(spec, GridKind::full_mesh), all_paths_(spec.all_paths) {}
  std::unique_ptr<Router> router(const NetworkGraph& graph) const override;

 private:
  bool all_paths_;
};

}  // namespace warploom
