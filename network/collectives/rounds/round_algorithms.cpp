// SPDX-License-Identifier: Apache-2.0
// The list.
#include "network/collectives/rounds/round_algorithms.hpp"

#include "network/collectives/rounds/bruck.hpp"
#include "network/collectives/rounds/halving_doubling.hpp"
#include "network/collectives/rounds/mesh.hpp"
#include "network/collectives/rounds/nhr.hpp"
#include "network/collectives/rounds/ring.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

const RoundAlgorithm& round_algorithm(LevelAlgorithm name) {
  static const RingRounds ring;
  static const MeshRounds mesh;
  static const HalvingDoublingRounds halving_doubling;
  static const NhrRounds nhr;
  static const BruckRounds bruck;
  switch (name) {
    case LevelAlgorithm::none:
      break;
    case LevelAlgorithm::ring:
      return ring;
    case LevelAlgorithm::mesh:
      return mesh;
    case LevelAlgorithm::halving_doubling:
      return halving_doubling;
    case LevelAlgorithm::nhr:
      return nhr;
    case LevelAlgorithm::nb:
      return bruck;
  }
  WARPLOOM_CHECK(false, "a level without an algorithm");
}

}  // namespace warploom
