// SPDX-License-Identifier: Apache-2.0
// The names of algorithms and protocols, and what the user wants of them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warploom {

enum class Algorithm : std::uint8_t { ring, tree, nvls, nvls_tree, hierarchical, direct };
constexpr std::string_view name(Algorithm algorithm) {
  constexpr std::array<std::string_view, 6> names{"ring", "tree", "nvls", "nvls_tree", "hierarchical", "direct"};
  return names[static_cast<std::size_t>(algorithm)];
}
inline std::vector<std::string> algorithm_names() {
  return {"ring", "tree", "nvls", "nvls_tree", "hierarchical", "direct"};
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
  std::string algorithm;  // "ring", "tree", "nvls", "nvls_tree", "hierarchical", "direct"
  std::string protocol;   // "ll", "ll128", "simple"
};

}  // namespace warploom
