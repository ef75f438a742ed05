// SPDX-License-Identifier: Apache-2.0
// The names of algorithms and protocols, and what the user wants of them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warploom {

enum class Algorithm : std::uint8_t {
  ring,
  tree,
  nvls,
  nvls_tree,
  hierarchical,
  direct,
  hierarchical_3d,
  halving_doubling,
  bruck,
  pairwise,
  mesh,
  nhr,
  pipeline,
  pat,
  collnet_direct,
  collnet_chain,
  pxn,
  msccl,  // a plan from a file
};
inline constexpr std::array<std::string_view, 18> algorithm_name_list{
    "ring",  "tree",     "nvls", "nvls_tree", "hierarchical", "direct", "hierarchical_3d", "halving_doubling",
    "bruck", "pairwise", "mesh", "nhr",       "pipeline",     "pat",    "collnet_direct",  "collnet_chain",
    "pxn",   "msccl"};
constexpr std::string_view name(Algorithm algorithm) {
  return algorithm_name_list[static_cast<std::size_t>(algorithm)];
}
// Those that can be asked for by name.
inline std::vector<std::string> algorithm_names() {
  return {algorithm_name_list.begin(), algorithm_name_list.end() - 1};
}

enum class Protocol : std::uint8_t { ll, ll128, simple };
inline constexpr std::array<Protocol, 3> all_protocols{Protocol::ll, Protocol::ll128, Protocol::simple};
constexpr std::string_view name(Protocol protocol) {
  constexpr std::array<std::string_view, 3> names{"ll", "ll128", "simple"};
  return names[static_cast<std::size_t>(protocol)];
}
inline std::vector<std::string> protocol_names() { return {"ll", "ll128", "simple"}; }

// What the user wants instead of the library's choice (NCCL_ALGO, NCCL_PROTO); empty: the library chooses.
struct CollectiveChoice {
  std::string algorithm;  // "ring", or a list of wishes (wishes.hpp)
  std::string protocol;   // "ll", "ll128", "simple", or such a list
};

}  // namespace warploom
